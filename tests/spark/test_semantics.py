"""The contract's semantics through real runs: windows, late rows, restarts, sinks, progress, sessions."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import braid
from braid import errors
from tests.oracle.answer import answers, difference
from tests.oracle.feeds import Feed, Place, at

ROW = "id bigint, ts timestamp, k int"
PROGRESS_KEYS = {
    "batchId", "sparkBatchId", "timestamp", "numInputRows", "inputRows", "numOutputRows", "lateRows", "watermarks",
    "durationMs", "processedRowsPerSecond", "strategy", "units", "stateRows", "stateBytes", "bytesMoved", "held",
    "adaptations",
}  # fmt: skip


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[..., Feed]:
    return lambda name, ddl=ROW: Feed(spark, tmp_path / "input" / name, ddl)


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Session settings that are put back afterwards."""
    before: dict[str, str] = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, str(spark.conf.get(name)))
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)


def pair(left: DataFrame, right: DataFrame, window: Any = "10 seconds", **options: Any) -> braid.Join:
    streams = (braid.stream(name, df, time="ts", window=window, **options) for name, df in (("o", left), ("q", right)))
    return braid.join(*streams).select("o.id AS o", "q.id AS q")


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


# Which rows come out.


def test_the_window_bound_is_inclusive_and_each_stream_has_its_own(
    spark: SparkSession, feed: Callable[..., Feed]
) -> None:
    orders = feed("o").add((1, at(0), 1), (2, at(30), 1))
    quotes = feed("q").add((1, at(10), 1), (2, at(10.000001), 1), (3, at(27), 1), (4, at(26.999999), 1))
    joined = (
        braid.join(
            braid.stream("o", orders.static, time="ts", window="10 seconds"),
            braid.stream("q", quotes.static, time="ts", window=timedelta(seconds=3)),
        )
        .on("o.k = q.k")
        .select("o.id AS o", "q.id AS q", "result_time")
        .batch()
    )
    expected = spark.createDataFrame([(1, 1, at(10)), (2, 3, at(30))], "o bigint, q bigint, result_time timestamp")
    assert joined.columns == ["o", "q", "result_time"]
    assert not difference(*answers([expected, joined]))


def test_a_late_row_is_strictly_older_than_the_watermark(feed: Callable[..., Feed], place: Place) -> None:
    orders = feed("o").add((1, at(100), 1)).add((2, at(95), 1), (3, at(94.999999), 1), (4, None, 1), (5, at(300), 1))
    quotes = feed("q", f"{ROW}, note string, tags array<int>").add((1, at(96), 1, "first", [1]))
    quotes.add((2, at(90), 1, "späť", [7, None]), (3, at(97), None, None, None))
    run = place.run(pair(orders.stream, quotes.stream, "1 hour", lateness="5 seconds").on("o.k = q.k"))

    assert place.rows() == [(1, 1), (2, 1), (5, 1)]
    first, second = run.recentProgress
    assert (first["lateRows"], second["lateRows"]) == ({"o": 0, "q": 0}, {"o": 2, "q": 1})
    assert first["watermarks"] == {"o": None, "q": None}
    assert second["watermarks"] == {"o": "2024-01-01T00:01:35.000Z", "q": "2024-01-01T00:01:31.000Z"}

    late = run.late_rows()
    assert late.columns == ["stream", "batch", "watermark", "row", "reason"]
    found = {
        (row["stream"], json.loads(row["row"])["id"]): row
        for row in late.selectExpr("stream", "batch", "unix_micros(watermark) AS mark", "row").collect()
    }
    assert set(found) == {("o", 3), ("o", 4), ("q", 2)}
    assert {row["batch"] for row in found.values()} == {1}
    assert found["o", 3]["mark"] == int(at(95).timestamp()) * 1_000_000
    whole = json.loads(found["q", 2]["row"])
    assert (whole["k"], whole["note"], whole["tags"]) == (1, "späť", [7, None])
    assert set(whole) == {"id", "ts", "k", "note", "tags"}
    assert json.loads(found["o", 4]["row"])["ts"] is None

    time.sleep(0.05)
    forgetful = place.run(
        pair(orders.stream, quotes.stream, "1 hour", lateness="5 seconds").on("o.k = q.k"), retention="1 ms"
    )
    assert forgetful.late_rows().count() == 0
    assert place.rows() == [(1, 1), (2, 1), (5, 1)]


