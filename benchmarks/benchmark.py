"""A benchmark: some tasks, and what they are to show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.targets import ROUNDS, Target
from benchmarks.tasks import Task

Size = Literal["quick", "full"]
SPARKS_GROUND = ("equality", "wide")  # elsewhere it would take hours to be paced
SEARCHED = ("band-batches", "theta-batches")  # benchmarks of their own say how late results are at many rates
LIMIT_SECONDS = {"quick": 60.0, "full": 180.0}


@dataclass(frozen=True)
class Benchmark:
    """Tasks by their labels, in the order they run. A curve's labels are numbers, drawn along one axis."""

    name: str
    title: str
    tasks: dict[str, Task]
    targets: tuple[Target, ...] = ()
    axis: str | None = None
    curve: Literal["rate", "step"] = "rate"  # what is drawn along the axis

    def rounds(self, size: Size) -> int:
        """How often all tasks run, one after the other: a bound on times is decided by several rounds."""
        timed = any(target.bound and target.of == "times" for target in self.targets)
        return ROUNDS if size == "full" and timed else 1

    def with_latency(self) -> Benchmark:
        """The same, with a second, paced run of Braid, and of Spark where it is at home; curves have none."""
        if self.axis is not None or self.name in SEARCHED:
            return self
        paced = ("Braid", "Spark") if self.name in SPARKS_GROUND else ("Braid",)
        tasks = {
            label: replace(task, latency=task.mode == "sustained" and task.peer in paced)
            for label, task in self.tasks.items()
        }
        return replace(self, tasks=tasks)
