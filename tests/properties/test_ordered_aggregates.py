"""Ordered aggregations and distinct selections: the whole sequence of changes, against results counted one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.control import aggregate_state, ordering, releasing
from braid.control.ordering import Ordering
from braid.engine.tasks.aggregate import partials
from braid.engine.tasks.ordered import buffering, release
from braid.optimizer.strategies import AlignedRouting, Biclique, CoordinatedRouting, Matrix, Partitioned, Strategy
from braid.plan.join import RESULT_TIME
from braid.plan.logical import LogicalPlan
from braid.state.files import LocalFiles
from braid.testing import Condition, Draft, FailingFiles, InjectedCrash, InlineQuery, ManualClock, OracleStream
from braid.testing.expressions import equal
from tests.budget import seeds
from tests.oracle.changes import Changes
from tests.oracle.ordering import Releases
from tests.properties.aggregates import (
    COLUMNS,
    LATENESS_US,
    WINDOW_US,
    Asked,
    Row,
    draft,
    plain,
    random_aggregation,
    some_rows,
    values_of,
)

PLAIN = seeds(14_000, 14)
CUT = seeds(15_000, 10)
CRASHED = seeds(16_000, 10)
POLICIES = (Ordering("sync-filter", 0.3), Ordering("filter-order", 0.3), Ordering("adaptive", 0.3))
NAMES = [f"{stream}_{column}" for stream in "rs" for column in ("ts", *COLUMNS)]
PLACES = {name: place for place, name in enumerate([*NAMES, RESULT_TIME])}
Rows = list[dict[str, Any]]
IDLE_MS = 50


@pytest.fixture(autouse=True)
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pieces, few files, so that small cases pass every way."""
    for module, name, value in (
        (partials, "MAX_BUFFERED_ROWS", 5),
        (aggregate_state, "MIN_PARTS", 3),
        (buffering, "ROWS_PER_SEGMENT", 3),
        (release, "ROWS_AT_ONCE", 4),
        (release, "SAMPLED", 2),
        (releasing, "MIN_ROWS_PER_SLOT", 2),
        (releasing, "MAX_FILES", 2),
    ):
        monkeypatch.setattr(module, name, value)


def random_rows(chance: random.Random, count: int, oldest: int) -> Rows:
    table = some_rows(chance, count, oldest)
    return table.set_column(0, "ts", table["ts"].cast(pa.int64())).to_pylist()


