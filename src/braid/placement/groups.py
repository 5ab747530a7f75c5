"""Partition groups: who owns the rows of a group, whichever layout they were stored under.

A row belongs to the unit of its group under the newest assignment. Layouts that share groups differ only in the units
of the groups. A slot opens, of all of them, the segments that may have rows of its groups; it looks up only rows of
these groups, so what other groups a segment has does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from braid.placement.units import Unit, routes_stay_local, slot_of, units_by_slot, units_of
from braid.plan.layout import Layout


@lru_cache(maxsize=256)
def successors(newest: Layout, older: Layout) -> tuple[frozenset[int], ...]:
    """For each unit of an older layout that shares groups, the units that own its groups now."""
    found: list[set[int]] = [set() for _ in range(older.units[0])]
    for before, now in zip(older.group_units, newest.group_units, strict=True):
        found[before].add(now)
    return tuple(map(frozenset, found))


@lru_cache(maxsize=256)
def opened_units(newest: Layout, layout: Layout, streams: int, slots: int, slot: int) -> dict[int, Unit]:
    """The units of a layout whose segments a slot opens, by number: its own, or those that had groups of its units."""
    own = units_by_slot(layout, streams, slots)[slot]
    if layout.epoch != newest.epoch and layout.shares_groups(newest):
        numbers = owned_numbers(newest, streams, slots, slot)
        after = successors(newest, layout)
        own = tuple(unit for unit in units_of(layout, streams) if numbers & after[unit.number])
    return {unit.number: unit for unit in own}


@lru_cache(maxsize=256)
def owned_numbers(newest: Layout, streams: int, slots: int, slot: int) -> frozenset[int]:
    """The numbers of a slot's units in the newest layout."""
    return frozenset(unit.number for unit in units_by_slot(newest, streams, slots)[slot])


def slots_of_units(layouts: Sequence[Layout], streams: int, slots: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """The slots that open the segments of each unit of each layout, by epoch and number; the newest layout is last."""
    newest = layouts[-1]
    now = {unit.number: slot_of(unit, slots) for unit in units_of(newest, streams)}
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for layout in layouts:
        if layout.epoch != newest.epoch and layout.shares_groups(newest):
            for number, after in enumerate(successors(newest, layout)):
                found[layout.epoch, number] = tuple(sorted({now[unit] for unit in after}))
            continue
        found.update({(layout.epoch, unit.number): (slot_of(unit, slots),) for unit in units_of(layout, streams)})
    return found


def all_stay_local(layouts: Sequence[Layout], streams: int, slots: int) -> bool:
    """Whether a row finds all rows of its route, of every layout, at its own slot; the newest layout is last."""
    newest = layouts[-1]
    alike = all(layout.epoch == newest.epoch or layout.shares_groups(newest) for layout in layouts)
    return alike and routes_stay_local(newest, streams, slots)


def is_first_successor(newest: Layout, older: Layout, unit: int, slot_units: frozenset[int]) -> bool:
    """Whether rows that visit all units, of layouts without these groups, meet the segments of a unit at this slot.

    Several slots may open them, and such rows must meet them once.
    """
    return min(successors(newest, older)[unit], default=-1) in slot_units
