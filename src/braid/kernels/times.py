"""The time of a stored row, which decides when it can join no future row.

For a row of a stream it is the event time. A row of an intermediate result expires with the first of its members: no
row later than a member's time plus its reach can join it. So its time is the earliest such end minus the longest reach,
and it is never newer than any member whose reach is bounded.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from braid.kernels.rows import Rows
from braid.plan.instants import EARLIEST_US, LATEST_US
from braid.plan.join import JoinPlan

Times = npt.NDArray[np.int64]


def shifted(times: Times, by_us: int) -> Times:
    """The times plus `by_us`, which may be negative; clipped to the range of times."""
    if by_us < 0:
        return np.maximum(times, EARLIEST_US - by_us) + by_us
    return np.minimum(times, LATEST_US - by_us) + by_us


def count_up_to(times: Times, limit_us: int) -> int:
    """How many of the sorted times are not later than a limit, which may be before every time."""
    return 0 if limit_us < EARLIEST_US else int(np.searchsorted(times, limit_us, side="right"))


def row_times(plan: JoinPlan, number: int, rows: Rows) -> Times:
    """The time of each row of a stream or intermediate result, in microseconds."""
    members = plan.members(number)
    times = [rows.times(plan.streams[member].time) for member in members]
    if len(members) == 1:
        return times[0]
    probing_stream, kept_us = plan.reaches(number)[0]
    newest: Times = np.maximum.reduce(times)
    if kept_us is None:
        return newest
    reaches = [plan.retention_us[member][probing_stream] for member in members]
    ends = [shifted(column, reach) for column, reach in zip(times, reaches, strict=True) if reach is not None]
    return shifted(np.minimum.reduce(ends), -kept_us)


def time_pieces(times: Times, length_us: int, most: int) -> Times | None:
    """For each row the number of its piece of event time; None if there is only one.

    There are as many pieces as the rows span multiples of `length_us`, at most `most`. They have about equal numbers of
    rows, so a few rows that are far from the others do no harm.
    """
    spanned = -(-(int(times.max()) - int(times.min()) + 1) // length_us)
    count = min(spanned, most)
    if count < 2:
        return None
    ends = np.arange(1, count) * len(times) // count
    return np.searchsorted(np.partition(times, ends)[ends], times, side="right")
