"""Joins of three and more streams as trees: intermediate results are stored, and nothing of the answer changes."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from braid.control import merging
from braid.control.elasticity import Elasticity
from braid.control.ordering import Ordering
from braid.errors import PredicateError, StrategyError
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Biclique, Strategy
from braid.plan.logical import LogicalPlan
from braid.state.manifest import Block
from braid.testing import Draft, DraftStream, InlineQuery, ManualClock
from braid.testing.expressions import equal
from tests.budget import seeds
from tests.properties.cases import make_case, strategies, trees
from tests.properties.running import explain, run, run_restarted
from tests.properties.test_inline_oracle import CRAMPING
from tests.properties.test_ordered import POLICIES, check, oracle, ordered_case

PLAIN = seeds(11_000, 15)
CRAMPED = seeds(12_000, 12)
ORDERED = seeds(15_000, 12)
MANY = (0, 60, 40)
CHANGED = seeds(13_000, 12)


@pytest.mark.parametrize("seed", PLAIN)
def test_a_tree_gives_the_oracles_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed, shares=MANY), random.Random(seed)
    strategy = chance.choice(trees(case.logical_plan, chance))
    got = run(case, tmp_path, strategy, slots=chance.randint(1, 3), ingest_tasks=chance.randint(1, 2))
    assert got == case.expected, explain(case, got, strategy)


@pytest.mark.parametrize("seed", CRAMPED)
def test_limits_on_memory_and_merges_change_no_rows(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, limit in CRAMPING:
        monkeypatch.setattr(module, name, limit)
    case, chance = make_case(seed, shares=MANY), random.Random(seed)
    strategy = chance.choice(trees(case.logical_plan, chance))
    got = run(case, tmp_path, strategy, slots=chance.randint(1, 3))
    assert got == case.expected, explain(case, got, strategy)


@pytest.mark.parametrize("seed", CHANGED)
def test_restarts_in_another_shape_give_the_same_rows(seed: int, tmp_path: Path) -> None:
    """From a tree to sequences what is stored between is dropped; back to a tree it is made from the streams' rows."""
    case, chance = make_case(seed, shares=MANY).restarted(), random.Random(seed)
    choices: list[Strategy] = [*trees(case.logical_plan, chance), *strategies(case.logical_plan, chance)]
    got = run_restarted(case, tmp_path, chance, lambda: chance.choice(choices))
    assert got == case.expected, explain(case, got, choices)


@pytest.mark.parametrize("seed", ORDERED)
def test_rows_and_results_that_wait_for_their_order_change_no_rows(seed: int, tmp_path: Path) -> None:
    """Every batch under another shape and policy: rows that were not looked up yet are in no stored combination."""
    case, chance = ordered_case(seed, shares=MANY), random.Random(seed)
    releases, clock = oracle(case), ManualClock(case.clock_ms[0])
    choices: list[Strategy] = [*trees(case.logical_plan, chance), Biclique(2)]
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        strategy, policy = chance.choice(choices), chance.choice(POLICIES)
        query = InlineQuery(case.logical_plan, str(tmp_path), strategy=strategy, clock=clock, ordering=policy)
        query.run(batch, case.tables(batch))
        releases.restart(now)
        releases.batch(case.batches[batch], now)
        check(case, query, releases, (strategy, policy, batch))
    query.steps.flush()
    releases.flush()
    check(case, query, releases, "flush")


def test_a_tree_is_made_of_rows_that_were_looked_up_before(tmp_path: Path) -> None:
    """a's row at 20 waits while the others are at 5: it is in no pair when the tree is made, and starts afterwards."""
    draft, _ = star({"k": "bigint"}, (100, 100, 100))
    logical_plan, policy = draft.ordered().logical_plan(), Ordering("sync-filter", 0.3)
    first = InlineQuery(logical_plan, str(tmp_path), strategy=Biclique(1), ordering=policy)
    first.run(0, {"a": rows((1, 3), (1, 20)), "b": rows((1, 3), (1, 5)), "c": rows((9, 10))})
    assert any(block.buffered for block in first.steps.manifest.blocks)
    second = InlineQuery(logical_plan, str(tmp_path), strategy=Biclique(1, shape="tree"), ordering=policy)
    second.run(1, {"a": rows((2, 40)), "b": rows((2, 40)), "c": rows((1, 12), (2, 40))})
    found = [(row["a_ts"].microsecond, row["b_ts"].microsecond) for row in second.published().to_pylist()]
    assert sorted(found) == [(3, 3), (3, 5), (20, 3), (20, 5), (40, 40)]


