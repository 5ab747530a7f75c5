"""Aggregations and distinct selections through real runs, beside Spark's own of the same results."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid import errors
from tests.oracle.feeds import Feed, Place, at

ROW = "id bigint, ts timestamp, k int, x double, d decimal(10, 2), t string"
CALLS = (
    "count(*) AS n",
    "count(q.t) AS texts",
    "sum(q.k) AS whole",
    "sum(o.x) AS real",
    "sum(q.d) AS money",
    "avg(q.k) AS mean",
    "avg(q.d) AS price",
    "min(q.t) AS first",
    "max(o.x) AS most",
    "max(q.ts) AS last",
    "count(DISTINCT q.t) AS kinds",
    "count(DISTINCT q.k, q.t) AS pairs",
)


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[..., Feed]:
    return lambda name, ddl=ROW: Feed(spark, tmp_path / "input" / name, ddl)


def some(first: int) -> list[tuple[Any, ...]]:
    """Rows with every kind of value, NaN and NULL among them."""
    texts = ("a", "b", None, "")
    return [
        (
            first + n,
            at(first + n % 7),
            n % 3,
            float("nan") if n == 4 else n / 4,
            Decimal(n * 7 % 11) / 4 if n % 5 else None,
            texts[n % 4],
        )
        for n in range(12)
    ]


def joined(left: DataFrame, right: DataFrame, window: Any = "1 hour") -> braid.Join:
    streams = [
        braid.stream(name, df, time="ts", window=window, lateness="1 hour") for name, df in (("o", left), ("q", right))
    ]
    return braid.join(*streams).on("o.k <= q.k")


def by_spark(spark: SparkSession, left: DataFrame, right: DataFrame, groups: list[str]) -> DataFrame:
    """Spark's own aggregation of Spark's own join."""
    left.createOrReplaceTempView("o")
    right.createOrReplaceTempView("q")
    by = f"GROUP BY {', '.join(groups)}" if groups else ""
    return spark.sql(f"SELECT {', '.join([*groups, *CALLS])} FROM o, q WHERE o.k <= q.k {by}")


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(str(tuple(row)) for row in frame.collect())


@pytest.mark.parametrize("groups", [["o.k"], ["o.t", "q.t IS NULL"], []], ids=str)
def test_totals_are_sparks(spark: SparkSession, feed: Callable[..., Feed], groups: list[str]) -> None:
    orders, quotes = feed("o").add(*some(0)), feed("q").add(*some(3))
    expected = by_spark(spark, orders.static, quotes.static, groups)
    found = joined(orders.static, quotes.static).groupBy(*groups).agg(*CALLS).batch()
    assert [f.dataType for f in found.schema.fields] == [f.dataType for f in expected.schema.fields]
    assert rows_of(found) == rows_of(expected)


def test_a_total_of_nothing_is_one_row(feed: Callable[..., Feed]) -> None:
    orders, quotes = feed("o").add(*some(0)), feed("q").add()
    query = joined(orders.static, quotes.static)
    whole = query.groupBy().agg("count(*) AS n", "sum(q.d) AS money", "count(DISTINCT q.t) AS kinds").batch()
    assert [tuple(row) for row in whole.collect()] == [(0, None, 0)]
    assert query.groupBy("o.k").agg("count(*) AS n").batch().count() == 0


@pytest.mark.parametrize("over", ["all", "10 seconds"])
def test_an_aggregate_without_groups_begins_with_nothing(feed: Callable[..., Feed], tmp_path: Path, over: str) -> None:
    orders, quotes = feed("o"), feed("q")
    seen: dict[int, list[tuple[Any, ...]]] = {}

    def run() -> None:
        query = joined(orders.stream, quotes.stream).groupBy()
        summed = query.agg("count(*) AS n", "sum(q.d) AS money", "count(DISTINCT q.t) AS kinds", over=over)
        writer = summed.writeStream.foreachBatch(
            lambda frame, step: seen.update({step: [*map(tuple, frame.collect())]})
        )
        writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()

    orders.add((1, at(1), 2, 0.0, None, "a"))
    run()
    orders.add((2, at(2), 2, 0.0, None, "a"))
    run()
    quotes.add((1, at(2), 2, 0.0, Decimal("1.25"), "b"))
    run()
    assert seen == {0: [(0, None, 0)], 1: [], 2: [(2, Decimal("2.50"), 1)]}


def test_each_step_emits_the_groups_it_changed_and_a_restart_goes_on(
    spark: SparkSession, feed: Callable[..., Feed], tmp_path: Path
) -> None:
    orders, quotes = feed("o"), feed("q")
    seen: dict[int, list[tuple[Any, ...]]] = {}

    def keep(frame: DataFrame, step: int) -> None:
        seen[step] = sorted(tuple(row) for row in frame.collect())

    def run() -> braid.Run:
        query = joined(orders.stream, quotes.stream).groupBy("o.k").agg("count(*) AS n", "count(DISTINCT q.t) AS kinds")
        writer = query.writeStream.foreachBatch(keep).outputMode("update").trigger(availableNow=True)
        started = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        started.awaitTermination()
        return started

    first = (1, at(1), 1, 0.0, None, "a")
    orders.add(first)
    quotes.add((1, at(1), 1, 0.0, None, "a"), (2, at(1), 2, 0.0, None, "b"))
    run()
    orders.add((2, at(2), 2, 0.0, None, "a"))
    quotes.add((3, at(2), 1, 0.0, None, "a"))
    progress = run().lastProgress
    assert seen == {0: [(1, 2, 2)], 1: [(1, 3, 2), (2, 1, 1)]}
    assert progress is not None
    assert progress["numOutputRows"] == 2
    assert progress["summary"]["results"] == 2
    assert progress["summary"]["updateBytes"] > 0


def test_a_sliding_aggregate_forgets_and_says_so_once(feed: Callable[..., Feed], tmp_path: Path) -> None:
    orders, quotes = feed("o"), feed("q")
    steps: list[list[tuple[Any, ...]]] = []
    for second, key in ((0, 1), (5, 1), (30, 2), (31, 2)):
        orders.add((second, at(second), key, float(second), None, "a"))
        quotes.add((second, at(second), key, 0.0, None, "a"))
    query = joined(orders.stream, quotes.stream, "0 seconds").groupBy("o.k")
    summed = query.agg("count(*) AS n", "sum(o.x) AS total", over="10 seconds")
    writer = summed.writeStream.foreachBatch(lambda frame, _: steps.append(sorted(map(tuple, frame.collect()))))
    writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert steps == [[(1, 1, 0.0)], [(1, 2, 5.0)], [(1, 0, None), (2, 1, 30.0)], [(2, 2, 61.0)]]


def test_distinct_rows_are_emitted_once(spark: SparkSession, feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    for first in (0, 3, 6):
        orders.add(*some(first))
        quotes.add(*some(first))
        place.run(joined(orders.stream, quotes.stream).select("o.k AS o", "q.t AS t").distinct())
    rows = [tuple(row) for row in spark.read.parquet(str(place.output)).collect()]
    assert sorted(map(str, rows)) == sorted(str((k, t)) for k in range(3) for t in ("a", "b", None, ""))


def test_distinct_says_how_long_it_remembers(feed: Callable[..., Feed], capsys: pytest.CaptureFixture[str]) -> None:
    query = joined(feed("o").stream, feed("q").stream)
    query.select("o.k AS k").distinct().explain("logical")
    assert "forever, on disk (warning: select an event time" in capsys.readouterr().out
    query.select("o.k AS k", "result_time").distinct().explain("logical")
    assert "until no equal row can appear" in capsys.readouterr().out


def test_updates_may_be_sent_one_by_one_and_cost_more_bytes(spark: SparkSession, feed: Callable[..., Feed]) -> None:
    orders, quotes = feed("o").add(*some(0)), feed("q").add(*some(3))
    query = joined(orders.static, quotes.static).groupBy("o.k")
    batched, immediate = (query.agg(*CALLS, updates=way).batch() for way in ("batched", "immediate"))
    assert rows_of(batched) == rows_of(immediate)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda q: q.groupBy("o.k").agg(), "at least one aggregate"),
        (lambda q: q.groupBy("o.k").agg("stddev(o.x)"), "not one that Braid keeps"),
        (lambda q: q.groupBy("o.k").agg("sum(o.x) + 1"), "not one call of an aggregate function"),
        (lambda q: q.groupBy("o.k").agg("sum(o.t)"), "of type string"),
        (lambda q: q.groupBy("o.k").agg("sum(DISTINCT o.x)"), "only count"),
        (lambda q: q.groupBy("o.k").agg("count(*) FILTER (WHERE o.x > 1)"), "FILTER"),
        (lambda q: q.groupBy("o.k").agg("sum(o.x) AS k"), "several columns with one name"),
        (lambda q: q.groupBy("struct(o.k)").agg("count(*)"), "of type struct"),
        (lambda q: q.groupBy("o.nope").agg("count(*)"), "nope"),
        (lambda q: q.groupBy("o.k").agg("count(*)", over="soon"), "over"),
        (lambda q: q.groupBy("o.k").agg("count(*)", updates="late"), "updates"),
        (lambda q: q.groupBy("o.k").agg("count(*)").select("o.k"), "cannot follow .agg"),
        (lambda q: q.groupBy("o.k").agg("count(*)").distinct(), "cannot follow .agg"),
        (lambda q: q.select("o.k").groupBy("o.k"), "without .select"),
        (lambda q: q.distinct(), "of type struct"),
        (lambda q: q.groupBy("o.k").agg("count(*)").writeStream.outputMode("append"), "does not fit an aggregation"),
        (lambda q: q.writeStream.outputMode("update"), "does not fit a join"),
    ],
)
def test_mistakes_are_explained(feed: Callable[..., Feed], build: Callable[[braid.Join], Any], message: str) -> None:
    with pytest.raises(errors.BraidError, match=message):
        build(joined(feed("o").stream, feed("q").stream))


def test_a_sum_that_overflows_fails_as_sparks_does(spark: SparkSession, feed: Callable[..., Feed]) -> None:
    big = [(n, at(n), 1, 0.0, None, "a") for n in range(3)]
    orders, quotes = feed("o").add(*big), feed("q").add(*big)
    query = joined(orders.static, quotes.static).groupBy("o.k").agg("sum(o.id + 9223372036854775800)")
    with pytest.raises(errors.PredicateError, match="a sum overflowed"):
        query.batch()


def test_names_are_sparks_where_none_is_given(feed: Callable[..., Feed]) -> None:
    query = joined(feed("o").stream, feed("q").stream).groupBy("o.k").agg("count(*)", "sum(q.x)")
    assert query.schema.fieldNames() == ["k", "count(1)", "sum(q.x)"]


def test_an_elastic_query_scales_and_keeps_its_results(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    for step in range(6):
        rows = [(100 * step + n, at(step), n % 50, 0.0, None, "a") for n in range(100)]
        orders.add(*rows)
        quotes.add(*rows)
    query = joined(orders.stream, quotes.stream).on("o.k = q.k").select("o.id AS o", "q.id AS q")
    scaled = query.using(braid.Biclique(units=(2, 2), groups=2)).elastic(
        period="1 millisecond", patience=1, capacity="4k", max_units=3
    )
    run = place.run(scaled)
    assert any("adds" in text for record in run.recentProgress for text in record["adaptations"])
    assert len(run.recentProgress[-1]["units"]) > 4
    assert len(place.rows()) == 50 * 12 * 12


def test_a_matrix_is_not_elastic(feed: Callable[..., Feed]) -> None:
    query = joined(feed("o").stream, feed("q").stream).using(braid.Matrix(2, 2)).elastic()
    with pytest.raises(errors.StrategyError, match="is matrix here"):
        _ = query.writeStream
