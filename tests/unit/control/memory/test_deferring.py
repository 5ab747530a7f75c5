"""Pushes and clean-ups as records: which groups owe results, which are cleaned up next, and what is left."""

from __future__ import annotations

from dataclasses import replace

from braid.control.memory import deferring
from braid.control.memory.deferring import (
    begin_parts,
    clean_up_bytes,
    clean_up_jobs,
    clean_up_seconds,
    groups_to_clean,
    returning_groups,
    why_not_deferred,
    with_clean_up,
)
from braid.optimizer.build import build_plan
from braid.placement.deferral import CleanUp
from braid.plan.layout import Layout
from braid.plan.memory import MemoryLimit
from braid.state.manifest import Manifest
from braid.state.observed.groups import GroupLoad, GroupState, MemoryHistory, Push
from braid.testing import Draft
from braid.testing.expressions import equal

LOADS = tuple(GroupLoad(size=100 * (group + 1), results=5, inserted_ms=7) for group in range(4))
STATE = GroupState(LOADS, MemoryHistory(0))


def test_a_pushed_group_has_no_bytes_in_memory_and_counts_its_results_again() -> None:
    state = begin_parts(STATE, Push(3, (1, 2), (None, 5)))
    assert state.owing == (1, 2)
    assert state.loads[0] is LOADS[0]
    assert state.loads[2] == GroupLoad(size=0, results=0, inserted_ms=7)


def test_groups_that_were_pushed_first_are_cleaned_up_first_within_a_bound_for_each_unit() -> None:
    loads = tuple(GroupLoad(pushed_size=100) for _ in range(6))
    pushes = (Push(3, (1, 2, 4)), Push(5, (0, 1, 5)))
    layout = Layout(0, "partitioned", (2,), (2,), group_units=(0, 0, 0, 1, 1, 1))
    state = GroupState(loads, MemoryHistory(0), pushes)
    manifest = Manifest(7, 7, "run", 0, (), (layout,), (), 0, groups=state)
    assert groups_to_clean(manifest) == (0, 1, 2, 4, 5)
    assert groups_to_clean(manifest, 400) == (1, 2, 4, 5), "unit 0 has two groups that were pushed before group 0"
    assert groups_to_clean(manifest, 1) == (1, 4)
    assert groups_to_clean(replace(manifest, groups=None)) == ()


def test_a_clean_up_has_less_than_units_can_keep_open() -> None:
    assert clean_up_bytes(MemoryLimit(1000), 3) == 1000
    assert clean_up_bytes(MemoryLimit(1 << 40), 3) == clean_up_bytes(None, 3) == deferring.CLEAN_UP_BYTES


def test_pushed_groups_return_where_their_units_have_room_for_them() -> None:
    """Units 0 and 1 use 500 and 100 bytes, and may use 0.5 · 0.8 · 1500 = 600 before groups return."""
    sizes = ((400, 90), (100, 20), (0, 300), (100, 500))
    loads = tuple(GroupLoad(size=size, pushed_size=pushed) for size, pushed in sizes)
    layout = Layout(0, "partitioned", (2,), (2,), group_units=(0, 0, 1, 1))
    state = GroupState(loads, MemoryHistory(0), (Push(3, (0, 1, 2, 3)),))
    manifest = Manifest(5, 5, "run", 0, (), (layout,), (), 0, groups=state)
    limit = MemoryLimit(1500, "lazy-disk", spill_at=0.5, spill_share=0.2)
    assert returning_groups(limit, manifest) == (1, 2), "group 0 no longer fits beside group 1"
    assert returning_groups(replace(limit, overflow="read-through"), manifest) == ()
    assert returning_groups(None, manifest) == ()


def test_cleaned_groups_leave_all_pushes_and_empty_pushes_end() -> None:
    state = begin_parts(begin_parts(STATE, Push(3, (1,))), Push(6, (1, 2)))
    state = replace(state, loads=tuple(replace(load, pushed_rows=7, pushed_size=70) for load in state.loads))
    after = with_clean_up(state, (1,), 1000, 2.0)
    assert after.pushes == (Push(6, (2,)),)
    assert (after.loads[1].pushed_rows, after.loads[1].pushed_size, after.loads[2].pushed_rows) == (0, 0, 7)
    assert with_clean_up(after, (2,), 0, 0.0).pushes == ()
    assert with_clean_up(state, (), 0, 0.0) is state


def test_rows_start_interval_by_interval_between_the_pushes_of_cleaned_groups() -> None:
    pushes = (Push(3, (0,)), Push(6, (1,)), Push(8, (0, 2)))
    assert [*clean_up_jobs(pushes, (1,), 3, 9)] == [CleanUp((1,), 6, 8, 0), CleanUp((1,), 6, 8, 1)]
    assert [*clean_up_jobs(pushes, (0,), 2, 9)] == [CleanUp((0,), *steps, 0) for steps in ((3, 7), (8, 8))]
    assert [*clean_up_jobs(pushes, (), 2, 9)] == []


def test_the_time_of_a_clean_up_follows_those_that_were_measured() -> None:
    loads = (GroupLoad(pushed_rows=1_000_000), *LOADS[1:])
    state = GroupState(loads, MemoryHistory(0), (Push(3, (0,)),))
    assert clean_up_seconds(state, 2) == 1.0
    measured = GroupState(loads, MemoryHistory(0), (Push(3, (0,)),), cleaned_rows=50_000, cleaned_seconds=0.5)
    assert clean_up_seconds(measured, 2) == 10.0


def test_ordered_results_and_windows_that_count_rows_cannot_be_deferred() -> None:
    def query(window_rows: int | None = None) -> Draft:
        draft = Draft()
        window_us = 10 if window_rows is None else None
        a, b = (draft.stream(name, {"k": "int"}, window_us=window_us, window_rows=window_rows) for name in "ab")
        return draft.on(equal(a["k"], b["k"]))

    assert why_not_deferred(build_plan(query().logical_plan())) is None
    assert "count rows" in str(why_not_deferred(build_plan(query(5).logical_plan())))
    assert "in order" in str(why_not_deferred(build_plan(query().ordered().logical_plan())))
