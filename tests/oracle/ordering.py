"""Which results have left after each batch, by the rule alone: every stream that is not idle has reached their time.

The second account of watermarks, idleness and releases: plain loops over rows, written apart from the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from braid.testing import Condition, OracleStream, answer

NEVER = -(1 << 65)
Rows = Mapping[str, Sequence[dict[str, Any]]]
Results = Counter[tuple[Any, ...]]


@dataclass
class Releases:
    """Plays the batches of a case; `left` is what has been let out so far.

    Where they leave when `passed`, every stream must be later than their time, and what comes at it afterwards is late.
    """

    streams: Sequence[OracleStream]
    conditions: Sequence[Condition]
    began_ms: int
    left: Results = field(default_factory=Counter)
    frontier: int = NEVER
    passed: bool = False

    def __post_init__(self) -> None:
        self._kept: dict[str, list[dict[str, Any]]] = {stream.name: [] for stream in self.streams}
        self._marks = {stream.name: NEVER for stream in self.streams}
        self._newest = {stream.name: NEVER for stream in self.streams}
        self._heard = {stream.name: self.began_ms for stream in self.streams}

    def batch(self, rows: Rows, now_ms: int) -> None:
        """A batch arrives; what may leave does. Whoever brings rows is not idle, and is held to its own watermark."""
        silent, marks = self._idle(now_ms), self._reached(set())
        rows = {stream.name: self._timely(stream, rows, now_ms) for stream in self.streams}
        awake = {name for name, brought in rows.items() if brought}
        after = self._reached(silent - awake)
        for stream in self.streams:
            for row in rows[stream.name]:
                time = row[stream.time]
                self._heard[stream.name] = now_ms
                self._newest[stream.name] = max(self._newest[stream.name], time)
                if time >= marks[stream.name]:
                    self._kept[stream.name].append(row)
        self._marks = after
        self._release(silent - awake)

    def tick(self, now_ms: int) -> None:
        """Time passes, and the sources are empty; when every stream is silent, nothing is waited for."""
        idle = self._idle(now_ms)
        self._marks = self._reached(idle)
        self._release(idle)

    def restart(self, now_ms: int) -> None:
        """Another run begins; time between runs is no silence."""
        self.began_ms = now_ms

    def _release(self, idle: set[str]) -> None:
        if len(idle) == len(self.streams):
            self.flush()
            return
        self.frontier = max(self.frontier, min(self._reached(idle).values()) - self._counting)
        self.left = Counter({row: n for row, n in self._found().items() if row[-1] <= self.frontier})

    def flush(self) -> None:
        """Everything leaves, and what comes earlier than that is late."""
        self.left = self._found()
        if self.left:
            self.frontier = max(self.frontier, *[row[-1] for row in self.left])
        self._marks = {name: max(mark, self.frontier + self._counting) for name, mark in self._marks.items()}

    @staticmethod
    def _timely(stream: OracleStream, rows: Rows, now_ms: int) -> list[dict[str, Any]]:
        """The rows that have a time, and one that is not too far ahead of the clock."""
        last = float("inf") if stream.max_ahead_us is None else 1000 * now_ms + stream.max_ahead_us
        return [r for r in rows.get(stream.name, ()) if r[stream.time] is not None and r[stream.time] <= last]

    @property
    def _counting(self) -> int:
        """Where windows count rows, a time is complete when every stream has passed it."""
        return int(self.passed or any(stream.window_rows is not None for stream in self.streams))

    def _found(self) -> Results:
        return answer(self.streams, self._kept, self.conditions)

    def _idle(self, now_ms: int) -> set[str]:
        limits = {stream.name: stream.idle_after_ms for stream in self.streams}
        silent = {name: now_ms - max(self.began_ms, heard) for name, heard in self._heard.items()}
        return {name for name, limit in limits.items() if limit is not None and silent[name] >= limit}

    def _reached(self, idle: set[str]) -> dict[str, int]:
        marks = dict(self._marks)
        for stream in self.streams:
            if stream.lateness_us is not None and self._newest[stream.name] > NEVER:
                marks[stream.name] = max(marks[stream.name], self._newest[stream.name] - stream.lateness_us)
        awake = [mark for name, mark in marks.items() if name not in idle]
        if awake:
            marks |= {name: max(marks[name], min(awake)) for name in idle}
        return marks
