"""Aggregations as a reader finds them: the step in files, the latest rows in `memory`, totals from the checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import braid
from braid import errors
from braid.plan.aggregation import Aggregation, Call
from braid.spark import totals as reading
from braid.spark.sinks.step_columns import latest_of_groups
from braid.state.checkpoint import Checkpoint
from braid.state.files import locate
from tests.oracle.feeds import Feed, Place, at

ROW = "id bigint, ts timestamp, k int, x double, d decimal(10, 2), t string"
CALLS = (
    "count(*) AS n",
    "sum(o.x) AS total",
    "avg(q.d) AS price",
    "min(q.t) AS first",
    "max(q.ts) AS last",
    "count(DISTINCT q.t) AS kinds",
)


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[[str], Feed]:
    return lambda name: Feed(spark, tmp_path / "input" / name, ROW)


def row(number: int, second: float, key: int, text: str = "a") -> tuple[Any, ...]:
    return (number, at(second), key, float(number), Decimal(number) / 4, text)


def joined(left: DataFrame, right: DataFrame, window: str = "1 hour") -> braid.Join:
    streams = [
        braid.stream(name, df, time="ts", window=window, lateness="1 hour") for name, df in (("o", left), ("q", right))
    ]
    return braid.join(*streams).on("o.k = q.k")


def fed(feed: Callable[[str], Feed]) -> tuple[Feed, Feed]:
    """Two feeds of three batches; the second batch changes two of three groups."""
    orders, quotes = feed("o"), feed("q")
    for first, keys in ((0, (1, 2, 3)), (10, (1, 2)), (20, (1,))):
        orders.add(*(row(first + key, first + key, key) for key in keys))
        quotes.add(*(row(first + key, first + key, key, "ab"[key % 2]) for key in keys))
    return orders, quotes


def by_spark(spark: SparkSession, orders: Feed, quotes: Feed, groups: str) -> list[str]:
    orders.static.createOrReplaceTempView("o")
    quotes.static.createOrReplaceTempView("q")
    listed = ", ".join([*groups.split(), *CALLS])
    by = f"GROUP BY {groups}" if groups else ""
    return rows_of(spark.sql(f"SELECT {listed} FROM o, q WHERE o.k = q.k {by}"))


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(str(tuple(row)) for row in frame.collect())


def test_files_carry_the_step_and_totals_are_sparks(
    spark: SparkSession, feed: Callable[[str], Feed], place: Place
) -> None:
    orders, quotes = fed(feed)
    run = place.run(joined(orders.stream, quotes.stream).groupBy("o.k").agg(*CALLS))
    updates = spark.read.parquet(str(place.output))
    assert updates.schema["_step"].dataType.simpleString() == "bigint"
    assert updates.columns[-1] == "_step"
    steps = updates.groupBy("_step").agg(sf.sort_array(sf.collect_list("k"))).orderBy("_step").collect()
    assert [tuple(found) for found in steps] == [(0, [1, 2, 3]), (1, [1, 2]), (2, [1])]
    newest = updates.groupBy("k").agg(sf.max_by(sf.struct(*updates.columns[1:-1]), "_step").alias("v"))
    expected = by_spark(spark, orders, quotes, "o.k")
    assert rows_of(newest.select("k", "v.*")) == expected
    assert rows_of(run.totals()) == expected
    assert run.totals().schema == joined(orders.stream, quotes.stream).groupBy("o.k").agg(*CALLS).schema
    assert rows_of(braid.totals(str(place.checkpoint), spark.newSession())) == expected


@pytest.mark.parametrize(
    ("groups", "over", "ordered"),
    [("", "all", False), ("", "all", True), ("o.k", "5 seconds", False), ("o.k", "5 seconds", True)],
)
def test_totals_of_every_kind(
    spark: SparkSession, feed: Callable[[str], Feed], place: Place, groups: str, over: str, ordered: bool
) -> None:
    orders, quotes = fed(feed)
    grouped = joined(orders.stream, quotes.stream, "2 seconds").groupBy(*groups.split())
    query = grouped.agg("count(*) AS n", "count(DISTINCT q.t) AS kinds", over=over)
    run = place.run(query.ordered() if ordered else query, endOfInput="flush")
    # Rows of a key meet only within a batch; only the last batch is within 5 seconds of the newest result.
    values = (6, 2) if over == "all" else (1, 1, 1)
    expected = [(*values, at(21).replace(tzinfo=None))] if ordered else [values]
    for found in (run.totals(), braid.totals(str(place.checkpoint))):
        assert [tuple(row) for row in found.collect()] == expected
        assert found.columns == query.schema.fieldNames() + (["result_time"] if ordered else [])


def test_totals_before_any_result(spark: SparkSession, feed: Callable[[str], Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    whole = joined(orders.stream, quotes.stream).groupBy().agg("count(*) AS n", "sum(o.x) AS total")
    run = place.run(whole)
    assert [tuple(row) for row in run.totals().collect()] == [(0, None)]
    orders.add(row(1, 1, 1))
    place.run(whole)
    assert [tuple(row) for row in braid.totals(str(place.checkpoint)).collect()] == [(0, None)]


def test_totals_are_of_one_step_while_the_run_goes_on(feed: Callable[[str], Feed], tmp_path: Path) -> None:
    """In every step the totals are those after the one before, and stay so when its blocks are gone."""
    orders, quotes = feed("o").add(row(0, 0, 1)), feed("q")
    for number in range(6):
        quotes.add(row(number, number, 1))
    seen: dict[int, DataFrame] = {}
    runs: list[braid.Run] = []

    def keep(_: DataFrame, step: int) -> None:
        if runs:
            seen[step] = runs[0].totals()

    query = joined(orders.stream, quotes.stream).groupBy("o.k").agg("count(*) AS n")
    writer = query.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "c"))
    runs.append(writer.trigger(availableNow=True).start())
    runs[0].awaitTermination()
    assert len(seen) >= 4
    for step, frame in seen.items():
        assert [tuple(found) for found in frame.collect()] == ([(1, step)] if step else [])
    assert [tuple(found) for found in runs[0].totals().collect()] == [(1, 6)]


def test_a_block_that_is_gone_is_read_in_a_newer_manifest(
    spark: SparkSession, feed: Callable[[str], Feed], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders, quotes = fed(feed)
    place.run(joined(orders.stream, quotes.stream).groupBy("o.k").agg("count(*) AS n"))
    computed, attempts = reading._computed, []

    def outrun(*arguments: Any) -> DataFrame:
        attempts.append(arguments)
        if len(attempts) == 1:
            raise PySparkException("CorruptStateError: The state block b is missing.")
        return computed(*arguments)

    newest = braid.totals(str(place.checkpoint)).count()
    monkeypatch.setattr(reading, "_computed", outrun)
    with pytest.raises(errors.CorruptStateError, match="The state block b is missing"):
        braid.totals(str(place.checkpoint))
    attempts.clear()
    steps = iter(range(10))
    monkeypatch.setattr(reading, "_step", lambda _: next(steps))
    assert braid.totals(str(place.checkpoint)).count() == newest == 3


def test_a_missing_block_of_a_stopped_run_is_named(feed: Callable[[str], Feed], place: Place) -> None:
    orders, quotes = fed(feed)
    place.run(joined(orders.stream, quotes.stream).groupBy("o.k").agg("count(*) AS n"))
    for block in (place.checkpoint / "blocks").iterdir():
        block.unlink()
    with pytest.raises(errors.CorruptStateError, match=r"blocks/.*\.block is missing"):
        braid.totals(str(place.checkpoint))


def test_queries_without_totals_say_so(feed: Callable[[str], Feed], place: Place, tmp_path: Path) -> None:
    orders, quotes = fed(feed)
    run = place.run(joined(orders.stream, quotes.stream).select("o.k").distinct())
    with pytest.raises(errors.QueryError, match="this query has no aggregation"):
        run.totals()
    with pytest.raises(errors.QueryError, match=r"the checkpoint .* has no aggregation"):
        braid.totals(str(place.checkpoint))
    with pytest.raises(errors.StorageError, match="There is no checkpoint of Braid's"):
        braid.totals(str(tmp_path / "nowhere"))
    with pytest.raises(errors.QueryError, match="needs the checkpointLocation"):
        braid.totals("")


def test_memory_holds_the_latest_row_of_each_group(
    spark: SparkSession, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    orders, quotes = fed(feed)
    grouped = joined(orders.stream, quotes.stream, "2 seconds").groupBy("o.k")
    query = grouped.agg("count(*) AS n", "sum(o.x) AS total", over="5 seconds")
    writer = query.writeStream.format("memory").trigger(availableNow=True)
    writer.queryName("latest").start().awaitTermination()
    assert rows_of(spark.table("latest")) == ["(1, 1, 21.0)", "(2, 0, None)", "(3, 0, None)"]
    ordered = query.ordered().writeStream.format("memory").queryName("in_order").option("endOfInput", "flush")
    ordered.trigger(availableNow=True).start().awaitTermination()
    assert spark.table("in_order").columns == ["k", "n", "total", "result_time"]
    assert rows_of(spark.table("in_order").drop("result_time")) == rows_of(spark.table("latest"))


def test_the_latest_rows_know_nan_null_and_zero(spark: SparkSession) -> None:
    texts = [("NaN", 1, 0), ("-0.0", 2, 0), (None, 3, 0), ("0.0", 4, 1), ("NaN", 5, 1), (None, None, 2)]
    updates = spark.createDataFrame(texts, "k string, n int, step long").selectExpr("double(k) AS `a.b`", "n", "step")
    assert rows_of(latest_of_groups(updates, 1, ordered=False)) == ["(0.0, 4)", "(None, None)", "(nan, 5)"]
    assert rows_of(latest_of_groups(updates.drop("a.b").limit(0), 0, ordered=False)) == []


def test_the_column_is_renamed_dropped_or_refused(
    spark: SparkSession, feed: Callable[[str], Feed], place: Place, tmp_path: Path
) -> None:
    orders, quotes = fed(feed)
    join = joined(orders.stream, quotes.stream)
    query = join.groupBy("o.k").agg("count(*) AS n")
    place.run(query, stepColumn="emitted by")
    assert spark.read.parquet(str(place.output)).columns == ["k", "n", "emitted by"]
    with pytest.raises(
        errors.SinkError, match="have the columns k, n, emitted by, but now they would have k, n, _step"
    ):
        place.start(query)
    bare = Place(spark, tmp_path / "bare")
    bare.run(query, stepColumn="")
    assert spark.read.parquet(str(bare.output)).columns == ["k", "n"]
    other = Place(spark, tmp_path / "other")
    with pytest.raises(errors.SinkError, match="the column '_STEP' has this name"):
        other.start(join.groupBy("o.k AS _STEP").agg("count(*) AS n"))
    with pytest.raises(errors.SinkError, match="the column 'n' has this name"):
        other.start(query, stepColumn="N")
    with pytest.raises(errors.SinkError, match="has no aggregation"):
        other.start(join.select("o.k"), stepColumn="s")
    with pytest.raises(errors.SinkError, match="the format 'memory' writes no files"):
        query.writeStream.format("memory").queryName("m").option("stepColumn", "s").start()
    assert not other.checkpoint.exists()


def test_other_file_formats_carry_the_step_and_functions_do_not(
    spark: SparkSession, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    orders, quotes = fed(feed)
    query = joined(orders.stream, quotes.stream).groupBy("o.k").agg("count(*) AS n").ordered()
    writer = query.writeStream.trigger(availableNow=True).option("endOfInput", "flush")
    files = writer.format("orc").option("checkpointLocation", str(tmp_path / "c1")).start(str(tmp_path / "orc"))
    columns: list[list[str]] = []
    each = writer.foreachBatch(lambda frame, _: columns.append(frame.columns))
    called = each.option("checkpointLocation", str(tmp_path / "c2")).start()
    files.awaitTermination()
    called.awaitTermination()
    found = spark.read.orc(str(tmp_path / "orc"))
    assert found.columns == ["k", "n", "result_time", "_step"]
    assert sorted(row["_step"] for row in found.select("_step").distinct().collect())[0] >= 0
    assert columns[-1] == ["k", "n", "result_time"]


def test_the_record_of_an_aggregation_gives_it_back(
    spark: SparkSession, feed: Callable[[str], Feed], place: Place
) -> None:
    """What `braid.totals` reads is JSON: nothing of the query is unpickled."""
    orders, quotes = fed(feed)
    query = joined(orders.stream, quotes.stream).groupBy("o.k").agg("sum(q.d) AS money", over="5 seconds")
    place.run(query)
    found = reading.recorded_aggregation(Checkpoint(*locate(str(place.checkpoint))), "here").aggregation
    known = query.plan().aggregation
    assert isinstance(known, Aggregation)
    assert (found.groups, found.calls, found.over_us, found.time_of) == (1, (Call("sum", (1,)),), 5_000_000, "result")
    assert found.schema.equals(known.schema)
