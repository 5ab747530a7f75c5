"""A benchmark: some tasks, and what they are to show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.targets import Target
from benchmarks.tasks import Task

Size = Literal["quick", "full"]
SPARKS_GROUND = ("equality", "wide")  # elsewhere it would take hours to be paced
LIMIT_SECONDS = {"quick": 60.0, "full": 180.0}


@dataclass(frozen=True)
class Benchmark:
    """Tasks by their labels, in the order they run. A curve's labels are numbers, drawn along one axis."""

    name: str
    title: str
    tasks: dict[str, Task]
    targets: tuple[Target, ...] = ()
    axis: str | None = None

    def with_latency(self) -> Benchmark:
        """The same, with a second, paced run of Braid, and of Spark where it is at home; curves have none."""
        if self.axis is not None:
            return self
        paced = ("Braid", "Spark") if self.name in SPARKS_GROUND else ("Braid",)
        tasks = {
            label: replace(task, latency=True) if task.peer in paced else task for label, task in self.tasks.items()
        }
        return replace(self, tasks=tasks)
