"""Terms under way: how many jobs a step runs, what stays unfinished, and what unfinished terms hold back."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from braid.control import compaction, merging
from braid.control.keeping import decide_rewrites, split_expired
from braid.control.merging import due_moves
from braid.control.slicing.terms import frontier_before, interval_of, jobs_of, oldest_watermarks, unfinished_after
from braid.optimizer.build import build_plan
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, Manifest, Mark
from braid.state.terms import Term
from braid.testing import Draft

LAYOUT = Layout(0, "time_sliced", (2,), (1,))


def term(step: int, left: int = 1, rounds: int = 6, watermark: int | None = 0, oldest: int = 0) -> Term:
    orders = (tuple(range(rounds)),)
    return Term(step, (watermark, watermark), orders, (), oldest, 0, rounds - left, (f"{step}.exchanged",))


def plan(ordered: bool = False) -> JoinPlan:
    draft = Draft()
    for name in ("a", "b"):
        draft.stream(name, {}, window_us=100)
    return build_plan(draft.ordered().logical_plan() if ordered else draft.logical_plan())


def block(file: str, first: int, last: int | None = None, epoch: int = 0, times: tuple[int, int] = (0, 9)) -> Block:
    return Block(file, 0, first, first if last is None else last, epoch, (0,), 10, 100, *times)


def manifest(blocks: tuple[Block, ...], *terms: Term, layouts: tuple[Layout, ...] = (LAYOUT,)) -> Manifest:
    return Manifest(9, 9, "run", 0, (Mark(None, None, 0),) * 2, layouts, blocks, 0, terms=terms)


@pytest.mark.parametrize("rounds", range(1, 9))
@pytest.mark.parametrize("interleave", range(1, 7))
def test_a_steady_query_has_at_most_so_many_steps_under_way_and_runs_few_jobs(rounds: int, interleave: int) -> None:
    terms: list[Term] = []
    jobs_run = []
    for step in range(40):
        terms.append(term(step, rounds, rounds))
        assert len(terms) <= interleave
        jobs = jobs_of(terms, interleave)
        left = [replace(t, next_round=t.next_round + jobs) for t in terms if t.rounds_left > jobs]
        assert [t.step for t in left] == [t.step for t in unfinished_after(terms, interleave)]
        terms = left
        jobs_run.append(jobs)
    assert set(jobs_run) == {-(-rounds // interleave)}, "every step runs as many"


@pytest.mark.parametrize("seed", range(20))
def test_fewer_jobs_would_leave_too_many_steps_or_more_jobs_to_later_ones(seed: int) -> None:
    chance = random.Random(seed)
    terms = [term(step, chance.randint(1, 8), 8) for step in range(chance.randint(1, 6))]
    interleave = chance.randint(1, 5)
    jobs = jobs_of(terms, interleave)
    assert sum(t.rounds_left > jobs for t in terms) < interleave
    assert jobs == -(-8 // interleave) or sum(t.rounds_left > jobs - 1 for t in terms) >= interleave


def test_expiry_follows_the_watermarks_of_the_oldest_term() -> None:
    assert oldest_watermarks((), (7, 8)) == (7, 8)
    assert oldest_watermarks((term(4, watermark=5), term(3, watermark=1)), (7, 8)) == (1, 1)
    blocks = (block("old", 1, times=(0, 40)), block("new", 2, times=(0, 150)))
    live, expired = split_expired(plan(), manifest(blocks), (200, 200))
    assert ([b.file for b in live], [b.file for b in expired]) == (["new"], ["old"])
    live, expired = split_expired(plan(), manifest(blocks, term(3, watermark=140)), (200, 200))
    assert ([b.file for b in live], [b.file for b in expired]) == (["old", "new"], [])


def test_rows_that_a_term_needs_are_not_dropped_by_a_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    blocks = (block("a", 1, times=(0, 150)), block("b", 2, times=(0, 150)))
    (merge,) = decide_rewrites(plan(), manifest(blocks), blocks, (LAYOUT,), (240, 240), 1)
    assert merge.oldest_us == 140
    (merge,) = decide_rewrites(plan(), manifest(blocks, term(5, watermark=110)), blocks, (LAYOUT,), (240, 240), 1)
    assert merge.oldest_us == 10


def test_blocks_before_of_and_after_the_step_of_a_term_are_in_different_intervals() -> None:
    interval = interval_of((term(4), term(7)))
    found = [interval(block("b", step)) for step in range(3, 10)]
    assert found == [0, 1, 2, 2, 3, 4, 4]
    assert interval_of(())(block("b", 3)) == interval_of(())(block("b", 8))


def test_no_merge_crosses_the_boundaries_of_an_unfinished_term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FAN_IN", 2)
    blocks = tuple(block(str(step), step) for step in range(1, 9))

    def merged(*terms: Term) -> list[tuple[str, ...]]:
        chosen = decide_rewrites(plan(), manifest(blocks, *terms), blocks, (LAYOUT,), (0, 0), 1)
        return sorted(tuple(sorted(merge.files)) for merge in chosen)

    assert merged() == [tuple("12345678")]
    assert merged(term(4)) == [tuple("123"), tuple("5678")]
    assert merged(term(4), term(5)) == [tuple("123"), tuple("678")]
    assert merged(*map(term, range(1, 9))) == []


def test_moves_that_a_term_separates_are_not_made_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "LEAST_ROWS", 1_000_000)
    endless = Draft()
    for name in ("a", "b"):
        endless.stream(name, {}, window_us=None)
    joined, layouts = build_plan(endless.logical_plan()), (LAYOUT, replace(LAYOUT, epoch=1))
    blocks = tuple(block(str(step), step) for step in range(1, 6))
    assert len(due_moves(joined, blocks, layouts, (0, 0))) == 5
    state = manifest(blocks, term(3), layouts=layouts)
    moved = decide_rewrites(joined, state, blocks, layouts, (0, 0), 1)
    assert sorted(tuple(sorted(move.files)) for move in moved) == [("1", "2"), ("3",), ("4", "5")]


def test_the_frontier_stops_at_the_oldest_row_of_the_unfinished_terms() -> None:
    terms = (term(3, oldest=30), term(4, oldest=20))
    assert frontier_before(plan(ordered=True), (), 5, 40) == 40
    assert frontier_before(plan(ordered=True), terms, 5, 40) == 20
    assert frontier_before(plan(ordered=True), terms, 5, 10) == 10
    assert frontier_before(plan(ordered=True), terms, 5, None) is None
    whole = replace(plan(ordered=True), streams=tuple(replace(s, window_rows=2) for s in plan().streams))
    assert whole.per_timestamp
    assert frontier_before(whole, terms, 5, 40) == 19, "results of one time are emitted together"
