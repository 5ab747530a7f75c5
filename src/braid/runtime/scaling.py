"""Which layout a step stores its rows under: the strategy's, or one that the load has scaled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from braid.control.elasticity import Elasticity, decide_scaling, is_due
from braid.placement.units import units_of
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Load, Manifest, Pressure


@dataclass(frozen=True)
class Spread:
    """The layout of a step, what was adapted for it, and what the controller is to remember."""

    layout: Layout
    adaptations: tuple[str, ...] = ()
    pressures: tuple[Pressure, ...] = ()
    checked_ms: int | None = None


def next_layout(
    plan: JoinPlan, manifest: Manifest, chosen: Layout, elasticity: Elasticity | None, now_ms: int
) -> Spread:
    """The newest layout, or the strategy's if that spreads rows otherwise; scaled where that is due and decided."""
    newest = manifest.layout
    if elasticity is None or not newest.scaled_from(chosen):
        layout = newest if newest.same_as(chosen) else replace(chosen, epoch=newest.epoch + 1)
        return Spread(layout)
    if not is_due(elasticity, manifest.checked_ms, now_ms):
        return Spread(newest, (), manifest.pressures, manifest.checked_ms)
    stored = {(load.stream, load.group): load.size for load in manifest.loads}
    decided = decide_scaling(elasticity, newest, stored, manifest.pressures)
    if not decided.scalings:
        return Spread(newest, (), decided.pressures, now_ms)
    said = tuple(scaling.describe(plan.streams[scaling.stream].name) for scaling in decided.scalings)
    return Spread(replace(decided.layout, epoch=newest.epoch + 1), said, decided.pressures, now_ms)


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