@pytest.mark.parametrize(
    ("window", "lateness", "joined"),
    [(braid.unbounded, None, True), ("1 hour", None, False), ("1 hour", braid.unbounded, True)],
)
def test_lateness_defaults_to_no_limit_only_where_nothing_expires(
    feed: Callable[..., Feed], place: Place, window: Any, lateness: Any, joined: bool
) -> None:
    orders = feed("o").add((1, at(100), 1)).add((2, at(99), 1))
    quotes = feed("q").add((1, at(100), 1))
    run = place.run(pair(orders.stream, quotes.stream, window, lateness=lateness).on("o.k = q.k"))
    assert place.rows() == ([(1, 1), (2, 1)] if joined else [(1, 1)])
    assert sum(record["lateRows"]["o"] for record in run.recentProgress) == (0 if joined else 1)


def test_a_pushed_selection_does_not_change_what_is_late(feed: Callable[..., Feed], place: Place) -> None:
    orders = feed("o").add((1, at(10), 1), (2, at(500), -1)).add((3, at(20), 1), (4, at(500), 1))
    quotes = feed("q").add((1, at(10), 1))
    run = place.run(pair(orders.stream, quotes.stream, "1 hour").on("o.k > 0 AND o.k = q.k"))
    assert place.rows() == [(1, 1), (4, 1)]
    assert [record["lateRows"]["o"] for record in run.recentProgress] == [0, 1]


def test_state_expires_when_no_partner_can_come(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    for number in range(4):
        orders.add((number, at(100 * number), 1))
        quotes.add((number, at(100 * number), 1))
    run = place.run(pair(orders.stream, quotes.stream, "10 seconds").on("o.k = q.k"))
    assert place.rows() == [(number, number) for number in range(4)]
    assert run.lastProgress is not None
    assert run.lastProgress["stateRows"] <= 4


def test_a_row_of_a_self_join_pairs_with_itself(feed: Callable[..., Feed], place: Place) -> None:
    events = feed("e").add((1, at(0), 1)).add((2, at(1), 1), (3, at(1), 2))
    source = events.stream
    place.run(pair(source, source).on("o.k = q.k"))
    assert place.rows() == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3)]


def test_duplicates_count(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o").add((1, at(0), 1), (1, at(0), 1)), feed("q").add((1, at(0), 1)).add((1, at(0), 1))
    place.run(pair(orders.stream, quotes.stream).on("o.k = q.k"))
    assert place.rows() == [(1, 1)] * 4


def test_hashed_keys_survive_a_round_through_the_jvm(feed: Callable[..., Feed]) -> None:
    """The struct equality is checked in the JVM before q is looked up by the hash of another column."""
    rows = {"o": (1, at(1), "a", {"x": None}), "q": (2, at(0), "a", None), "t": (3, at(2), "b", {"x": None})}
    frames = {n: feed(n, "id bigint, ts timestamp, s string, p struct<x:int>").add(rows[n]).static for n in rows}
    query = braid.join(*(braid.stream(n, df, time="ts", window="1 minute") for n, df in frames.items()))
    query = query.on("o.s <=> q.s").on("o.p = t.p").select("o.id AS o", "q.id AS q", "t.id AS t")
    assert rows_of(query.batch()) == [(1, 2, 3)]


SHAPES = {
    "star": "a.k = b.k AND a.k = c.k",
    "chain": "a.k = b.k AND b.id = c.k",
    "cross": None,
    "mixed": "a.k = b.k AND b.k < c.k",
}
STRATEGIES = (
    braid.Partitioned(units=3),
    braid.Biclique(units=2),
    braid.Biclique(units=(1, 2, 3)),
    braid.Biclique(units=4, groups=2),
    braid.Biclique(units=2, shape="tree"),
)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_three_streams_in_every_shape(
    feed: Callable[..., Feed], shape: str, strategy: braid.Partitioned | braid.Biclique
) -> None:
    rows = [(number, at(number % 5), number % 3) for number in range(12)]
    frames = {name: feed(name).add(*rows).static for name in "abc"}
    query = braid.join(*(braid.stream(n, df, time="ts", window="2 seconds") for n, df in frames.items()))
    query = query.select("a.id AS a", "b.id AS b", "c.id AS c").using(strategy)
    text = SHAPES[shape]
    query = query if text is None else query.on(text)
    conditions: dict[str, Callable[..., bool]] = {
        "star": lambda a, b, c: a[2] == b[2] == c[2],
        "chain": lambda a, b, c: a[2] == b[2] and b[0] == c[2],
        "cross": lambda a, b, c: True,
        "mixed": lambda a, b, c: a[2] == b[2] < c[2],
    }
    needs_key = isinstance(strategy, braid.Partitioned) or strategy.groups is not None
    if needs_key and shape != "star":
        with pytest.raises(errors.StrategyError, match="equality"):
            query.batch()
        return
    expected = [
        (a[0], b[0], c[0])
        for a, b, c in itertools.product(rows, repeat=3)
        if conditions[shape](a, b, c) and max(a[1], b[1], c[1]) - min(a[1], b[1], c[1]) <= timedelta(seconds=2)
    ]
    assert rows_of(query.batch()) == sorted(expected)


@pytest.mark.parametrize(
    "strategy",
    [
        braid.Partitioned(units=3),
        braid.Biclique(units=(2, 1, 2, 1)),
        braid.Biclique(units=(2, 1, 2, 1), shape="tree"),
        braid.Auto(),
    ],
    ids=str,
)
def test_four_streams_over_several_batches(feed: Callable[..., Feed], place: Place, strategy: Any) -> None:
    feeds = {name: feed(name) for name in "abcd"}
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in feeds}
    for batch in range(3):
        for position, name in enumerate(feeds):
            new = [(10 * batch + n, at(2 * batch + (n + position) % 2), n % 2) for n in range(3)]
            feeds[name].add(*new)
            rows[name] += new
    query = braid.join(
        *(braid.stream(n, f.stream, time="ts", window="2 seconds", lateness="1 minute") for n, f in feeds.items())
    ).on("a.k = b.k AND b.k = c.k AND c.k = d.k")
    place.run(query.select("a.id AS a", "b.id AS b", "c.id AS c", "d.id AS d").using(strategy))
    expected = [
        tuple(row[0] for row in combination)
        for combination in itertools.product(*rows.values())
        if len({row[2] for row in combination}) == 1
        and max(row[1] for row in combination) - min(row[1] for row in combination) <= timedelta(seconds=2)
    ]
    assert place.rows() == sorted(expected)


