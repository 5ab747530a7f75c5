"""How much a step rewrites: the share of its slots' time, slices of what exceeds it, nothing twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.control import compaction
from braid.control.compaction import Compaction, durations_after, paces_after
from braid.plan.layout import Layout
from braid.state.manifest import Block, Manifest, Mark, Merge, MergePace

LAYOUT = Layout(0, "partitioned", (2,), (1, 1))
# A quarter of 0.4 s at a million rows a second.
ALLOWANCE = 100_000


def block(name: str, rows: int, slot: int | None = 0, epoch: int = 0) -> Block:
    return Block(name, 0, 0, 0, epoch, None if slot is None else (slot,), rows, rows, 0, 9)


def decided_by(*blocks: Block, seconds: tuple[float, ...] = (0.4,), slots: int = 2) -> Compaction:
    marks = (Mark(None, None, 0),)
    paces = (MergePace(0, 1_000_000.0, 1.0),)
    manifest = Manifest(0, 0, "run", 0, marks, (LAYOUT,), blocks, 0, merge_paces=paces, slot_seconds=seconds)
    return Compaction(manifest, blocks, (LAYOUT, replace(LAYOUT, epoch=1)), 2, slots)


def merge_of(*files: str) -> Merge:
    return Merge(0, files, 0, None)


def spans(merges: tuple[Merge, ...]) -> list[tuple[int, int, int]]:
    return [(merge.first, merge.last, merge.slices) for merge in merges]


def test_the_allowance_is_a_share_of_the_slots_time_at_the_measured_pace() -> None:
    assert decided_by().allowance(0) == ALLOWANCE
    assert decided_by(seconds=(0.4, 9.0, 0.4)).allowance(0) == ALLOWANCE, "one slow step changes nothing"
    assert decided_by(seconds=()).allowance(0) == compaction.LEAST_ROWS
    assert decided_by(seconds=(1.0,)).allowance(1) == int(0.25 * compaction.ASSUMED_ROWS_PER_SECOND)
    assert decided_by().largest(0) == 8 * ALLOWANCE
    assert decided_by(seconds=(60.0,)).largest(0) == 2_000_000


def test_what_fits_is_merged_whole_and_the_rest_waits() -> None:
    due = [merge_of("a", "b"), merge_of("c", "d"), merge_of("e", "f")]
    blocks = [block(name, 20_000) for name in "abcde"] + [block("f", 20_001)]
    chosen = decided_by(*blocks).choose((), (), due)
    assert [merge.files for merge in chosen] == [("a", "b"), ("c", "d")]
    assert [merge.number for merge in chosen] == [0, 1]


def test_slots_have_an_allowance_each() -> None:
    due = [merge_of("a", "b"), merge_of("c", "d"), merge_of("e", "f")]
    blocks = [block(name, 45_000, slot=number // 2 % 2) for number, name in enumerate("abcdef")]
    assert [merge.files for merge in decided_by(*blocks).choose((), (), due)] == [("a", "b"), ("c", "d")]


def test_a_merge_that_exceeds_the_allowance_is_cut_into_slices_of_at_most_half_of_it() -> None:
    (merge,) = decided_by(block("a", 200_000), block("b", 110_000)).choose((), (), [merge_of("a", "b")])
    assert (merge.first, merge.last, merge.slices) == (0, 2, 7), "as many slices as fit"
    assert not merge.is_final


def test_an_unfinished_merge_comes_first_and_no_second_one_begins_in_its_slot() -> None:
    blocks = [block("a", 200_000), block("b", 200_000), block("c", 90_000), block("d", 90_000)]
    small, other = [block("e", 5_000), block("f", 5_000)], [block("g", 90_000, 1), block("h", 90_000, 1)]
    begun = replace(merge_of("a", "b"), last=3, slices=8, parts=(block("part", 150_000),))
    due = [merge_of("e", "f"), merge_of("c", "d"), merge_of("g", "h")]
    chosen = decided_by(*blocks, *small, *other).choose([begun], (), due)
    assert [merge.files for merge in chosen] == [("a", "b"), ("g", "h"), ("e", "f")]
    assert spans(chosen) == [(3, 4, 8), (0, 2, 4), (0, 1, 1)]
    assert [part.file for part in chosen[0].parts] == ["part"]


def test_the_last_slice_pays_for_copying_the_others() -> None:
    blocks = [block("a", 400_000), block("b", 400_000)]
    begun = replace(merge_of("a", "b"), last=14, slices=16, parts=(block("part", 700_000),))
    (merge,) = decided_by(*blocks).choose([begun], (), ())
    assert (merge.first, merge.last) == (14, 15), "50,000 rows merged; another 50,000 fit, but copying 800,000 does not"
    begun = replace(merge_of("a", "b"), last=15, slices=16, parts=(block("part", 750_000),))
    (merge,) = decided_by(*blocks).choose([begun], (), ())
    assert merge.is_final


def test_buffered_rows_are_never_cut() -> None:
    due = replace(merge_of("a", "b"), buffered=True)
    assert decided_by(block("a", 60_000), block("b", 60_000)).choose((), (), [due]) == ()
    assert len(decided_by(block("a", 50_000), block("b", 50_000)).choose((), (), [due])) == 1


def test_moves_obey_the_same_allowance_and_whole_ones_are_made_together() -> None:
    blocks = [block("a", 30_000), block("b", 30_000), block("c", 30_000), block("d", 300_000, 1)]
    moves = [replace(merge_of(name), into=1) for name in "abcd"]
    chosen = decided_by(*blocks, block("e", 30_000), block("f", 1_000)).choose((), moves, [merge_of("e", "f")])
    assert [merge.files for merge in chosen] == [("d",), ("a", "b", "c")]
    assert spans(chosen) == [(0, 2, 6), (0, 1, 1)]


def test_blocks_of_all_slots_count_for_each_of_them_with_twice_its_even_share() -> None:
    blocks = [block("a", 400_000, None), block("b", 400_000, None)]
    (merge,) = decided_by(*blocks, slots=2).choose((), (), [merge_of("a", "b")])
    assert merge.slices == 16
    (merge,) = decided_by(*blocks, slots=32).choose((), (), [merge_of("a", "b")])
    assert merge.is_whole


def test_every_merge_is_completed_whatever_the_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    """If steps become shorter after a merge was cut, it still gets a slice in every step."""
    monkeypatch.setattr(compaction, "LEAST_ROWS", 10)
    blocks = [block("a", 300_000), block("b", 300_000)]
    begun: list[Merge] = []
    for step in range(20):
        decided = decided_by(*blocks, seconds=(0.4 if step == 0 else 0.0001,))
        (merge,) = decided.choose(begun, (), [] if begun else [merge_of("a", "b")])
        if merge.is_final:
            return
        begun = [merge]
    pytest.fail("the merge was not completed")


def test_paces_and_durations_follow_what_is_measured() -> None:
    paces = paces_after((), [(1, 100, 0.1), (0, 50, 0.1), (1, 100, 0.3)])
    assert paces == (MergePace(0, 50.0, 0.1), MergePace(1, 200.0, 0.4))
    assert paces_after(paces, []) == paces
    assert paces_after(paces, [(0, 10, 0.02)]) == (MergePace(0, 50.0, 0.1), MergePace(1, 200.0, 0.4))
    assert durations_after((1.0,) * 8, [0.2, 0.55556]) == (1.0,) * 7 + (0.5556,)
    assert durations_after((1.0,), []) == (1.0,), "a step without lookups"
