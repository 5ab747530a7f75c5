"""Adaptive, row by row: the engine's controller looks once a period, on a clock that the run moves.

After a return to holding rows, new rows wait for their time while results found earlier leave at theirs: the drain of
the paper's steps E to L.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from braid.control.ordering import Ordering, blend, choose_buffered, nothing_buffered
from braid.testing import ManualClock
from experiments.in_order.arrivals import FAST, SLOW, Floats
from experiments.in_order.rows import NEVER, Rows

PERIOD_MS = 1000


@dataclass(frozen=True)
class Switch:
    """What was buffered from a second on, and why."""

    second: float
    holds: str
    said: str


def adapt(rows: Rows, ordering: Ordering) -> tuple[Floats, Floats, tuple[Switch, ...]]:
    """Begin and end of every lookup, and the switches; rows that are never looked up begin at no time."""
    controller = _Controller(rows, ordering)
    began, done = np.full(len(rows.seconds), NEVER), np.full(len(rows.seconds), NEVER)
    free = 0.0
    for row, work in enumerate(rows.seconds.tolist()):
        start = max(free, controller.ready(row))
        while controller.is_due(start):
            controller.look()
            start = max(free, controller.ready(row))
        began[row], free = start, start + work
        done[row] = free
        controller.looked_up(row)
    return began, done, tuple(controller.switches)


class _Controller:
    """What is buffered, and what was looked up since the last look."""

    def __init__(self, rows: Rows, ordering: Ordering) -> None:
        self._times: Sequence[float] = rows.arrivals.times.tolist()
        self._streams: Sequence[int] = rows.arrivals.streams.tolist()
        self._reached: Sequence[float] = rows.reached.tolist()
        self._work: Sequence[float] = rows.seconds.tolist()
        self._compared: Sequence[float] = rows.compared.tolist()
        self._by_stream = [rows.arrivals.of(stream) for stream in (SLOW, FAST)]
        self._ordering = ordering
        self._clock = ManualClock()
        self._waiting = nothing_buffered(2)
        self._since = 0.0
        self._seen = (0, 0)
        self._busy = [0.0, 0.0]
        self._pairs = 0.0
        self.switches: list[Switch] = []

    def ready(self, row: int) -> float:
        """When a row may be looked up."""
        if self._waiting.buffered_kind == "rows":
            return self._reached[row]
        return max(self._times[row], self._since)

    def is_due(self, start: float) -> bool:
        """Whether the controller looks before a lookup begins; when no more rows come it does not."""
        second = (self._clock.now_ms + PERIOD_MS) / 1000
        return second <= start and second <= self._times[-1]

    def looked_up(self, row: int) -> None:
        self._busy[self._streams[row]] += self._work[row]
        self._pairs += self._compared[row]

    def look(self) -> None:
        """A period is over: see what it brought, and decide what is buffered from now on."""
        self._clock.advance(PERIOD_MS)
        second = self._clock() / 1000
        came = tuple(int(np.searchsorted(times, second, "right")) for times in self._by_stream)
        frontier = self._frontier(came)
        pace = blend(
            self._waiting.pace,
            seconds=PERIOD_MS / 1000,
            rows=[now - before for now, before in zip(came, self._seen, strict=True)],
            busy=self._busy,
            # Rows are emitted one at a time: of those that begin together, a row is delayed by half of the lookups.
            delays=[seconds / 2 for seconds in self._busy],
            compared=round(self._pairs),
            moved=frontier != self._waiting.frontier_us,
        )
        waiting = replace(self._waiting, pace=pace, frontier_us=frontier)
        holds, said = choose_buffered(self._ordering, waiting)
        if holds != waiting.buffered_kind:
            self.switches += [Switch(second, holds, text) for text in said]
            self._since = second
        self._waiting = replace(waiting, buffered_kind=holds)
        self._seen, self._busy, self._pairs = (came[SLOW], came[FAST]), [0.0, 0.0], 0.0

    def _frontier(self, came: tuple[int, ...]) -> int | None:
        if not all(came):
            return None
        newest = [float(times[count - 1]) for times, count in zip(self._by_stream, came, strict=True)]
        return round(1e6 * min(newest))