def test_windows_that_count_rows_are_refused() -> None:
    draft = Draft()
    for name, count in (("a", 5), ("b", None), ("c", None)):
        draft.stream(name, {}, window_us=None if count else 10, window_rows=count)
    with pytest.raises(StrategyError, match="the windows of a count rows"):
        Biclique(shape="tree").layout(build_plan(draft.logical_plan()), 2)


def star(columns: dict[str, str], windows_us: tuple[int | None, ...] = (10, 10, 10)) -> tuple[Draft, list[DraftStream]]:
    """Three streams a, b, c on one key; c is outermost in the tree, so pairs of a and b are stored."""
    draft = Draft()
    streams = [draft.stream(name, columns, window_us=us) for name, us in zip("abc", windows_us, strict=True)]
    draft.on(equal(streams[0]["k"], streams[1]["k"])).on(equal(streams[1]["k"], streams[2]["k"]))
    return draft, streams


def rows(*keys_and_times: tuple[int, int]) -> pa.Table:
    keys, times = zip(*keys_and_times, strict=True)
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": pa.array(keys, pa.int64())})


def intermediate_blocks(query: InlineQuery) -> list[Block]:
    return [block for block in query.steps.manifest.blocks if block.stream >= 3]


def test_a_pair_is_stored_once_looked_up_until_its_last_moment_and_then_dropped(tmp_path: Path) -> None:
    """a's window ends at 110: a row of c at 110 joins, one at 111 does not, and then the pair is gone."""
    draft, _ = star({"k": "bigint"}, (10, 20, 50))
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=Biclique(1, shape="tree"), slots=1)
    query.run(0, {"a": rows((1, 100)), "b": rows((1, 105), (2, 105))})
    assert [block.rows for block in intermediate_blocks(query)] == [1]
    query.run(1, {"c": rows((1, 110))})
    assert query.published().num_rows == 1
    query.run(2, {"c": rows((1, 110))})
    assert query.published().num_rows == 2
    query.run(3, {"c": rows((1, 111))})
    assert query.published().num_rows == 2
    assert [block.rows for block in intermediate_blocks(query)] == [1]
    query.run(4, {"c": rows((1, 111))})
    assert intermediate_blocks(query) == []
    assert query.published().num_rows == 2


def test_merging_drops_the_pairs_that_no_row_can_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    draft, _ = star({"k": "bigint"})
    strategy = Biclique(1, shape="tree", archive=timedelta(seconds=1))
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=strategy, slots=1)
    query.run(0, {"a": rows((1, 100), (1, 140)), "b": rows((1, 100), (1, 140))})
    query.run(1, {"a": rows((1, 141)), "b": rows((1, 141)), "c": rows((9, 130))})
    assert [block.rows for block in intermediate_blocks(query)] == [2, 3]
    query.run(2, {"c": rows((9, 130))})
    assert [(block.rows, block.min_time) for block in intermediate_blocks(query)] == [(4, 140)]
    query.run(3, {"c": rows((1, 140))})
    assert query.published().num_rows == 4


