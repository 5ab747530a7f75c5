"""Covers: which units a lookup visits, where every row is stored at several units.

Segments are assigned to units by a greedy set cover: again and again the unit that has the most segments that no chosen
unit has, for its load. Each segment is assigned to one unit, so a row that visits the chosen units meets every stored
row once. The decision is recorded before the step acts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from braid.placement.admission import Admission
from braid.placement.segments import classes_between, copy_units
from braid.plan.join import JoinPlan
from braid.plan.layout import Cover, Layout
from braid.state.manifest import Block

Numbers = npt.NDArray[np.int64]
Times = tuple[int, int]
"""The first and the last of some event times."""
# Observed pairs decay from step to step, so together they weigh as much as this number of steps.
DECAY = 0.9
STEPS_REMEMBERED = round(1 / (1 - DECAY))
NOWHERE = -1
# A unit with the mean load counts as much as two without any, one with half more as six. With a lower power covers are
# smaller and less even: with random segments at 9 units the fullest has 1.20 times its share, with a power of 2 1.29.
LOAD_POWER = 4


def choose_cover(places: Numbers, loads: npt.NDArray[np.float64]) -> Numbers:
    """The unit that each segment is assigned to; row n of `places` has the units that store segment n.

    A segment with fewer copies than others has the number of units in place of a unit. Of equal units the first is
    chosen.
    """
    units = len(loads)
    weights = 1.0 + (loads / (loads.mean() or 1.0)) ** LOAD_POWER
    assigned = np.full(len(places), NOWHERE)
    while (uncovered := np.flatnonzero(assigned == NOWHERE)).size:
        gains = np.bincount(places[uncovered].ravel(), minlength=units + 1)[:units]
        unit = int(np.argmax(gains / weights))
        assigned[uncovered[(places[uncovered] == unit).any(axis=1)]] = unit
    return assigned


def decide_covers(
    plan: JoinPlan, layout: Layout, blocks: Sequence[Block], admission: Admission, pairs: Sequence[float]
) -> tuple[Cover, ...]:
    """The cover of every lookup of a step; `pairs` are those that each unit has compared lately, none: not known.

    Only classes count that may have rows in the time bounds of the rows that start. What one lookup assigns to a unit
    is a load for the next.
    """
    starting = [_starting(plan, stream.number, blocks, admission) for stream in plan.streams]
    lookups = [
        (delta_stream, stream.number, times)
        for delta_stream, times in enumerate(starting)
        for stream in plan.streams
        if times is not None and stream.number != delta_stream
    ]
    loads, covers = _loads(layout.units[0], pairs, len(lookups)), []
    for delta_stream, stream, times in lookups:
        live = _live_classes(plan, layout, delta_stream, stream, times, blocks, admission)
        assigned = np.full(layout.units[0], NOWHERE)
        assigned[live] = choose_cover(copy_units(layout, stream, live), loads)
        loads += np.bincount(assigned[live], minlength=layout.units[0])
        covers.append(Cover(delta_stream, stream, tuple(assigned.tolist())))
    return tuple(covers)


def _loads(units: int, pairs: Sequence[float], lookups: int) -> npt.NDArray[np.float64]:
    """The observed pairs of each unit, as a number of classes that it looks up."""
    known = np.array(pairs or [0.0] * units)
    return known * (STEPS_REMEMBERED * lookups / (known.mean() or 1.0))


def _starting(plan: JoinPlan, stream: int, blocks: Sequence[Block], admission: Admission) -> Times | None:
    """The event times of a stream's rows that start lookups; None: none start."""
    spans = [(block, admission.starting(block)) for block in blocks if block.stream == stream]
    found = [(max(block.min_time, span[0] + 1), min(block.max_time, span[1])) for block, span in spans if span]
    return (min(first for first, _ in found), max(last for _, last in found)) if found else None


def _live_classes(
    plan: JoinPlan,
    layout: Layout,
    delta_stream: int,
    stream: int,
    times: Times,
    blocks: Sequence[Block],
    admission: Admission,
) -> Numbers:
    """The classes of segments that may have rows of a stream which rows with these times join."""
    older, newer = plan.retention_us[stream][delta_stream], plan.retention_us[delta_stream][stream]
    live = np.zeros(layout.units[0], bool)
    for first, last in _seen(plan, layout, delta_stream, stream, blocks, admission):
        first = first if older is None else max(first, times[0] - older)
        last = last if newer is None else min(last, times[1] + newer)
        if first <= last:
            live[classes_between(layout, stream, first, last)] = True
    return np.flatnonzero(live)


def _seen(
    plan: JoinPlan, layout: Layout, delta_stream: int, stream: int, blocks: Sequence[Block], admission: Admission
) -> Iterator[Times]:
    """The event times of the blocks of a stream that a delta stream sees; older layouts have no part in covers."""
    before = plan.comes_before(stream, delta_stream)
    for block in blocks:
        if block.stream == stream and block.epoch == layout.epoch:
            until = admission.seen_until(block, before)
            if until is not None:
                yield block.min_time, min(block.max_time, until)
