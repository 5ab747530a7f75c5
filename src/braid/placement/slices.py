"""Time slices: which unit stores the rows of an event time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from braid.plan.layout import Layout

Times = npt.NDArray[np.int64]


def slice_numbers(layout: Layout, stream: int, times: Times) -> Times:
    """The slice of each event time."""
    numbers: Times = times // layout.slices[stream].width_us
    return numbers


def slice_units(layout: Layout, stream: int, times: Times) -> Times:
    """The unit that stores the slice of each event time."""
    slicing = layout.slices[stream]
    units: Times = (slicing.first + slice_numbers(layout, stream, times) % slicing.units) % layout.units[0]
    return units
