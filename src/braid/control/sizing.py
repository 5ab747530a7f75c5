"""How many slots a join needs: steps with little work use few of them.

A slot has work to do however few rows it gets: it reads a segment of every ingest file, opens its blocks, writes a
block and a report. On a large cluster with small steps that would be most of the work. So the strategy that Braid
chooses has units for as many slots as have enough to do, by the CPU time that the slots used in the last steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from statistics import median

from braid.plan.layout import Layout
from braid.state.manifest import Manifest

# Fewer slots than this would save little, and a change makes rows visit the units of one more epoch.
LEAST_SLOTS = 8
# What a slot should have to do in a step. Its fixed part, on a core of its own, is 6 to 8 ms.
SECONDS_PER_SLOT = 0.05
# A step that is slow for another reason changes little in the median of these.
RECORDED_STEPS = 8


def resize(manifest: Manifest, chosen: Layout) -> tuple[Layout, tuple[str, ...]]:
    """The layout chosen for all slots, for those that the next step should use; if that changes them, as a text."""
    slots = max(chosen.units)
    used, needed = _used(manifest, slots), slots_needed(manifest, slots)
    if used == needed:
        return chosen.sized(needed), ()
    work = f"the lookups of a step take {manifest.work_seconds[-1]:.2g} s of CPU time"
    return chosen.sized(needed), (f"uses {needed} instead of {used} of {slots} slots: {work}",)


def slots_needed(manifest: Manifest, slots: int) -> int:
    """The slots that the next step should use, of those that there are: all, half of them, a quarter.

    More at once if the last step had twice the work that the slots in use should have; four times while rows of older
    layouts are left, which are visited besides. Fewer if half of them would do, by the median of several steps with as
    many units, when no such rows are left.
    """
    used = _used(manifest, slots)
    if not manifest.work_seconds:
        return used
    settled = len(manifest.layouts) == 1
    now, lately = (ceil(work / SECONDS_PER_SLOT) for work in (manifest.work_seconds[-1], median(manifest.work_seconds)))
    if used < slots and now >= (2 if settled else 4) * used:
        return _fitting(now, slots)
    if settled and len(manifest.work_seconds) == RECORDED_STEPS and 2 * _fitting(lately, slots) <= used:
        return _fitting(lately, slots)
    return used


def _fitting(wanted: int, slots: int) -> int:
    """The fewest slots that are enough. Divided by two, keys of new units are at few of the units before."""
    found = slots
    while found % 2 == 0 and found // 2 >= max(wanted, LEAST_SLOTS):
        found //= 2
    return found


def work_after(before: Sequence[float], cpu_seconds: Sequence[float], *, same_units: bool) -> tuple[float, ...]:
    """The work of the last steps with as many units, after one whose tasks used so much CPU time each.

    A step without lookups says nothing.
    """
    known = tuple(before) if same_units else ()
    return (*known, round(sum(cpu_seconds), 4))[-RECORDED_STEPS:] if cpu_seconds else known


def _used(manifest: Manifest, slots: int) -> int:
    """The slots that the newest layout has units for; another strategy may have chosen it for fewer."""
    return min(slots, max(LEAST_SLOTS, *manifest.layout.units))
