"""Who owns the rows of partition groups that were stored under another assignment."""

from __future__ import annotations

from dataclasses import replace

from braid.placement.groups import all_stay_local, is_first_successor, opened_units, slots_of_units, successors
from braid.placement.units import visitors
from braid.plan.layout import Layout

OLD = Layout(0, "partitioned", (3,), (3,), group_units=(0, 0, 1, 1, 2, 2))
# Group 1 has moved to unit 2, and unit 1 has lost both of its groups.
NEW = replace(OLD, epoch=1, group_units=(0, 2, 0, 2, 2, 2))


def test_units_that_own_the_groups_of_a_unit_now() -> None:
    assert successors(NEW, OLD) == ({0, 2}, {0, 2}, {2})


def test_a_slot_opens_what_has_rows_of_its_groups() -> None:
    assert set(opened_units(NEW, OLD, 2, 3, 0)) == {0, 1}
    assert set(opened_units(NEW, OLD, 2, 3, 1)) == set()
    assert set(opened_units(NEW, OLD, 2, 3, 2)) == {0, 1, 2}
    assert set(opened_units(NEW, NEW, 2, 3, 1)) == {1}
    slots = slots_of_units((OLD, NEW), 2, 3)
    assert (slots[0, 0], slots[0, 2], slots[1, 1]) == ((0, 2), (2,), (1,))


def test_rows_that_visit_all_units_meet_a_segment_at_one_slot() -> None:
    assert [is_first_successor(NEW, OLD, 0, frozenset({unit})) for unit in range(3)] == [True, False, False]


def test_only_layouts_that_share_groups_stay_local() -> None:
    assert all_stay_local((OLD, NEW), 2, 3)
    for other in (replace(OLD, group_units=(0, 1, 2)), replace(OLD, group_units=()), replace(OLD, stored_as="x")):
        assert not all_stay_local((other, NEW), 2, 3)
        assert visitors(NEW, other, 0) is None
