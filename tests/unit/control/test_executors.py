"""How many executors a layout asks for, and what the configuration says of it."""

from __future__ import annotations

import pytest

from braid.control.executors import Allocation, executors_for
from braid.plan.layout import Layout

SIDES = Layout(0, "biclique", (5, 9), (1, 1))


@pytest.mark.parametrize(
    ("layout", "allocation", "executors"),
    [
        (SIDES, Allocation(1, 0, None), 9),
        (SIDES, Allocation(4, 0, None), 3),
        (SIDES, Allocation(3, 0, None), 3),
        (SIDES, Allocation(16, 0, None), 1),
        (SIDES, Allocation(4, 5, None), 5),
        (SIDES, Allocation(1, 2, 6), 6),
        (SIDES.resized(1, 0, 12), Allocation(4, 0, None), 3),
        (SIDES.resized(1, 0, 13), Allocation(4, 0, None), 4),
        (Layout(0, "matrix", (3, 4), (1, 1)), Allocation(2, 0, None), 6),
        (Layout(0, "partitioned", (7,), (7,)), Allocation(2, 0, None), 4),
    ],
)
def test_a_core_for_each_unit_of_the_largest_side(layout: Layout, allocation: Allocation, executors: int) -> None:
    assert executors_for(layout, allocation) == executors
