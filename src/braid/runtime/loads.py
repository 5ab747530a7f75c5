"""What units hold, from the reports of their tasks: the controllers' view of the load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from braid.placement.units import units_of
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Load


def subgroup_loads(plan: JoinPlan, layouts: Iterable[Layout], reports: Iterable[dict[str, Any]]) -> tuple[Load, ...]:
    """The bytes that each subgroup of each side of a biclique holds, in whatever layout its rows were stored."""
    places = {
        (layout.epoch, unit.number): (unit.streams[0], unit.group)
        for layout in layouts
        if layout.kind == "biclique"
        for unit in units_of(layout, len(plan.streams))
    }
    loads: dict[tuple[int, int], int] = defaultdict(int)
    seen: set[tuple[int, int]] = set()
    for report in reports:
        for unit in report.get("units", ()):
            unit_place = (unit["epoch"], unit["unit"])
            if unit_place in places and unit_place not in seen:
                seen.add(unit_place)
                loads[places[unit_place]] += unit["stored_bytes"]
    return tuple(Load(stream, group, size) for (stream, group), size in sorted(loads.items()))
