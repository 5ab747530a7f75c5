"""Rounds of several steps in one job give the answer of the oracle, through restarts, in order, distinct and summed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.control import merging
from braid.control.idleness import SourceCheck
from braid.control.ordering import Ordering
from braid.errors import StrategyError
from braid.optimizer.strategies import TimeSliced
from braid.plan.logical import LogicalPlan
from braid.state.files import LocalFiles
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.drafts import DraftStream
from braid.testing.expressions import equal
from tests.budget import seeds
from tests.properties.cases import Case, interleaved, make_case, results_of, some_exchange, strategies
from tests.properties.predicates import COLUMNS
from tests.properties.test_ordered import check, oracle, ordered_case, times_of

PLAIN = seeds(31_000, 18)
RESTARTED = seeds(32_000, 12)
ORDERED = seeds(33_000, 15)
AGGREGATED = seeds(34_000, 12)
# Two streams in one of ten cases, which have one round only.
SHARES = (10, 40, 30, 20)
POLICIES = (Ordering("sync-filter", 0.3), Ordering("filter-order", 0.3), Ordering("adaptive", 0.3))


@pytest.fixture(autouse=True)
def merge_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)


def trail(query: InlineQuery, clock: ManualClock) -> dict[str, Any] | None:
    """A step for the rounds that are left, while the sources may still have rows."""
    return query.steps.tick(SourceCheck(clock(), (True,) * len(query.steps.manifest.marks)))


def finish(query: InlineQuery, clock: ManualClock) -> None:
    """One step finishes all that is under way, and leaves no file of it."""
    trail(query, clock)
    assert query.steps.manifest.terms == ()
    assert trail(query, clock) is None
    manifest = query.steps.manifest
    named = {block.file for block in manifest.blocks} | set(manifest.dropped)
    named |= {payload.file for payload in manifest.payloads}
    named |= {part.file for begun in manifest.unfinished for part in begun.parts}
    if manifest.order_state is None and manifest.aggregate is None:
        assert set(LocalFiles().list(f"{query.checkpoint.path}/blocks")) == named


def start(case: Case, path: Path, chance: random.Random, clock: ManualClock, **given: Any) -> InlineQuery:
    return InlineQuery(
        given.pop("plan", case.logical_plan),
        str(path),
        slots=chance.randint(2, 3),
        ingest_tasks=chance.randint(1, 2),
        clock=clock,
        exchange=some_exchange(case.logical_plan, chance),
        **given,
    )


@pytest.mark.parametrize("seed", PLAIN)
def test_interleaved_rounds_give_the_answer_of_the_oracle(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_case(seed, shares=SHARES)
    strategy, clock = interleaved(case.logical_plan, chance), ManualClock(case.clock_ms[0])
    query = start(case, tmp_path, chance, clock, strategy=strategy)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        progress = query.run(batch, case.tables(batch))
        terms = query.steps.manifest.terms
        assert len(terms) < strategy.interleave, "with the next step at most so many are under way"
        assert progress is not None
        assert progress["inFlight"] == sum(term.rounds_left for term in terms)
        assert not results_of(case, query.published()) - case.expected
        if chance.random() < 0.1:
            finish(query, clock)
    finish(query, clock)
    assert results_of(case, query.published()) == case.expected, case.describe()


@pytest.mark.parametrize("seed", RESTARTED)
def test_a_restart_may_change_how_many_steps_are_under_way_and_the_strategy(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_case(seed, shares=SHARES).restarted()
    clock = ManualClock(case.clock_ms[0])
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        others = strategies(case.logical_plan, chance)
        # Mostly the same units, so that unfinished terms are continued and not only finished.
        same = TimeSliced(3, 4, interleave=chance.randint(1, 4))
        strategy = chance.choice((same, same, same, interleaved(case.logical_plan, chance), chance.choice(others)))
        query = start(case, tmp_path, chance, clock, strategy=strategy)
        query.run(batch, case.tables(batch))
        if not isinstance(strategy, TimeSliced) or strategy.interleave == 1:
            assert query.steps.manifest.terms == ()
    finish(query, clock)
    assert results_of(case, query.published()) == case.expected, case.describe()


@pytest.mark.parametrize("seed", ORDERED)
def test_ordered_results_wait_for_the_rounds_that_are_left(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), ordered_case(seed, small=True, shares=SHARES)
    strategy, ordering = interleaved(case.logical_plan, chance), chance.choice(POLICIES)
    clock, releases = ManualClock(case.clock_ms[0]), oracle(case)
    query = start(case, tmp_path, chance, clock, strategy=strategy, ordering=ordering)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        releases.batch(case.batches[batch], now)
        query.run(batch, case.tables(batch))
        assert not results_of(case, query.published()) - releases.left
        times = times_of(query)
        assert times == sorted(times)
        if chance.random() < 0.3:
            finish(query, clock)
            check(case, query, releases, strategy)
    finish(query, clock)
    check(case, query, releases, strategy)
    if chance.random() < 0.5:
        releases.flush()
        query.steps.flush()
        check(case, query, releases, strategy)


Asked = Callable[[Draft, list[DraftStream]], Draft]


def distinct(draft: Draft, streams: list[DraftStream]) -> Draft:
    return draft.distinct(streams[0]["k"], streams[1]["k"], streams[-1]["ts"])


def summed(over_us: int | None) -> Asked:
    def asked(draft: Draft, streams: list[DraftStream]) -> Draft:
        calls = (("count", ()), ("sum", (streams[-1]["id"],)), ("count_distinct", (streams[0]["id"],)))
        return draft.aggregate([streams[0]["k"]], *calls, over_us=over_us)

    return asked


def logical(case: Case, asked: Asked, ordered: bool) -> LogicalPlan:
    """The streams and predicates of a case, with another selection."""
    draft = Draft()
    made = {
        s.name: draft.stream(s.name, COLUMNS, window_us=s.window_us, lateness_us=s.lateness_us) for s in case.streams
    }
    for predicate in case.predicates:
        draft.on(predicate.make(made))
    draft = asked(draft, list(made.values()))
    return (draft.ordered() if ordered else draft).logical_plan()


def last_values(table: pa.Table) -> dict[Any, tuple[Any, ...]]:
    """The newest row of each group that has results."""
    found = {next(iter(row.values())): tuple(row.values())[1:] for row in table.to_pylist()}
    return {group: values for group, values in found.items() if values[0]}


def emitted(table: pa.Table) -> Counter[str]:
    return Counter(map(str, table.to_pylist()))


@pytest.mark.parametrize("ordered", [False, True], ids=["unordered", "ordered"])
@pytest.mark.parametrize("kind", ["distinct", "totals", "sliding"])
@pytest.mark.parametrize("seed", AGGREGATED)
def test_aggregates_and_distinct_rows_are_those_of_steps_that_finish(
    seed: int, kind: str, ordered: bool, tmp_path: Path
) -> None:
    case = ordered_case(seed, small=True, shares=SHARES[:3]) if ordered else make_case(seed, small=True, shares=SHARES)
    asked = {"distinct": distinct, "totals": summed(None), "sliding": summed(10)}[kind]
    plan, ordering = logical(case, asked, ordered), Ordering("adaptive", 0.3) if ordered else None

    def run(name: str, strategy: TimeSliced) -> pa.Table:
        chance, clock = random.Random(seed), ManualClock(case.clock_ms[0])
        query = start(case, tmp_path / name, chance, clock, plan=plan, strategy=strategy, ordering=ordering)
        for batch, now in enumerate(case.clock_ms):
            clock.now_ms = now
            query.run(batch, case.tables(batch))
        finish(query, clock)
        return query.published()

    whole, parted = run("whole", TimeSliced(3, 4)), run("parted", TimeSliced(3, 4, interleave=2 + seed % 3))
    if ordered or kind == "distinct":
        assert emitted(parted) == emitted(whole), case.describe()
    else:
        assert last_values(parted) == last_values(whole), case.describe()


def chain(streams: int, window_us: int = 1000) -> tuple[Draft, list[DraftStream]]:
    draft = Draft()
    made = [draft.stream(f"s{n}", {"k": "bigint"}, window_us=window_us) for n in range(streams)]
    for left, right in pairwise(made):
        draft.on(equal(left["k"], right["k"]))
    return draft, made


def rows_at(time: int, streams: int, keys: tuple[int, ...] = (1,)) -> dict[str, pa.Table]:
    times = pa.array([time] * len(keys), pa.timestamp("us", "UTC"))
    return {f"s{n}": pa.table({"ts": times, "k": pa.array(keys, pa.int64())}) for n in range(streams)}


def test_results_come_with_the_step_that_runs_the_last_round(tmp_path: Path) -> None:
    """Four streams have three rounds; three steps under way means a job a step."""
    draft, _ = chain(4)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=TimeSliced(2, interleave=3), slots=2)
    found = []
    for step in range(5):
        # Each step has a key of its own, so that its results are its own.
        progress = query.run(step, rows_at(step, 4, (step,)))
        assert progress is not None
        found.append((progress["numOutputRows"], progress["inFlight"]))
    assert found == [(0, 2), (0, 3), (1, 3), (1, 3), (1, 3)]
    last = query.steps.tick()
    assert last is not None
    assert (last["numOutputRows"], last["inFlight"], last["sparkBatchId"]) == (2, 0, None)
    assert query.steps.tick() is None


def test_a_term_without_rows_under_way_is_finished(tmp_path: Path) -> None:
    draft, _ = chain(4)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=TimeSliced(2, interleave=3), slots=2)
    progress = query.run(0, {"s0": rows_at(0, 1)["s0"]})
    assert progress is not None
    assert progress["inFlight"] == 0


def test_one_job_has_the_rounds_of_all_steps_under_way(tmp_path: Path) -> None:
    draft, _ = chain(5)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=TimeSliced(2, interleave=4), slots=2)
    tasks = []
    for step in range(8):
        before = query.cluster.tasks
        query.run(step, rows_at(step, 5))
        tasks.append(query.cluster.tasks - before - 5)
    assert tasks == [2] * 8, "a probe task for each slot, besides an ingest task for each stream"


def test_what_would_expire_is_kept_for_the_oldest_term(tmp_path: Path) -> None:
    """The rows of the next steps are so much newer that the rows of the first would be dropped at once."""
    draft, _ = chain(4, window_us=10)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=TimeSliced(2, interleave=3), slots=2)
    for step in range(4):
        query.run(step, rows_at(1_000_000 * step, 4))
    query.steps.tick()
    assert query.published().num_rows == 4
    assert sorted(query.published().column("result_time").cast(pa.int64()).to_pylist()) == [
        1_000_000 * step for step in range(4)
    ]


def test_a_flush_finishes_what_is_under_way(tmp_path: Path) -> None:
    draft, _ = chain(4)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=TimeSliced(2, interleave=3), slots=2)
    query.run(0, rows_at(0, 4))
    assert query.published().num_rows == 0
    query.steps.flush()
    assert query.published().num_rows == 1


def test_one_slot_has_nothing_to_interleave(tmp_path: Path) -> None:
    draft, _ = chain(4)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=TimeSliced(2, interleave=3), slots=1)
    progress = query.run(0, rows_at(0, 4))
    assert progress is not None
    assert (progress["numOutputRows"], progress["inFlight"]) == (1, 0)


def test_row_based_windows_cannot_be_interleaved(tmp_path: Path) -> None:
    draft = Draft()
    for name in ("a", "b", "c"):
        draft.stream(name, {}, window_us=None, window_rows=2)
    with pytest.raises(StrategyError, match=r"interleave=2\) cannot run rounds.*window of a counts rows"):
        InlineQuery(draft.ordered().logical_plan(), str(tmp_path), strategy=TimeSliced(2, interleave=2))


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "2"])
def test_interleave_is_a_whole_number_of_at_least_one(given: Any) -> None:
    with pytest.raises(StrategyError, match=r"interleave.*at least 1"):
        TimeSliced(interleave=given)


def test_a_strategy_says_that_it_interleaves() -> None:
    assert TimeSliced(2, interleave=3).describe() == "TimeSliced(units=2, interleave=3)"
    assert "interleave" not in TimeSliced(2).describe()
