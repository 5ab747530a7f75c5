"""The load of units, from the reports of their tasks, for the controllers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from braid.engine.reports import UnitCounts
from braid.placement.covering import DECAY
from braid.placement.ranges import Span, span_of
from braid.placement.units import units_of
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Load, Manifest


def subgroup_loads(plan: JoinPlan, layouts: Sequence[Layout], counts: Iterable[UnitCounts]) -> tuple[Load, ...]:
    """The bytes stored by each subgroup of each side of a biclique; the newest layout is the last.

    Rows stored under an older layout count where the newest one would place them. All units of time slices are one
    subgroup.
    """
    if layouts[-1].kind == "time_sliced":
        sizes = {(unit.epoch, unit.unit): unit.stored_bytes for unit in counts}
        return (Load(0, 0, sum(sizes.values())),) if sizes else ()
    places = _places(tuple(layouts), len(plan.streams))
    loads: dict[tuple[int, int], float] = defaultdict(float)
    seen: set[tuple[int, int]] = set()
    for unit in counts:
        unit_place = (unit.epoch, unit.unit)
        if unit_place in places and unit_place not in seen:
            seen.add(unit_place)
            stream, successors = places[unit_place]
            for group in successors:
                loads[stream, group] += unit.stored_bytes / len(successors)
    return tuple(Load(stream, group, round(size)) for (stream, group), size in sorted(loads.items()))


def unit_pairs(before: Manifest, layout: Layout, counts: Iterable[UnitCounts]) -> tuple[float, ...]:
    """The pairs that each unit compared, where lookups choose among copies; those of earlier steps decay."""
    if layout.kind != "coordinated":
        return ()
    known = before.unit_pairs if before.layout.epoch == layout.epoch else ()
    pairs = [DECAY * found for found in known or (0.0,) * layout.units[0]]
    for unit in counts:
        if unit.epoch == layout.epoch:
            pairs[unit.unit] += unit.compared
    return tuple(round(found, 1) for found in pairs)


@lru_cache(maxsize=16)
def _places(layouts: tuple[Layout, ...], streams: int) -> dict[tuple[int, int], tuple[int, list[int]]]:
    """The stream of each unit, and the subgroups of the newest layout that have its keys."""
    newest = layouts[-1]
    return {
        (layout.epoch, unit.number): (unit.streams[0], _successors(layout, newest, unit.streams[0], unit.group))
        for layout in layouts
        if layout.kind == newest.kind == "biclique"
        for unit in units_of(layout, streams)
    }


def _successors(older: Layout, newest: Layout, stream: int, group: int) -> list[int]:
    """The subgroups of the newest layout that have the keys, or numbers, of a subgroup of an older one."""
    groups = range(newest.groups[stream])
    if older.epoch == newest.epoch:
        return [group]
    if newest.ranges is not None or older.ranges is not None:
        known = span_of(older, stream, group)
        spans = [(successor, span_of(newest, stream, successor)) for successor in groups]
        return [n for n, span in spans if known is None or span is None or _overlap(known, span)]
    shared = math.gcd(older.groups[stream], newest.groups[stream])
    return list(groups[group % shared :: shared])


def _overlap(first: Span, second: Span) -> bool:
    return first.low < second.high and second.low < first.high