def table_of(rows: Rows) -> pa.Table:
    types = {"ts": pa.timestamp("us", "UTC"), "k": pa.int64(), "f": pa.float64(), "t": pa.string()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


def tables_of(batch: dict[str, Rows]) -> dict[str, pa.Table]:
    return {name: table_of(rows) for name, rows in batch.items()}


def random_batches(chance: random.Random) -> list[dict[str, Rows]]:
    """Some streams are behind, silent, or end."""
    batches, oldest = [], {"r": 0, "s": 0}
    for _ in range(chance.randint(3, 7)):
        batches.append({name: random_rows(chance, chance.choice((0, 3, 8, 12)), oldest[name]) for name in "rs"})
        oldest = {name: time + chance.choice((0, 7, 25)) for name, time in oldest.items()}
    return batches


def changes_of(asked: Asked) -> Changes:
    values = None if asked.calls is None else lambda rows: values_of(asked, PLACES, rows)
    return Changes([PLACES[name] for name in asked.groups], values, asked.over_us)


def releases_of(asked: Asked, lateness_us: int, idle_after_ms: int | None, window_rows: int | None) -> Releases:
    streams = [
        OracleStream("r", WINDOW_US if window_rows is None else None, lateness_us, window_rows=window_rows),
        OracleStream("s", WINDOW_US, lateness_us, idle_after_ms),
    ]
    same_key = Condition(("r", "s"), lambda r, s: r["k"] == s["k"])
    return Releases(streams, [same_key], 0, passed=asked.calls is not None)


class Expected:
    """What an aggregation has emitted, by two oracles: which results it has read, and what they changed."""

    def __init__(
        self,
        asked: Asked,
        lateness_us: int = LATENESS_US,
        idle_after_ms: int | None = None,
        window_rows: int | None = None,
    ) -> None:
        self._releases = releases_of(asked, lateness_us, idle_after_ms, window_rows)
        self._changes = changes_of(asked)
        self._distinct = asked.calls is None
        self._seen: Counter[Row] = Counter()

    def batch(self, rows: dict[str, Rows], now_ms: int) -> None:
        self._releases.batch(rows, now_ms)
        self._take()

    def flush(self) -> None:
        self._releases.flush()
        self._take()

    def check(self, table: pa.Table, how: object) -> None:
        """The published rows are those, in the order of their times; among equal times any order will do."""
        rows = published(table)
        if self._distinct:
            times = dict(self._changes.left)
            found = [(row, times.get(row, -1)) for row in rows]
        else:
            found = [(row[:-1], row[-1]) for row in rows]
        wanted = Counter(self._changes.left)
        assert Counter(found) == wanted, f"{how}\nextra {Counter(found) - wanted}\nmissing {wanted - Counter(found)}"
        assert [time for _, time in found] == sorted(time for _, time in found), how

    def _take(self) -> None:
        left = Counter({tuple(map(plain, row)): count for row, count in self._releases.left.items()})
        self._changes.release(left - self._seen)
        self._seen = left


def published(table: pa.Table) -> list[Row]:
    columns = [
        (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for column in table.columns
    ]
    return [tuple(plain(value) for value in row) for row in zip(*columns, strict=True)]


def some_strategy(chance: random.Random) -> Strategy:
    with_copies = (Matrix(2, 2), AlignedRouting("10 us", 3), CoordinatedRouting(2))
    return chance.choice((Partitioned(3), Biclique((2, 3), (2, 3)), *with_copies))


@pytest.mark.parametrize("seed", PLAIN)
def test_every_step_emits_what_changed_in_order(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(ordering, "lookup_delay", lambda pace: chance.choice((0.0, 1.0)))
    asked, batches, idle = random_aggregation(chance), random_batches(chance), chance.choice((None, IDLE_MS))
    counted = chance.choice((None, None, None, 4))
    logical_plan = draft(asked, True, idle_after_ms=idle, window_rows=counted).ordered().logical_plan()
    expected = Expected(asked, idle_after_ms=idle, window_rows=counted)
    clock, policy = ManualClock(0), chance.choice(POLICIES)
    slots, strategy = chance.randint(1, 3), some_strategy(chance)
    query = InlineQuery(logical_plan, str(tmp_path), strategy=strategy, slots=slots, clock=clock, ordering=policy)
    for number, batch in enumerate(batches):
        clock.advance(chance.choice((0, 30, 60)))
        query.run(number, tables_of(batch))
        expected.batch(batch, clock.now_ms)
        expected.check(query.published(), (asked, policy, number))
        if chance.random() < 0.15:
            query.steps.flush()
            expected.flush()
            expected.check(query.published(), (asked, policy, number, "flush"))
    query.steps.flush()
    expected.flush()
    expected.check(query.published(), (asked, policy, "end"))


def cut(chance: random.Random, rows: dict[str, Rows], pieces: int) -> list[dict[str, Rows]]:
    """Each stream's rows in several batches, cut anywhere: between rows of one time too."""
    batches: list[dict[str, Rows]] = [{} for _ in range(pieces)]
    for name, all_rows in rows.items():
        edges = sorted(chance.randint(0, len(all_rows)) for _ in range(pieces - 1))
        for batch, first, last in zip(batches, [0, *edges], [*edges, len(all_rows)], strict=True):
            batch[name] = all_rows[first:last]
    return batches


@pytest.mark.parametrize("seed", CUT)
def test_the_sequence_does_not_depend_on_how_rows_are_cut(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    asked = random_aggregation(chance)
    rows = {name: sorted(random_rows(chance, 30, 0) + random_rows(chance, 15, 40), key=_time) for name in "rs"}
    logical_plan = draft(asked, True, lateness_us=0).ordered().logical_plan()
    expected = Expected(asked, lateness_us=0)
    expected.batch(rows, 0)
    expected.flush()
    for policy in POLICIES:
        query = InlineQuery(
            logical_plan,
            str(tmp_path / policy.policy),
            strategy=some_strategy(chance),
            slots=chance.randint(1, 3),
            ordering=policy,
        )
        for number, batch in enumerate(cut(chance, rows, chance.choice((1, 3, 6)))):
            query.run(number, tables_of(batch))
        query.steps.flush()
        expected.check(query.published(), (asked, policy))


def _time(row: dict[str, Any]) -> int:
    time: int = row["ts"]
    return time


@pytest.mark.parametrize("seed", CRASHED)
def test_crashes_restarts_and_switches_change_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    asked, batches = random_aggregation(chance), random_batches(chance)
    logical_plan, expected = draft(asked, True).ordered().logical_plan(), Expected(asked)

    def survive(action: Callable[[InlineQuery], object]) -> InlineQuery:
        for crash_at in (chance.randint(1, 12), chance.randint(1, 30), None):
            files = LocalFiles() if crash_at is None else FailingFiles(LocalFiles(), crash_at)
            try:
                query = InlineQuery(
                    logical_plan,
                    str(tmp_path),
                    strategy=some_strategy(chance),
                    slots=chance.randint(1, 3),
                    files=files,
                    ordering=chance.choice(POLICIES),
                )
                action(query)
            except InjectedCrash:
                continue
            return query
        raise AssertionError("the last run cannot crash")

    for number, batch in enumerate(batches):
        query = survive(partial(InlineQuery.run, batch=number, tables=tables_of(batch)))
        expected.batch(batch, 0)
        expected.check(query.published(), (asked, number))
    query = survive(lambda query: query.steps.flush())
    expected.flush()
    expected.check(query.published(), (asked, "flush"))
    assert blocks_left(survive(lambda query: None)) == 0


def blocks_left(query: InlineQuery) -> int:
    """How many files lie among the blocks that the manifest does not name."""
    manifest = query.steps.manifest
    named = {block.file for block in manifest.blocks} | set(manifest.dropped)
    named |= {payload.file for payload in manifest.payloads}
    named |= set() if manifest.aggregate is None else {block.file for block in manifest.aggregate.blocks}
    named |= set() if manifest.order_state is None else {block.file for block in manifest.order_state.results}
    return len(set(LocalFiles().list(f"{query.checkpoint.path}/blocks")) - named)


MINUTE = 60_000_000
OVER = 10 * MINUTE


def distinct_items() -> LogicalPlan:
    """SELECT COUNT(DISTINCT S.item) over 10 minutes of S join T on item, both windows 10 minutes."""
    written = Draft()
    s = written.stream("s", {"item": "string"}, window_us=OVER)
    t = written.stream("t", {"item": "string"}, window_us=OVER)
    written.on(equal(s["item"], t["item"]))
    return written.aggregate([], ("count_distinct", (s["item"],)), over_us=OVER).ordered().logical_plan()


def item_rows(chance: random.Random, count: int) -> list[dict[str, Any]]:
    times = sorted(chance.randint(0, 80) * MINUTE // 2 for _ in range(count))
    return [{"ts": time, "item": chance.choice(("apple", "pear", "plum", "fig", "kiwi"))} for time in times]


def item_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    times = pa.array([row["ts"] for row in rows], pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "item": pa.array([row["item"] for row in rows], pa.string())})


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.policy)
def test_the_count_of_different_items_of_the_last_ten_minutes(policy: Ordering, tmp_path: Path) -> None:
    chance = random.Random(7)
    rows = {name: item_rows(chance, 60) for name in "st"}
    streams = [OracleStream(name, OVER) for name in "st"]
    releases = Releases(streams, [Condition(("s", "t"), lambda s, t: s["item"] == t["item"])], 0)
    releases.batch(rows, 0)
    releases.flush()
    expected = Changes([], lambda live: (len({row[1] for row in live}),), OVER)
    expected.release(releases.left)
    query = InlineQuery(distinct_items(), str(tmp_path), ordering=policy)
    for number, batch in enumerate(cut(chance, rows, 9)):
        query.run(number, {name: item_table(part) for name, part in batch.items()})
    query.steps.flush()
    assert published(query.published()) == [(*row, time) for row, time in expected.left]
    assert {row[0] for row, _ in expected.left} >= {1, 2, 3}


@pytest.mark.parametrize("pieces", [1, 4])
def test_an_item_that_comes_again_at_the_last_moment_counts_once(pieces: int, tmp_path: Path) -> None:
    """At ten minutes it is still there; after another half it is not, and something else must come to tell so."""
    moments = (("fig", 0), ("fig", 20), ("fig", 40), ("kiwi", 41), ("kiwi", 61), ("kiwi", 82))
    rows = [{"ts": half * MINUTE // 2, "item": item} for item, half in moments]
    query = InlineQuery(distinct_items(), str(tmp_path), ordering=POLICIES[1])
    for number, batch in enumerate(cut(random.Random(pieces), {"s": rows, "t": rows}, pieces)):
        query.run(number, {name: item_table(part) for name, part in batch.items()})
    query.steps.flush()
    wanted = [(1, 0), (2, 41), (1, 61)]
    assert published(query.published()) == [(count, half * MINUTE // 2) for count, half in wanted]


def test_a_silent_stream_lets_changes_go_by_the_clock(tmp_path: Path) -> None:
    clock = ManualClock(0)
    asked = Asked((), (("count", ()),), None, "batched")
    logical_plan = draft(asked, True, lateness_us=0, idle_after_ms=IDLE_MS).ordered().logical_plan()
    query = InlineQuery(logical_plan, str(tmp_path), clock=clock, ordering=POLICIES[1])
    row = {"k": 1, "f": 0.0, "t": "a"}
    progress = query.run(0, tables_of({"r": [{"ts": 10, **row}, {"ts": 20, **row}], "s": [{"ts": 5, **row}]}))
    assert progress is not None
    assert (progress["numOutputRows"], progress["held"]["results"], progress["summary"]["results"]) == (0, 2, 2)
    clock.advance(IDLE_MS)
    progress = query.steps.tick()
    assert progress is not None
    assert published(query.published()) == [(1, 10)]
    assert (progress["numOutputRows"], progress["held"]["results"]) == (1, 1)


def test_distinct_rows_with_a_time_are_forgotten(tmp_path: Path) -> None:
    """Selected with an event time they cannot come again once the window has passed; without, they can."""
    for columns, remembered in ((("r_k", "r_ts"), 20), (("r_k",), 4)):
        asked = Asked(columns, None, None, "batched")
        logical_plan = draft(asked, True, lateness_us=0).ordered().logical_plan()
        query = InlineQuery(logical_plan, str(tmp_path / str(remembered)), ordering=POLICIES[0])
        expected = Expected(asked, lateness_us=0)
        for number in range(30):
            rows = [{"ts": 40 * number + n, "k": n % 4, "f": 0.0, "t": "a"} for n in range(4)]
            query.run(number, tables_of({"r": rows, "s": rows}))
            expected.batch({"r": rows, "s": rows}, 0)
        expected.check(query.published(), columns)
        view = query.steps.manifest.aggregate
        assert view is not None
        assert sum(block.rows for block in view.blocks) <= remembered
