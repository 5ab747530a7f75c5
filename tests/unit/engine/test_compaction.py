"""What merges leave: files are dropped when a merge is complete, never before."""

from __future__ import annotations

from dataclasses import replace

from braid.engine.compaction import Compacted, compacted_by, given_up, merge_times, slot_times
from braid.engine.reports import MergeReport, ProbeReport
from braid.state.manifest import Block, Merge
from braid.state.usage import Usage


def block(name: str) -> Block:
    return Block(name, 0, 0, 0, 0, (0,), 10, 100, 0, 9)


def report(*merged: MergeReport, slot: int = 0, seconds: float = 0.0) -> ProbeReport:
    return ProbeReport(slot, "host", (), (), (), merged, (), usage=Usage(seconds=seconds))


MERGE = Merge(0, ("a", "b"), 0, None, slices=3)
BEGUN = replace(MERGE, last=2, parts=(block("part"),))


def test_a_part_is_recorded_and_its_inputs_stay() -> None:
    first = replace(MERGE, number=4)
    after = compacted_by([first], [report(MergeReport(4, 0, 10, 0.1, block("part")))])
    assert after == Compacted((), (replace(MERGE, parts=(block("part"),)),), frozenset())


def test_the_last_slice_replaces_inputs_and_parts() -> None:
    last = replace(BEGUN, first=2, last=3)
    after = compacted_by([last], [report(MergeReport(0, 0, 10, 0.1, block("whole")))])
    assert after == Compacted((block("whole"),), (), frozenset({"a", "b", "part"}))


def test_the_parts_of_a_move_become_blocks() -> None:
    last = replace(BEGUN, first=2, last=3, into=1)
    after = compacted_by([last], [report(MergeReport(0, 0, 10, 0.1, block("rest")))])
    assert after == Compacted((block("rest"), block("part")), (), frozenset({"a", "b"}))


def test_a_slice_without_useful_rows_writes_nothing_but_counts() -> None:
    last = replace(MERGE, first=2, last=3, parts=())
    assert compacted_by([last], [report(MergeReport(0, 0, 0, 0.1, None))]).unneeded == {"a", "b"}


def test_parts_of_merges_that_are_given_up_are_dropped() -> None:
    other = replace(MERGE, files=("c", "d"), parts=(block("other"),))
    assert list(given_up([BEGUN, other], [other])) == ["part"]
    assert list(given_up([BEGUN, other], [BEGUN, other])) == []


def test_times_are_added_by_slot_over_the_jobs_of_a_step() -> None:
    reports = [report(MergeReport(0, 1, 7, 0.5, None), seconds=1.0), report(slot=1, seconds=2.0), report(seconds=4.0)]
    assert slot_times(reports) == [5.0, 2.0]
    assert list(merge_times(reports)) == [(1, 7, 0.5)]
