"""Pushed parts and their clean-up: every result of the oracle is found once, whenever groups are pushed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control import compaction, merging
from braid.control.idleness import SourceCheck
from braid.control.memory import deferring
from braid.control.memory.adapting import Decide
from braid.control.memory.decisions import Decided, Nothing, Spill
from braid.control.memory.groups import MemoryState
from braid.control.ordering import Ordering
from braid.engine.tasks import merge
from braid.errors import StrategyError
from braid.optimizer.strategies import Biclique, Partitioned
from braid.state.manifest import Manifest
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal
from tests.budget import seeds
from tests.properties.cases import Case, make_keyed_case, results_of
from tests.properties.grouped import pushing, some_groups, start
from tests.properties.test_interleaving import distinct, emitted, last_values, logical, summed

PUSHED = seeds(71_000, 24)
RESTARTED = seeds(72_000, 12)
PARTLY = seeds(73_000, 8)
SUMMED = seeds(74_000, 4)
RETURNING = seeds(75_000, 6)


@pytest.fixture(autouse=True)
def merge_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    monkeypatch.setattr(merging, "MAX_LIVE_ASSIGNMENTS", 2)
    monkeypatch.setattr(compaction, "LEAST_ROWS", 20)
    monkeypatch.setattr(merge, "MIN_ROWS_TO_CUT", 2)


def owing_groups(query: InlineQuery) -> tuple[int, ...]:
    state = query.steps.manifest.groups
    return () if state is None else state.owing


def run_all(case: Case, query: InlineQuery) -> None:
    for batch in range(len(case.batches)):
        query.run(batch, case.tables(batch))


def drain(query: InlineQuery) -> int:
    """Clean-up steps until nothing is deferred; their number."""
    steps = 0
    while (progress := query.steps.clean_up()) is not None:
        steps += 1
        assert progress["sparkBatchId"] is None
    assert query.steps.manifest.pushes == ()
    return steps


def check(case: Case, got: Counter[tuple[Any, ...]]) -> None:
    missing, surplus = case.expected - got, got - case.expected
    assert got == case.expected, (case.describe(), missing.total(), surplus.total(), [*missing][:2], [*surplus][:2])


@pytest.mark.parametrize("seed", PUSHED)
def test_pushed_groups_lose_and_repeat_nothing(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock, strategy = ManualClock(case.clock_ms[0]), some_groups(chance)
    query = start(case, tmp_path, chance, clock, strategy=strategy, memory=pushing(seed))
    deferred = False
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        progress = query.run(batch, case.tables(batch))
        assert progress is not None
        deferred |= bool(progress["deferred"])
        if chance.random() < 0.15:
            drain(query)
    found = results_of(case, query.published())
    assert not found - case.expected
    drain(query)
    assert deferred
    check(case, results_of(case, query.published()))
    assert query.steps.clean_up() is None


@pytest.mark.parametrize("seed", PARTLY)
def test_a_clean_up_of_some_groups_leaves_the_others_deferred(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are cleaned up one by one, between batches that push others."""
    monkeypatch.setattr(deferring, "CLEAN_UP_BYTES", 1)
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock = ManualClock(case.clock_ms[0])
    query = start(case, tmp_path, chance, clock, strategy=Partitioned(2, groups=6), memory=pushing(seed))
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
        owing = owing_groups(query)
        if owing and chance.random() < 0.6:
            query.steps.clean_up()
            assert len(owing_groups(query)) == len(owing) - 1
    drain(query)
    check(case, results_of(case, query.published()))


