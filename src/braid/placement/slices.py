"""Time slices: which unit stores the rows of an event time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from braid.plan.layout import Layout, Slicing

Times = npt.NDArray[np.int64]


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
