"""Time slices: how long they are and at which units, and so which unit stores the rows of an event time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Slicing

Times = npt.NDArray[np.int64]

# With fewer slices of a window at each unit, the rows of a step would be at one unit.
SLICES_PER_UNIT = 8
# The slices of a stream whose window has no length, if no other stream has one.
UNBOUNDED_SLICE_US = 1_000_000


def even_slices(plan: JoinPlan, counts: Sequence[int], rings: Sequence[int], units: int) -> tuple[Slicing, ...]:
    """The slices of each stream: so many of its window, in turn at so many of the units.

    A stream whose window counts rows, or has no end, has slices as long as the shortest of the others.
    """
    widths = [
        None if stream.window_us is None else max(1, -(-stream.window_us // count))
        for stream, count in zip(plan.streams, counts, strict=True)
    ]
    shortest = min((width for width in widths if width is not None), default=UNBOUNDED_SLICE_US)
    slices, first = [], 0
    for width, ring in zip(widths, rings, strict=True):
        slices.append(Slicing(shortest if width is None else width, ring, first % units))
        first += ring  # shorter rings are at different units
    return tuple(slices)


def with_rings(layout: Layout, plan: JoinPlan, lengths: Sequence[int]) -> Layout:
    """The same units, with rings of these lengths; every unit of a ring has eight slices of the window."""
    counts = [SLICES_PER_UNIT * length for length in lengths]
    return replace(layout, slices=even_slices(plan, counts, lengths, layout.units[0]), first_slices=())


def ring_lengths(layout: Layout) -> tuple[int, ...]:
    """The rings that were chosen, before slices were redistributed."""
    return tuple(slicing.units for slicing in layout.first_slices or layout.slices)


def slice_numbers(layout: Layout, stream: int, times: Times) -> Times:
    """The slice of each event time."""
    slicing = layout.slices[stream]
    numbers: Times = slicing.number + (times - slicing.start_us) // slicing.width_us
    return numbers


def slice_units(layout: Layout, stream: int, times: Times) -> Times:
    """The unit that stores the slice of each event time."""
    slicing = layout.slices[stream]
    turns = turns_of(slicing)
    units: Times = (slicing.first + turns[slice_numbers(layout, stream, times) % len(turns)]) % layout.units[0]
    return units


# The slicings of a query's streams; tests have many queries.
@lru_cache(maxsize=256)
def turns_of(slicing: Slicing) -> Times:
    """The places in the ring of the slices of one turn of it: those of each unit as far apart as possible."""
    places = np.arange(slicing.units, dtype=np.int64)
    if not slicing.weights:
        return places
    weights = np.array(slicing.weights)
    owners = np.repeat(places, weights)
    before = np.repeat(np.cumsum(weights) - weights, weights)
    when = (np.arange(len(owners)) - before + 0.5) / weights[owners]
    turns: Times = owners[np.argsort(when, kind="stable")]
    return turns