@pytest.mark.parametrize("seed", RETURNING)
def test_ticks_clean_up_what_memory_has_room_for_again(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock = ManualClock(case.clock_ms[0])

    def some(manifest: Manifest) -> tuple[int, ...]:
        owing = () if manifest.groups is None else manifest.groups.owing
        return tuple(group for group in owing if chance.random() < 0.5)

    given = {"strategy": Partitioned(2, groups=6), "memory": pushing(seed), "returning": some}
    query = start(case, tmp_path, chance, clock, **given)
    ticks = 0
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
        check_of_sources = SourceCheck(clock(), (True,) * len(case.streams))
        assert query.steps.tick(check_of_sources, trailing=False) is None, "rows are expected at once"
        ticks += query.steps.tick(check_of_sources) is not None
    drain(query)
    check(case, results_of(case, query.published()))
    assert ticks


@pytest.mark.parametrize("kind", ["distinct", "totals"])
@pytest.mark.parametrize("seed", SUMMED)
def test_totals_and_distinct_rows_are_those_of_a_join_that_defers_nothing(seed: int, kind: str, tmp_path: Path) -> None:
    case = make_keyed_case(seed, batches=8)
    plan = logical(case, distinct if kind == "distinct" else summed(None), ordered=False)

    def run(name: str, memory: Decide | None) -> pa.Table:
        clock = ManualClock(case.clock_ms[0])
        query = InlineQuery(
            plan, str(tmp_path / name), strategy=Partitioned(2, groups=6), slots=2, clock=clock, memory=memory
        )
        for batch, now in enumerate(case.clock_ms):
            clock.now_ms = now
            query.run(batch, case.tables(batch))
        drain(query)
        return query.published()

    whole, deferred = run("whole", None), run("deferred", pushing(seed))
    if kind == "distinct":
        assert emitted(deferred) == emitted(whole), case.describe()
    else:
        assert last_values(deferred) == last_values(whole), case.describe()


def test_a_distinct_row_that_a_deferred_result_repeats_is_not_forgotten(tmp_path: Path) -> None:
    """Clean-up finds a second pair with the values of a row that was emitted long before."""
    draft = Draft()
    r, s = (draft.stream(name, {"k": "bigint"}, window_us=10, lateness_us=0) for name in "rs")
    draft.on(equal(r["k"], s["k"]))
    plan = draft.distinct(r["k"], s["ts"]).logical_plan()

    def push_first(state: MemoryState) -> Decided:
        pushed = tuple(np.flatnonzero(state.groups.sizes > 0).tolist()) if state.step == 1 else ()
        adaptation = Spill(0, pushed, 0, "for a test") if pushed else Nothing("no push")
        return Decided((adaptation,), state.history)

    query = InlineQuery(plan, str(tmp_path), strategy=Partitioned(1, groups=4), memory=push_first)
    # The rows of key 1 at times 0 and 1 are in two parts; later rows move the watermarks and compact what is known.
    arriving = [([0], []), ([1], [1]), *(([time], [time]) for time in range(100, 1100, 100))]
    for step, times in enumerate(arriving):
        key = 1 if step < 2 else step
        tables = {
            name: pa.table(
                {"ts": pa.array(own, pa.timestamp("us", "UTC")), "k": pa.array([key] * len(own), pa.int64())}
            )
            for name, own in zip("rs", times, strict=True)
        }
        query.run(step, tables)
    before = emitted(query.published())
    assert drain(query) == 1
    assert emitted(query.published()) == before
    assert before.total() == len(before) == 1 + 10


def test_results_that_must_come_in_order_are_not_deferred(tmp_path: Path) -> None:
    case, clock = replace(make_keyed_case(71_000), ordered=True), ManualClock(0)
    given = {"strategy": Partitioned(2, groups=6), "memory": pushing(0, 1), "ordering": Ordering("filter-order", 0.3)}
    query = start(case, tmp_path, random.Random(0), clock, **given)
    with pytest.raises(StrategyError, match="cannot be deferred: its results are emitted in order"):
        run_all(case, query)


@pytest.mark.parametrize("seed", RESTARTED)
def test_a_restart_cleans_up_first_also_with_another_strategy(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock = ManualClock(case.clock_ms[0])
    grouped = Partitioned(3, groups=8)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        if batch == 0 or chance.random() < 0.4:
            strategy = chance.choice((grouped, grouped, Partitioned(2, groups=8), Biclique(2)))
            query = start(case, tmp_path, chance, clock, strategy=strategy, memory=pushing(seed))
        query.run(batch, case.tables(batch))
    drain(query)
    check(case, results_of(case, query.published()))
