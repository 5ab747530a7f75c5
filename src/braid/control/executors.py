"""How many executors a layout asks for: a core for every unit of its largest side."""

from __future__ import annotations

import math
from dataclasses import dataclass

from braid.plan.layout import Layout


@dataclass(frozen=True)
class Allocation:
    """What the user's configuration allows: tasks that an executor runs at once, and bounds of their number."""

    tasks_an_executor: int
    least: int
    most: int | None


def executors_for(layout: Layout, allocation: Allocation) -> int:
    """Enough for every unit of the largest side to be worked at once, within the bounds."""
    largest = max(layout.units) if layout.kind == "biclique" else math.prod(layout.units)
    wanted = max(1, allocation.least, math.ceil(largest / allocation.tasks_an_executor))
    return wanted if allocation.most is None else min(wanted, allocation.most)
