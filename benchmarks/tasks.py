"""What is measured: one system on one workload, and what it took. Both can be written down as JSON."""

from __future__ import annotations

import hashlib
import json
import statistics
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from benchmarks.answers import Answer
from benchmarks.workloads.catalogue import workload
from benchmarks.workloads.workload import Workload

Mode = Literal["sustained", "paced", "search"]


@dataclass(frozen=True)
class Task:
    """One system on the first batches of one workload.

    `sustained` takes batch after batch as fast as it can; `paced` receives them at a given rate, to see how late
    results are; `search` is several paced runs, which look for the highest rate with results in time.
    """

    peer: str
    family: str
    options: dict[str, Any]
    batches: int
    warm_up: int = 0  # batches before the steady part
    repeats: int = 1
    cores: int = 2
    driver_memory: str = "6g"
    limit_seconds: float = 150.0
    mode: Mode = "sustained"
    rows_per_second: float | None = None  # of a paced task; of a search, the first rate to try
    fill: int = 0  # of a paced task: files that are there at the start, a full window of rows
    settings: dict[str, str] = field(default_factory=dict)  # of the system, on top of its own
    strategy: str | None = None  # of Braid, as a user writes it; by itself Braid chooses
    latency: bool = False  # whether it runs a second time, paced at half of the rate it sustained
    round: int = 0  # of a benchmark that is repeated

    @cached_property
    def workload(self) -> Workload:
        return workload(self.family, self.options)

    @property
    def title(self) -> str:
        return f"{self.peer} {self.family} {' '.join(f'{k}={v}' for k, v in self.options.items())}"

    @property
    def key(self) -> str:
        """The same for the same task, another for any other."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def data_key(self) -> str:
        """The same for tasks that read the same files."""
        return hashlib.sha256(json.dumps([self.family, self.options], sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Measurement:
    """What a task took. A system that refused or failed has an `error`, in its own words, and no more."""

    seconds: tuple[float, ...] = ()  # of each batch (streaming) or of each repeat (at once)
    rows: tuple[int, ...] = ()  # that went in, of each batch or repeat
    answer: Answer | None = None
    answer_batches: int = 0  # batches the answer covers; fewer than asked for when time ran out
    error: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def from_json(content: dict[str, Any]) -> Measurement:
        answer = content.get("answer")
        lists = {name: tuple(content[name]) for name in ("seconds", "rows")}
        return Measurement(**{**content, **lists, "answer": None if answer is None else Answer(**answer)})

    def steady(self, task: Task) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Seconds and rows of the part that counts: batches after the warm-up, or the best repeat."""
        if not self.seconds:
            return (), ()
        if self.details.get("at_once"):
            best = min(range(len(self.seconds)), key=self.seconds.__getitem__)
            return (self.seconds[best],), (self.rows[best],)
        return self.seconds[task.warm_up :], self.rows[task.warm_up : len(self.seconds)]

    def rows_per_second(self, task: Task) -> float | None:
        seconds, rows = self.steady(task)
        return sum(rows) / sum(seconds) if sum(seconds) > 0 else None

    def step_seconds(self, task: Task, share: float) -> float | None:
        """The time within which a share of the steady batches ended."""
        seconds = sorted(self.steady(task)[0])
        if not seconds or self.details.get("at_once"):
            return None
        if share == 0.5:
            return statistics.median(seconds)
        return seconds[min(len(seconds) - 1, int(share * len(seconds)))]