def test_a_tree_with_a_conjunct_of_the_jvm_continues_as_sequences_and_as_a_tree_again(
    feed: Callable[..., Feed], place: Place
) -> None:
    """`a.name LIKE ...` decides which pairs of a and b are stored."""
    feeds = {name: feed(name, f"{ROW}, name string") for name in "abc"}
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in feeds}
    shapes: tuple[Literal["tree", "sequences"], ...] = ("tree", "tree", "sequences", "tree")
    for batch, shape in enumerate(shapes):
        for position, name in enumerate(feeds):
            new = [(10 * batch + n, at(batch + n / 4), n % 2, "xy"[: (n + position) % 3]) for n in range(4)]
            feeds[name].add(*new)
            rows[name] += new
        query = braid.join(
            *(braid.stream(n, f.stream, time="ts", window="2 seconds", lateness="1 minute") for n, f in feeds.items())
        ).on("a.k = b.k AND a.name LIKE concat(b.name, '%') AND b.k = c.k")
        query = query.select("a.id AS a", "b.id AS b", "c.id AS c").using(braid.Biclique(units=2, shape=shape))
        run = place.run(query)
        expected = [
            tuple(row[0] for row in (a, b, c))
            for a, b, c in itertools.product(*rows.values())
            if a[2] == b[2] == c[2]
            and a[3].startswith(b[3])
            and max(a[1], b[1], c[1]) - min(a[1], b[1], c[1]) <= timedelta(seconds=2)
        ]
        assert place.rows() == sorted(expected)
        stored = sum(len(kept) for kept in rows.values())
        assert run.lastProgress is not None
        assert (run.lastProgress["stateRows"] > stored) == (shape == "tree")


