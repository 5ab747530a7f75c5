"""Sort orders and sub-indexes of event time: whatever a step decides on them, the answer is the oracle's.

Decisions are either those of the controller with every threshold removed, so that orders and cuts change often, or
arbitrary ones that change from step to step. Batches are far longer than the windows, and runs restart and crash
between the changes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from braid.control import compaction, merging, paths
from braid.control.paths import PathDecision
from braid.engine import delta
from braid.engine.tasks.merging import slices
from braid.errors import PredicateError
from braid.optimizer.strategies import Biclique
from braid.plan.expressions import Expression
from braid.plan.join import AccessPath, JoinPlan, SortOrder
from braid.plan.layout import Layout
from braid.state.files import LocalFiles
from braid.state.observed.samples import PathShare
from braid.testing import Draft, FailingFiles, InjectedCrash, InlineQuery, ManualClock, constant, within
from braid.testing.drafts import TIMESTAMP
from tests.budget import seeds
from tests.properties.cases import Case, make_case, results_of, strategies
from tests.properties.predicates import random_ranges
from tests.properties.running import Results, run_restarted

DECIDED = seeds(9000, 14)
ARBITRARY = seeds(9100, 15)
CRASHED = seeds(9200, 8)
# Blocks of all times can be merged with each other.
ONE_PERIOD = Biclique(archive=timedelta(seconds=1))
EAGER = {
    "MIN_SAMPLED_ROWS": 1,
    "MIN_HITS": 1,
    "MIN_GAIN": 1.0,
    "MIN_ROWS_PER_PIECE": 2,
    "VISIT_NS": 0.0,
    "ROW_NS": 0.0,
    "SEARCH_NS": 0.0,
}


@pytest.fixture(autouse=True)
def merge_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks are enough to merge, and merges are cut into slices that several steps write."""
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    monkeypatch.setattr(compaction, "SHARE", 0.0)
    monkeypatch.setattr(compaction, "LEAST_ROWS", 5)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 3)


def make_ranges(seed: int, *, small: bool = False, nothing_late: bool = False) -> Case:
    """A case in which most indexes can be sorted by several numbers."""
    case = make_case(seed, small=small, nothing_late=nothing_late, shares=(75, 25, 0))
    ranges = random_ranges(random.Random(seed), [stream.name for stream in case.streams])
    return replace(case, predicates=tuple(ranges))


def decide_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in EAGER.items():
        monkeypatch.setattr(paths, name, value)


def decide_anything(monkeypatch: pytest.MonkeyPatch, seed: int, seen: set[SortOrder] | None = None) -> None:
    """Every step sorts by any candidates, and cuts by any length of event time."""
    monkeypatch.setattr(paths, "MIN_ROWS_PER_PIECE", 1)
    chance = random.Random(seed)

    def decide(
        plan: JoinPlan,
        paths: Sequence[AccessPath],
        expressions: Sequence[Sequence[Expression]],
        layout: Layout,
        before: Sequence[SortOrder],
        known: Sequence[PathShare],
        samples: Sequence[object],
    ) -> PathDecision:
        orders = tuple(
            SortOrder(
                tuple(chance.randrange(max(1, len(index.candidates))) for index in stream.indexes),
                chance.choice((None, 1, 3, 20)),
            )
            for stream in plan.streams
        )
        if seen is not None:
            seen.update(orders)
        return PathDecision(orders, ())

    monkeypatch.setattr(delta, "decide_paths", decide)


def run(case: Case, directory: Path, chance: random.Random) -> Results:
    """The case, with another run for every batch."""
    choices = [*strategies(case.logical_plan, chance), ONE_PERIOD]
    return run_restarted(case, directory, chance, lambda: chance.choice(choices))


@pytest.mark.parametrize("seed", DECIDED)
def test_decisions_without_thresholds_give_the_oracles_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide_eagerly(monkeypatch)
    case = make_ranges(seed).restarted()
    got = run(case, tmp_path, random.Random(seed))
    assert got == case.expected, case.describe()


