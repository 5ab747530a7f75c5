"""Times in arrays, shifted and counted at the ends of 64 bits."""

from __future__ import annotations

import numpy as np
import pytest

from braid.kernels.times import count_up_to, shifted
from braid.plan.durations import LONGEST_US
from braid.plan.instants import EARLIEST_US, LATEST_US, clipped
from tests.unit.kernels.extreme_times import ENDS


@pytest.mark.parametrize("by", [0, 1, -1, 5_000_000, -5_000_000, LONGEST_US, -LONGEST_US, LATEST_US, -LATEST_US])
def test_shifted_times_stop_at_the_ends(by: int) -> None:
    assert shifted(np.array(ENDS), by).tolist() == [clipped(time + by) for time in ENDS]


@pytest.mark.parametrize("limit", [EARLIEST_US - 1, *ENDS])
def test_times_up_to_a_limit_are_counted(limit: int) -> None:
    assert count_up_to(np.array(ENDS), limit) == sum(time <= limit for time in ENDS)