def test_an_automatic_window_is_what_the_predicate_allows(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o").add((1, at(0), 1)), feed("q").add((1, at(0), 1))
    orders.add((2, at(6), 1)).add((3, at(100), 1))
    quotes.add((2, at(5), 1), (3, at(5.000001), 1)).add((4, at(99), 1), (5, at(98.999999), 1))
    query = pair(orders.stream, quotes.stream, "auto").on(
        "q.ts BETWEEN o.ts - INTERVAL 1 SECOND AND o.ts + INTERVAL 5 SECONDS"
    )
    run = place.run(query)
    assert place.rows() == [(1, 1), (1, 2), (2, 2), (2, 3), (3, 4)]
    assert run.lastProgress is not None
    assert run.lastProgress["stateRows"] < 8


def test_an_automatic_window_without_a_bound_names_the_unbounded_side(feed: Callable[..., Feed]) -> None:
    orders, quotes = feed("o").add((1, at(0), 1)), feed("q").add((1, at(0), 1))
    with pytest.raises(errors.WindowError, match="state of 'o' would be unbounded"):
        pair(orders.static, quotes.static, "auto").on("q.ts >= o.ts").batch()


# Conjuncts that can raise.


def test_a_guard_works_wherever_it_stands(feed: Callable[..., Feed]) -> None:
    orders = feed("o").add((1, at(0), 6), (2, at(0), 1))
    quotes = feed("q").add((1, at(0), 2), (2, at(0), 0), (3, at(0), None))
    query = pair(orders.static, quotes.static)
    assert rows_of(query.on("q.k <> 0 AND o.k / q.k > 2").batch()) == [(1, 1)]
    assert rows_of(query.on("o.k / q.k > 2 AND q.k <> 0").batch()) == [(1, 1)]
    assert rows_of(query.on("o.k > q.k").on("o.k / nullif(q.k, 0) > 2").batch()) == [(1, 1)]


def test_pairs_outside_the_window_never_raise(feed: Callable[..., Feed]) -> None:
    orders, quotes = feed("o").add((1, at(0), 6)), feed("q").add((1, at(10), 2), (2, at(10.000001), 0))
    assert rows_of(pair(orders.static, quotes.static).on("o.k / q.k > 2").batch()) == [(1, 1)]


@pytest.mark.parametrize("order", ["oqt", "qto", "toq"])
def test_a_guard_on_a_third_stream_is_decided_first(feed: Callable[..., Feed], order: str) -> None:
    """`every conjunct that cannot raise is true` before one that can: also when it waits for another stream.

    The last stream of the order brings the newest rows, so it looks the others up, the first of them first.
    """
    rows = {"o": [(1, at(0), 6)], "q": [(1, at(0), 2), (2, at(0), 0)], "t": [(1, at(0), 1), (2, at(0), 5)]}
    frames = {name: feed(name).add(*rows[name]).static for name in order}
    query = braid.join(*(braid.stream(name, df, time="ts", window="1 second") for name, df in frames.items()))
    query = query.select("o.id AS o", "q.id AS q", "t.id AS t")
    assert rows_of(query.on("q.id = t.id AND t.k < 3 AND o.k / q.k > 2").batch()) == [(1, 1, 1)]
    assert rows_of(query.on("t.k + q.k = 3 AND o.k / q.k > 2").batch()) == [(1, 1, 1)]


def test_an_error_that_remains_fails_the_run(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o").add((1, at(0), 6)).add((2, at(1), 8)), feed("q").add((1, at(0), 2)).add((2, at(1), 0))
    query = pair(orders.stream, quotes.stream)
    run = place.start(query.on("o.k / q.k > 2"))
    with pytest.raises(errors.PredicateError, match=r"o, q.*step 1") as caught:
        run.awaitTermination()
    assert "DIVIDE_BY_ZERO" in str(caught.value) or "zero" in str(caught.value).lower()
    assert isinstance(run.exception(), errors.PredicateError)
    assert place.rows() == [(1, 1)]


def broken(*_: Any) -> Any:
    raise ValueError("the model is not loaded")


def short(left: Any, _: Any) -> Any:
    return [True] * (len(left) + 1)


@pytest.mark.parametrize(("function", "message"), [(broken, "the model is not loaded"), (short, "short")])
def test_a_python_predicate_that_fails_says_so(feed: Callable[..., Feed], function: Any, message: str) -> None:
    orders, quotes = feed("o").add((1, at(0), 6)), feed("q").add((1, at(0), 2))
    with pytest.raises(errors.PredicateError, match=message):
        pair(orders.static, quotes.static).on(braid.udf(function, "o.k", "q.k")).batch()


# Running.


@pytest.fixture
def two(feed: Callable[..., Feed]) -> tuple[Feed, Feed]:
    """Two batches a stream: (1, 1) is found in the first, the rest in the second."""
    orders, quotes = feed("o").add((1, at(0), 1)), feed("q").add((1, at(0), 1))
    return orders.add((2, at(1), 1)), quotes.add((2, at(1), 1))


ALL_OF_TWO = [(1, 1), (1, 2), (2, 1), (2, 2)]


def equal_keys(feeds: tuple[Feed, Feed]) -> braid.Join:
    return pair(feeds[0].stream, feeds[1].stream).on("o.k = q.k")


def test_foreach_batch_sees_growing_ids_and_the_same_rows_again(two: tuple[Feed, Feed], tmp_path: Path) -> None:
    seen: list[tuple[int, list[tuple[Any, ...]]]] = []

    def take(frame: DataFrame, batch: int) -> None:
        seen.append((batch, rows_of(frame)))
        if len(seen) == 2:
            raise ConnectionError("the target is away")

    writer = equal_keys(two).writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(errors.BraidError, match="the target is away"):
        writer.trigger(availableNow=True).start().awaitTermination()
    writer.trigger(availableNow=True).start().awaitTermination()
    assert [batch for batch, _ in seen] == [0, 1, 1]
    assert seen[1] == seen[2]
    assert sorted(seen[0][1] + seen[2][1]) == ALL_OF_TWO


def test_every_format_runs(
    spark: SparkSession, two: tuple[Feed, Feed], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, **options: str) -> braid.Run:
        writer = equal_keys(two).writeStream.format(name).options(**options).queryName(f"as_{name}")
        started = writer.trigger(availableNow=True).start()
        started.awaitTermination()
        return started

    assert run("memory").name == "as_memory"
    assert rows_of(spark.table("as_memory")) == ALL_OF_TWO
    run("console")
    printed = capfd.readouterr().out
    assert "Step: 0" in printed
    assert "|  o|  q|" in printed
    assert sum(record["numOutputRows"] for record in run("noop").recentProgress) == 4
    path = str(tmp_path / "json")
    run("json", path=path, checkpointLocation=str(tmp_path / "checkpoint"))
    assert rows_of(spark.read.schema("o bigint, q bigint").json(path)) == ALL_OF_TWO


def test_a_checkpoint_is_required_where_results_last(two: tuple[Feed, Feed], tmp_path: Path) -> None:
    with pytest.raises(errors.SinkError, match="checkpointLocation"):
        equal_keys(two).writeStream.format("parquet").start(str(tmp_path / "out"))
    with pytest.raises(errors.SinkError, match="checkpointLocation"):
        equal_keys(two).writeStream.foreachBatch(lambda *_: None).start()


def test_a_periodic_run_takes_new_rows_until_it_is_stopped_and_continues(two: tuple[Feed, Feed], place: Place) -> None:
    writer = equal_keys(two).writeStream.option("checkpointLocation", str(place.checkpoint))
    writer = writer.trigger(processingTime="100 milliseconds")
    run = writer.start(str(place.output))
    wait_for_results(place, 4)
    assert run.isActive
    assert not run.awaitTermination(0.01)
    run.stop()
    assert not run.isActive
    assert run.exception() is None
    two[0].add((3, at(2), 1))
    again = writer.start(str(place.output))
    wait_for_results(place, 6)
    again.stop()
    assert place.rows() == [*ALL_OF_TWO, (3, 1), (3, 2)]
    assert again.id == run.id
    assert again.runId != run.runId


def wait_for_results(place: Place, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(place.rows()) < count:
        assert time.monotonic() < deadline, f"only {place.rows()} after two minutes"
        time.sleep(0.2)


def test_a_single_trigger_takes_all_there_is(two: tuple[Feed, Feed], place: Place) -> None:
    writer = equal_keys(two).writeStream.option("checkpointLocation", str(place.checkpoint)).trigger(once=True)
    writer.start(str(place.output)).awaitTermination()
    found = place.rows()
    assert found
    assert set(found) <= set(ALL_OF_TWO)


def test_progress_is_plain_data_with_every_key(two: tuple[Feed, Feed], place: Place) -> None:
    run = place.run(equal_keys(two))
    records = json.loads(json.dumps(run.recentProgress))
    assert [(record["batchId"], record["sparkBatchId"]) for record in records] == [(0, 0), (1, 1)]
    for record in records:
        assert set(record) >= PROGRESS_KEYS
        assert set(record["durationMs"]) >= {"ingest", "probe", "sink", "commit", "trigger"}
        assert record["numInputRows"] == 2
        assert record["inputRows"] == {"o": 1, "q": 1}
        assert record["units"]
        assert {"rowsStored", "bytes", "rowsProbed", "pairsCompared", "results", "cpuSeconds"} <= set(
            record["units"][0]
        )
    assert [record["numOutputRows"] for record in records] == [1, 3]
    assert records[-1]["stateRows"] == 4
    assert records[-1]["stateBytes"] > 0
    assert sum(unit["results"] for unit in records[-1]["units"]) == 3


def test_the_output_has_the_selected_columns_and_no_others(
    spark: SparkSession, two: tuple[Feed, Feed], place: Place
) -> None:
    query = equal_keys(two).select("q.k + o.k AS total", "result_time", "named_struct('n', o.id) AS s", "o.ts")
    place.run(query)
    frame = spark.read.parquet(str(place.output))
    assert frame.columns == ["total", "result_time", "s", "ts"]
    assert frame.schema.simpleString() == query.schema.simpleString()
    assert frame.schema.simpleString() == "struct<total:int,result_time:timestamp,s:struct<n:bigint>,ts:timestamp>"
    assert frame.count() == 4


def test_an_empty_result_can_be_read(spark: SparkSession, two: tuple[Feed, Feed], place: Place) -> None:
    query = equal_keys(two).on("o.k > 100")
    place.run(query)
    frame = spark.read.parquet(str(place.output))
    assert frame.columns == ["o", "q"]
    assert frame.count() == 0
    static = pair(two[0].static, two[1].static).on("o.k > 100").batch()
    assert (static.columns, static.count()) == (["o", "q"], 0)


# Restarts.


def test_a_changed_query_is_refused_with_the_difference(
    two: tuple[Feed, Feed], feed: Callable[..., Feed], place: Place
) -> None:
    place.run(equal_keys(two))
    orders, quotes = two[0].stream, two[1].stream
    wider = feed("wide", "id bigint, ts timestamp, k bigint").stream
    renamed = braid.join(
        braid.stream("o", orders, time="ts", window="10 seconds"),
        braid.stream("p", quotes, time="ts", window="10 seconds"),
    )
    changes: dict[str, tuple[braid.Join, str]] = {
        "predicate": (pair(orders, quotes).on("o.k >= q.k"), "o.k >= q.k"),
        "more predicates": (equal_keys(two).on("o.id = 1"), "o.id = 1"),
        "window": (pair(orders, quotes, "11 seconds").on("o.k = q.k"), "window"),
        "window kind": (pair(orders, quotes, braid.unbounded).on("o.k = q.k"), "window"),
        "lateness": (pair(orders, quotes, lateness="1 second").on("o.k = q.k"), "lateness"),
        "column type": (pair(wider, quotes).on("o.k = q.k"), "bigint"),
        "stream": (renamed.on("o.k = p.k").select("o.id AS o", "p.id AS q"), "p"),
        "selection": (equal_keys(two).select("o.id AS o"), "q"),
    }
    for what, (query, word) in changes.items():
        with pytest.raises(errors.RestartError) as caught:
            place.start(query)
        assert word in caught.value.detail, f"{what}: {caught.value.detail}"
    place.run(equal_keys(two))
    assert place.rows() == ALL_OF_TWO


def test_settings_that_change_meaning_are_refused_too(
    two: tuple[Feed, Feed], place: Place, settings: Callable[[str, str], None]
) -> None:
    place.run(equal_keys(two))
    settings("spark.sql.ansi.enabled", "false")
    with pytest.raises(errors.RestartError, match="ANSI"):
        place.start(equal_keys(two))


def test_strategy_and_units_may_change_at_every_restart(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    strategies = (
        braid.Partitioned(units=2),
        braid.Biclique(units=(1, 3)),
        braid.Biclique(units=4, groups=2),
        braid.Matrix(2, 3),
        braid.Matrix(3, 2),
        braid.Partitioned(units=5),
        braid.Auto(),
    )
    for number, strategy in enumerate(strategies):
        orders.add(*((10 * number + n, at(number), n) for n in range(3)))
        quotes.add(*((10 * number + n, at(number), n) for n in range(3)))
        place.run(pair(orders.stream, quotes.stream, "1 minute").on("o.k = q.k").using(strategy))
    ids = range(len(strategies))
    assert place.rows() == sorted((10 * i + n, 10 * j + n) for i in ids for j in ids for n in range(3))


# Static inputs, types and sessions.


def test_static_and_streaming_inputs_do_not_mix(two: tuple[Feed, Feed]) -> None:
    with pytest.raises(errors.StreamError, match="static here: q"):
        pair(two[0].stream, two[1].static)
    with pytest.raises(errors.QueryError, match="static"):
        _ = pair(two[0].static, two[1].static).writeStream
    with pytest.raises(errors.QueryError, match="streaming"):
        equal_keys(two).batch()


def test_a_static_join_leaves_out_only_rows_without_a_time(feed: Callable[..., Feed]) -> None:
    orders = feed("o").add((1, at(100), 1), (2, at(0), 1), (3, None, 1))
    quotes = feed("q").add((1, at(100), 1), (2, at(0), 1))
    assert rows_of(pair(orders.static, quotes.static).on("o.k = q.k").batch()) == [(1, 1), (2, 2)]


def test_event_times_without_a_zone(feed: Callable[..., Feed], place: Place) -> None:
    ddl = "id bigint, ts timestamp_ntz, k int"
    zoneless = [at(second).replace(tzinfo=None) for second in (0, 10, 10.000001, 60, 20)]
    orders = feed("o", ddl).add((1, zoneless[0], 1)).add((2, zoneless[3], 1)).add((3, zoneless[4], 1))
    quotes = feed("q", ddl).add((1, zoneless[1], 1), (2, zoneless[2], 1))
    query = pair(orders.stream, quotes.stream).on("o.k = q.k").select("o.id AS o", "q.id AS q", "result_time")
    run = place.run(query)
    assert place.rows() == [(1, 1, zoneless[1])]
    assert run.late_rows().count() == 1


WIDE = {
    "id": "1L",
    "ts": "TIMESTAMP'2024-01-01 00:00:00.123456Z'",
    "tiny": "-1Y",
    "exact": "12345678901234567890.123456789012345678BD",
    "bin": "X'00FF'",
    "lookup": "map('k', array(1, NULL))",
    "day": "DATE'0001-01-01'",
    "local": "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    "single": "CAST('NaN' AS FLOAT)",
    "nested": "named_struct('a', 1, 'b', named_struct('c', '😀', 'd', array(named_struct('e', -0.0D))))",
    "period": "INTERVAL '1 02:03:04.000005' DAY TO SECOND",
    "flag": "true",
    "nothing": "NULL",
    "short": "CAST('vc' AS VARCHAR(5))",
    "odd `na.me": "'odd'",
}


def test_wide_types_pass_through_the_default_selection(spark: SparkSession) -> None:
    full = spark.sql(f"SELECT {', '.join(f'{sql} AS {quoted(name)}' for name, sql in WIDE.items())}")
    types = {field.name: field.dataType.simpleString() for field in full.schema}
    empty = [f"CAST(NULL AS {types[name]}) AS {quoted(name)}" for name in list(WIDE)[2:]]
    frame = full.unionAll(full.selectExpr("2L AS id", "ts", *empty)).coalesce(1)
    streams = (braid.stream(name, frame, time="ts", window="1 second") for name in ("o", "q"))
    found = braid.join(*streams).on("o.id = q.id").batch()
    expected = frame.selectExpr("struct(*) AS o", "struct(*) AS q", "ts AS result_time")
    assert found.columns == ["o", "q", "result_time"]
    assert found.schema.simpleString() == expected.schema.simpleString()
    assert not difference(*answers([expected, found]))


def test_a_type_that_cannot_be_kept_is_refused_by_name(spark: SparkSession) -> None:
    frame = spark.sql("SELECT TIMESTAMP'2024-01-01 00:00:00Z' AS ts, INTERVAL '1-2' YEAR TO MONTH AS term")
    with pytest.raises(errors.StreamError, match=r"'o' cannot have the column 'term'.*interval year to month"):
        braid.stream("o", frame, time="ts", window="1 second")
    streams = (braid.stream(name, frame.select("ts"), time="ts", window="1 second") for name in ("o", "q"))
    with pytest.raises(errors.QueryError, match=r"'none'.*array<void>"):
        braid.join(*streams).select("array() AS none").batch()


def quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def test_collations_are_spark_s(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT id, TIMESTAMP'2024-01-01 00:00:00Z' AS ts, name COLLATE UTF8_LCASE AS name "
        "FROM VALUES (1L, 'Straße'), (2L, 'STRASSE'), (3L, 'straße') AS t(id, name)"
    )
    assert rows_of(pair(frame, frame).on("o.name = q.name").batch()) == [(1, 1), (1, 3), (2, 2), (3, 1), (3, 3)]


@pytest.mark.parametrize("change", ["2024-03-10", "2024-11-03"])
@pytest.mark.parametrize(
    "predicate",
    [
        "q.ts = o.ts + INTERVAL 1 DAY",
        "q.ts BETWEEN o.ts AND o.ts + INTERVAL 1 DAY",
        "q.ts <= o.ts + INTERVAL 24 HOURS AND q.ts >= o.ts",
        "date_trunc('DAY', o.ts) = date_trunc('DAY', q.ts)",
        "CAST(o.ts AS DATE) = date_sub(CAST(q.ts AS DATE), 1)",
        "q.ts - o.ts <= INTERVAL 1 DAY AND o.ts <= q.ts",
        "hour(o.ts) = hour(q.ts)",
    ],
)
def test_a_zone_with_a_change_of_its_clocks(
    spark: SparkSession, settings: Callable[[str, str], None], change: str, predicate: str
) -> None:
    settings("spark.sql.session.timeZone", "America/New_York")
    start = datetime.fromisoformat(change).replace(tzinfo=UTC)
    times = [(number, start + timedelta(hours=3 * number - 30, seconds=number % 2)) for number in range(24)]
    times += [(100 + number, start + timedelta(minutes=30 * number)) for number in range(16)]
    frame = spark.createDataFrame(times, "id bigint, ts timestamp").coalesce(1)
    found = pair(frame, frame, braid.unbounded).on(predicate).batch()
    frame.createOrReplaceTempView("events")
    expected = spark.sql(f"SELECT o.id AS o, q.id AS q FROM events AS o, events AS q WHERE {predicate}")
    assert not difference(*answers([expected, found]))


def test_an_automatic_window_of_a_day_has_25_hours_where_days_differ(
    spark: SparkSession, feed: Callable[..., Feed], settings: Callable[[str, str], None]
) -> None:
    """From noon to noon over the end of summer time: 25 hours, which a window of 24 would cut off."""
    settings("spark.sql.session.timeZone", "America/New_York")
    noon = datetime(2024, 11, 2, 16, tzinfo=UTC)
    orders, quotes = feed("o").add((1, noon, 1)).static, feed("q").add((1, noon + timedelta(hours=25), 1)).static
    day = "q.ts BETWEEN o.ts - INTERVAL 1 DAY AND o.ts + INTERVAL 1 DAY"
    assert rows_of(pair(orders, quotes, "auto").on(day).batch()) == [(1, 1)]
    assert rows_of(pair(orders, quotes, "auto").on(day.replace("1 DAY", "23 HOURS")).batch()) == []


def test_a_day_of_25_hours_is_kept_whole(
    feed: Callable[..., Feed], place: Place, settings: Callable[[str, str], None]
) -> None:
    """In New York 3 November 2024 has 25 hours: a bound of one day must not be taken for 24 hours of state."""
    settings("spark.sql.session.timeZone", "America/New_York")
    noon = datetime(2024, 11, 2, 16, tzinfo=UTC)
    orders = feed("o").add((1, noon, 1)).add((2, noon + timedelta(hours=24, minutes=20), 1))
    quotes = feed("q").add((9, noon + timedelta(hours=24, minutes=20), 1))
    quotes.add((10, noon + timedelta(hours=24, minutes=30), 1)).add((11, noon + timedelta(hours=24, minutes=40), 1))
    orders.add((3, noon + timedelta(hours=24, minutes=30), 1))
    query = pair(orders.stream, quotes.stream, "25 hours").on("q.ts BETWEEN o.ts AND o.ts + INTERVAL 1 DAY")
    place.run(query)
    assert place.rows() == [(1, 9), (1, 10), (1, 11), (2, 9), (2, 10), (2, 11), (3, 10), (3, 11)]


@pytest.mark.parametrize(
    "predicate",
    [
        "o.k + q.k < 0",
        "o.k / q.k IS NULL",
        "o.k % q.k IS NULL AND o.k > 0",
        "abs(o.k) < 0",
        "o.k - q.k > 2147483000",
        "CAST(o.k AS smallint) = q.k",
        "CAST(q.word AS int) IS NULL",
        "o.word = q.k",
        "o.k BETWEEN q.k - 1 AND q.k + 1",
        "o.k * q.k = 0",
        "-o.k = q.k",
    ],
)
def test_ansi_off(spark: SparkSession, settings: Callable[[str, str], None], predicate: str) -> None:
    settings("spark.sql.ansi.enabled", "false")
    values = [2**31 - 1, -(2**31), 0, 1, -1, 65_536, 40_000, None]
    rows = [
        (number, at(0), k, word)
        for number, (k, word) in enumerate(zip(values, ["1", "x", "", "0", None, "-1", "65536", "1.5"], strict=True))
    ]
    frame = spark.createDataFrame(rows, "id bigint, ts timestamp, k int, word string").coalesce(1)
    found = pair(frame, frame).on(predicate).batch()
    frame.createOrReplaceTempView("events")
    expected = spark.sql(f"SELECT o.id AS o, q.id AS q FROM events AS o, events AS q WHERE {predicate}")
    assert not difference(*answers([expected, found]))


def test_decimals_and_doubles_compare_as_spark_does(spark: SparkSession) -> None:
    left = spark.createDataFrame(
        [(1, at(0), Decimal("0.10")), (2, at(0), Decimal("0.30"))], "id bigint, ts timestamp, p decimal(10,2)"
    )
    right = spark.createDataFrame([(1, at(0), 0.1), (2, at(0), 0.1 + 0.2)], "id bigint, ts timestamp, p double")
    assert rows_of(pair(left, right).on("o.p = q.p").batch()) == [(1, 1)]
    assert rows_of(pair(left, right).on("abs(o.p - q.p) <= 0.2D").batch()) == rows_of(
        left.alias("o").crossJoin(right.alias("q")).where("abs(o.p - q.p) <= 0.2D").selectExpr("o.id", "q.id")
    )


def test_selected_decimals_are_sparks(spark: SparkSession) -> None:
    ddl = f"{ROW}, d decimal(9,2)"
    rows = [(n, at(n), n, None if n == 3 else Decimal(f"{n - 2}.5{n}")) for n in range(6)]
    left, right = spark.createDataFrame(rows, ddl), spark.createDataFrame(rows, ddl)
    chosen = (
        "o.id AS o",
        "CAST(NULL AS DECIMAL(4,1)) AS nothing",
        "CAST(-7.25 AS DECIMAL(6,2)) AS literal",
        "CASE WHEN o.k > 1 THEN o.d END AS maybe",
        "coalesce(o.d, q.d) AS first",
        "CAST(o.k AS DECIMAL(12,3)) AS widened",
    )
    found = pair(left, right).on("o.k = q.k").select(*chosen).batch()
    expected = left.alias("o").join(right.alias("q"), sf.expr("o.k = q.k")).selectExpr(*chosen)
    assert found.sort("o").collect() == expected.sort("o").collect()
