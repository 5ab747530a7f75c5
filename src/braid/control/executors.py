"""How many executors a layout needs: one core for every unit of its largest side."""

from __future__ import annotations

import math
from dataclasses import dataclass

from braid.plan.layout import Layout


@dataclass(frozen=True)
class Allocation:
    """What the user's configuration allows: concurrent tasks per executor, and bounds on the number of executors."""

    tasks_an_executor: int
    least: int
    most: int | None


def executors_for(layout: Layout, allocation: Allocation) -> int:
    """Enough executors to process all units of the largest side concurrently, within the bounds."""
    largest = max(layout.units) if layout.kind == "biclique" else math.prod(layout.units)
    wanted = max(1, allocation.least, math.ceil(largest / allocation.tasks_an_executor))
    return wanted if allocation.most is None else min(wanted, allocation.most)
