"""Segments of event time: which units store a row, where rows are stored at several units.

Aligned: the segments of a master stream are dealt to the units. A row of another stream is copied to every unit with a
segment that it may join a row of. The unit of its own event time is always one of them: it has the primary copy, under
the unit's number as route; other copies have routes of their own (`routes_at` in `units.py`).

Coordinated: the segments of every stream are dealt to classes, as many as there are units. Class n is stored at unit n,
which has the primary copy, and at those that follow; the class is the route of its rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from braid.plan.instants import EARLIEST_US, LATEST_US
from braid.plan.layout import Layout, Segmenting

Numbers = npt.NDArray[np.int64]


def aligned_places(layout: Layout, stream: int, times: Numbers) -> tuple[Numbers, Numbers, Numbers | None]:
    """The units and routes of the copies of rows with these event times, and whose copies; None: each row once."""
    units, segmenting = layout.units[0], layout.segments[stream]
    first, counts = _touched(segmenting, times, units)
    own = times // segmenting.width_us % units
    if counts.max(initial=1) == 1:
        return own, own, None
    rows = np.repeat(np.arange(len(times)), counts)
    along = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    places = (first[rows] + along) % units
    return places, np.where(places == own[rows], places, places + units), rows


def coordinated_places(layout: Layout, stream: int, times: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The units and routes of the copies of rows with these event times, and whose copies."""
    classes = times // layout.segments[stream].width_us % layout.units[0]
    units = copy_units(layout, stream, classes)
    count = units.shape[1]
    return units.ravel(), np.repeat(classes, count), np.repeat(np.arange(len(times)), count)


def copy_units(layout: Layout, stream: int, classes: Numbers) -> Numbers:
    """The units that store each class of segments, a row for each."""
    units: Numbers = (classes[:, np.newaxis] + np.arange(layout.segments[stream].copies)) % layout.units[0]
    return units


def classes_between(layout: Layout, stream: int, first_us: int, last_us: int) -> Numbers:
    """The classes of the segments with event times from the first to the last."""
    width, units = layout.segments[stream].width_us, layout.units[0]
    first, last = first_us // width, last_us // width
    return (first % units + np.arange(min(last - first + 1, units))) % units


def _touched(segmenting: Segmenting, times: Numbers, units: int) -> tuple[Numbers, Numbers]:
    """The unit of the first segment that each row may meet, and the number of units from there on."""
    width, before, after = segmenting.width_us, segmenting.before_us, segmenting.after_us
    if before is None or after is None or before + after >= units * width:
        return times // width % units, np.full(len(times), units)
    # No event time is beyond the ends of the range, so limits are clipped there.
    first = (np.maximum(times, EARLIEST_US + before) - before) // width
    last = (np.minimum(times, LATEST_US - after) + after) // width
    return first % units, np.minimum(last - first + 1, units)