@pytest.mark.parametrize("seed", seeds(14_000, 5))
def test_units_that_come_and_go_change_no_rows(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    draft, _ = star({"k": "bigint"}, (30, 30, chance.choice((30, None))))
    elasticity = Elasticity(0.3, 0.8, 0.6, 1, 1, chance.choice((2_000, 4_000)), 1, 6)
    clock = ManualClock(0)
    scaled = InlineQuery(
        draft.logical_plan(),
        str(tmp_path / "scaled"),
        strategy=Biclique(4, 2, shape="tree"),
        clock=clock,
        elasticity=elasticity,
    )
    fixed = InlineQuery(draft.logical_plan(), str(tmp_path / "fixed"), strategy=Biclique(1), slots=1)
    for number in range(12):
        count = 20 if 4 <= number < 8 else 6
        tables = {n: rows(*((chance.randint(0, 9), 10 * number + i // 2) for i in range(count))) for n in "abc"}
        clock.now_ms += 10
        scaled.run(number, tables)
        fixed.run(number, tables)
    assert scaled.steps.manifest.layout.epoch > 1
    assert intermediate_blocks(scaled)
    assert Counter(map(str, scaled.published().to_pylist())) == Counter(map(str, fixed.published().to_pylist()))


@pytest.mark.parametrize("distinct", [False, True])
def test_aggregates_of_a_tree_are_those_of_sequences(distinct: bool, tmp_path: Path) -> None:
    chance, published = random.Random(5), []
    batches = [
        {n: rows(*((chance.randint(0, 3), 5 * number + i) for i in range(6))) for n in "abc"} for number in range(6)
    ]
    for strategy in (Biclique(3), Biclique(3, shape="tree")):
        draft, (a, b, c) = star({"k": "bigint"})
        draft = (
            draft.distinct(a["k"], c["k"])
            if distinct
            else draft.aggregate([b["k"]], ("count", ()), ("max", (c["ts"],)))
        )
        query = InlineQuery(draft.logical_plan(), str(tmp_path / strategy.shape), strategy=strategy)
        for number, tables in enumerate(batches):
            query.run(number, tables)
        published.append(Counter(map(str, query.published().to_pylist())))
    assert published[0] == published[1]
    assert published[0].total() >= 4


def test_a_corrected_function_decides_again_what_is_stored(tmp_path: Path) -> None:
    """Pairs of a and b that a faulty function let through are made anew when it was corrected after a failure."""

    def logical_plan(limit: int, faulty: bool) -> LogicalPlan:
        draft = Draft()
        a, b, c = (draft.stream(name, {"k": "bigint"}, window_us=None) for name in "abc")

        def near(left: pa.Array, right: pa.Array) -> Any:
            if faulty and pc.any(pc.equal(left, 7)).as_py():
                raise ValueError("seven")
            return pc.less_equal(pc.abs(pc.subtract(left, right)), limit)

        draft.on_function(near, a["k"], b["k"]).on_function(lambda x, y: pc.equal(x, y), b["k"], c["k"])
        return draft.logical_plan()

    strategy = Biclique(1, shape="tree")
    query = InlineQuery(logical_plan(5, faulty=True), str(tmp_path), strategy=strategy)
    query.run(0, {"a": rows((1, 0)), "b": rows((1, 0), (4, 0))})
    second = {"a": rows((7, 1)), "c": rows((1, 1), (4, 1))}
    with pytest.raises(PredicateError, match="seven"):
        query.run(1, second)
    query.checkpoint.write_failure(1, "seven")
    corrected = InlineQuery(logical_plan(2, faulty=False), str(tmp_path), strategy=strategy)
    corrected.run(1, second)
    found = [(row["a_k"], row["b_k"], row["c_k"]) for row in corrected.published().to_pylist()]
    assert found == [(1, 1, 1)]
    assert sum(block.rows for block in intermediate_blocks(corrected)) == 1


def test_the_windows_of_all_members_count_for_a_lookup(tmp_path: Path) -> None:
    """A pair of a at 100 and b at 118 lives until 120, but c's own window of 10 reaches b's row only from 108 on."""
    draft, _ = star({"k": "bigint"}, (20, 5, 10))
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=Biclique(1, shape="tree"), slots=1)
    query.run(0, {"a": rows((1, 100)), "b": rows((1, 118))})
    query.run(1, {"c": rows((1, 107), (2, 108))})
    assert query.published().num_rows == 0
    query.run(2, {"c": rows((1, 108), (1, 120))})
    assert [row["result_time"].microsecond for row in query.published().to_pylist()] == [118, 120]


def test_rebuilt_pairs_are_those_of_all_layouts(tmp_path: Path) -> None:
    """Rows lie under the routes of two layouts when a failure makes the pairs be found again."""

    def logical_plan(faulty: bool) -> LogicalPlan:
        draft, (_, _, c) = star({"k": "bigint"}, (1000, 1000, 1000))

        def check(keys: pa.Array) -> Any:
            if faulty and pc.any(pc.equal(keys, 7)).as_py():
                raise ValueError("seven")
            return pc.greater_equal(keys, 0)

        return draft.on_function(check, c["k"]).logical_plan()

    some = rows(*((key, key) for key in range(8)))
    first = InlineQuery(logical_plan(True), str(tmp_path), strategy=Biclique(3, 3, shape="tree"))
    first.run(0, {"b": some})
    strategy = Biclique(4, 2, shape="tree")
    second = InlineQuery(logical_plan(True), str(tmp_path), strategy=strategy)
    second.run(1, {"a": some})
    with pytest.raises(PredicateError, match="seven"):
        second.run(2, {"c": some})
    second.checkpoint.write_failure(2, "seven")
    corrected = InlineQuery(logical_plan(False), str(tmp_path), strategy=strategy)
    corrected.run(2, {"c": some})
    assert sorted(row["b_k"] for row in corrected.published().to_pylist()) == list(range(8))
    assert sum(block.rows for block in intermediate_blocks(corrected)) == 8
