"""A benchmark: some tasks, and what they are to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.targets import Target
from benchmarks.tasks import Task

Size = Literal["quick", "full"]
LIMIT_SECONDS = {"quick": 60.0, "full": 180.0}


@dataclass(frozen=True)
class Benchmark:
    """Tasks by their labels, in the order they run. A curve's labels are numbers, drawn along one axis."""

    name: str
    title: str
    tasks: dict[str, Task]
    targets: tuple[Target, ...] = ()
    axis: str | None = None