@pytest.mark.parametrize("seed", ARBITRARY)
def test_any_sort_orders_and_cuts_give_the_oracles_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide_anything(monkeypatch, seed)
    chance = random.Random(seed)
    # In few batches, each of them has rows of all times: far more than a window.
    case = make_ranges(seed, nothing_late=True)
    case = (case.recut(chance) if chance.random() < 0.5 else case).restarted()
    got = run(case, tmp_path, chance)
    assert got == case.expected, case.describe()


@pytest.mark.parametrize("seed", CRASHED)
def test_crashes_between_changes_of_the_sort_order_lose_and_repeat_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that continues a step must not decide again: its rows are sorted as the record says."""
    decide_anything(monkeypatch, seed)
    chance = random.Random(seed)
    case = make_ranges(seed, small=True, nothing_late=True)
    clock, directory, done = ManualClock(0), str(tmp_path), 0
    for operations in crash_points(chance):
        try:
            files = FailingFiles(LocalFiles(), operations, chance.choice(("before", "after")))
            query = InlineQuery(case.logical_plan, directory, strategy=ONE_PERIOD, clock=clock, files=files)
            done = query.last_batch + 1
            while done < len(case.batches):
                query.run(done, case.tables(done))
                done += 1
        except InjectedCrash:
            continue
        break
    query = InlineQuery(case.logical_plan, directory, clock=clock)
    for batch in range(query.last_batch + 1, len(case.batches)):
        query.run(batch, case.tables(batch))
    got = results_of(case, query.published())
    assert got == case.expected, case.describe()


@pytest.mark.parametrize("largest", [2**31 - 1, 1000], ids=["overflow", "none"])
def test_no_overflow_is_missed_because_another_range_leaves_the_pair_out(
    largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both comparisons can raise. The second leaves every pair out, but the first is evaluated before it."""
    draft = Draft()
    a, b = (draft.stream(name, {"x": "int", "y": "int"}, window_us=10) for name in "ab")
    draft.on(within(a["x"], b["x"], constant(5, "int"))).on(within(a["y"], b["y"], constant(5, "int")))
    by_y = PathDecision((SortOrder((1,)), SortOrder((1,))), ())
    monkeypatch.setattr(delta, "decide_paths", lambda *_: by_y)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), clock=ManualClock(0))
    tables = {
        name: pa.table(
            {"ts": pa.array([0]).cast(TIMESTAMP), "x": pa.array([x], pa.int32()), "y": pa.array([y], pa.int32())}
        )
        for name, x, y in (("a", largest, 0), ("b", -largest, 100))
    }
    if largest > 1000:
        with pytest.raises(PredicateError, match="overflow"):
            query.run(0, tables)
        return
    progress = query.run(0, tables) or {}
    assert sum(unit["pairsCompared"] for unit in progress["units"]) == 0


def crash_points(chance: random.Random) -> Iterator[int]:
    for _ in range(12):
        yield chance.randint(3, 60)


def test_the_decisions_differ_and_blocks_of_several_orders_are_live_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[SortOrder] = set()
    decide_anything(monkeypatch, 1, seen)
    together = cut = results = 0
    sliced: set[tuple[int, ...] | None] = set()
    for seed in range(9100, 9120):
        case = make_ranges(seed, nothing_late=True)
        results += case.expected.total()
        query = InlineQuery(case.logical_plan, str(tmp_path / str(seed)), strategy=ONE_PERIOD, clock=ManualClock(0))
        for batch in range(len(case.batches)):
            query.run(batch, case.tables(batch))
            blocks = query.steps.manifest.blocks
            for stream in range(len(case.streams)):
                together += len({block.choices for block in blocks if block.stream == stream}) > 1
            cut += any(order.cut_us for order in query.steps.manifest.sort_orders)
            sliced.update(begun.choices for begun in query.steps.manifest.unfinished)
    assert together > 10
    assert cut > 10
    assert len(seen) > 8
    assert len(sliced) > 1
    assert results > 300
