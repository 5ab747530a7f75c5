"""What a restart accepts, through Spark's analyzer and real runs; `tests/properties/test_restarts.py` has the many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from types import FunctionType

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid import errors
from tests.oracle.feeds import Feed, Place, at

ROW = "id bigint, ts timestamp, k int, v int"
ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def feeds(spark: SparkSession, tmp_path: Path) -> tuple[Feed, Feed]:
    """Two streams with one batch each."""
    orders = Feed(spark, tmp_path / "input" / "o", ROW).add((1, at(0), 1, 7), (2, at(1), 2, 5))
    quotes = Feed(spark, tmp_path / "input" / "q", ROW).add((1, at(0), 1, 1), (2, at(1), 2, 2))
    return orders, quotes


@pytest.fixture
def zone(spark: SparkSession) -> Iterator[Callable[[str], None]]:
    """Sets the session's time zone, and puts it back afterwards."""
    before = str(spark.conf.get(ZONE))
    yield lambda name: spark.conf.set(ZONE, name)
    spark.conf.set(ZONE, before)


def pair(left: DataFrame, right: DataFrame) -> braid.Join:
    named = (("o", left), ("q", right))
    return braid.join(*(braid.stream(name, df, time="ts", window="1 minute") for name, df in named))


def keyed(feeds: tuple[Feed, Feed]) -> braid.Join:
    return pair(feeds[0].stream, feeds[1].stream).on("o.k = q.k")


SWAPPED: dict[str, tuple[Callable[[braid.Join, str, str], braid.Join], str]] = {
    "groupBy": (
        lambda join, a, b: join.groupBy(a, b).agg("count(*) AS n"),
        "groups: the columns were in the order k, v",
    ),
    "distinct": (lambda join, a, b: join.select(a, b).distinct(), "selection: the columns were in the order k, v"),
    "ordered": (lambda join, a, b: join.select(a, b).ordered(), "selection: the columns were in the order k, v"),
    "select": (lambda join, a, b: join.select(a, b), "selection: the columns were in the order k, v"),
    "same names": (
        lambda join, a, b: join.groupBy(f"{a} AS x", f"{b} AS y").agg("count(*) AS n"),
        "groups x: was `o.k` of type integer, is `o.v` of type integer",
    ),
    "aggregates": (
        lambda join, a, b: join.groupBy("q.id").agg(f"sum({a}) AS x", f"sum({b}) AS y"),
        "aggregates x: was sum(`o.k`)",
    ),
}


@pytest.mark.parametrize("what", SWAPPED)
def test_columns_that_are_swapped_are_refused_and_the_query_as_it_was_goes_on(
    feeds: tuple[Feed, Feed], place: Place, what: str
) -> None:
    make, named = SWAPPED[what]
    place.run(make(keyed(feeds), "o.k", "o.v"))
    with pytest.raises(errors.RestartError) as caught:
        place.start(make(keyed(feeds), "o.v", "o.k"))
    assert named in caught.value.detail, caught.value.detail
    assert "a new checkpointLocation, and where it writes files a new path" in caught.value.hint
    before = len(place.rows())
    feeds[0].add((3, at(2), 1, 9))
    place.run(make(keyed(feeds), "o.k", "o.v"))
    assert len(place.rows()) == before + (what != "ordered")


def test_a_source_with_its_columns_in_another_order_continues(
    spark: SparkSession, feeds: tuple[Feed, Feed], place: Place
) -> None:
    place.run(keyed(feeds).select("o.id AS o", "q.id AS q", "o.v - q.v AS d"))
    feeds[0].add((3, at(2), 1, 9))
    turned = pair(feeds[0].stream.select("v", "k", "ts", "id"), feeds[1].stream).on("o.k = q.k")
    place.run(turned.select("o.id AS o", "q.id AS q", "o.v - q.v AS d"))
    assert place.rows() == [(1, 1, 6), (2, 2, 3), (3, 1, 8)]


def test_a_bare_name_that_means_another_column_now_is_refused(feeds: tuple[Feed, Feed], place: Place) -> None:
    """The predicate is decided at ingest, so no stored column tells the two apart."""
    left, right = feeds[0].stream, feeds[1].stream
    first = pair(left.withColumnRenamed("v", "w"), right).on("o.k = q.k AND w > 3").select("o.id AS o")
    place.run(first)
    second = pair(left, right.withColumnRenamed("v", "w")).on("o.k = q.k AND w > 3").select("o.id AS o")
    with pytest.raises(errors.RestartError) as caught:
        place.start(second)
    assert "predicate w > 3: was read as `o.w` > 3, is read as `q.w` > 3" in caught.value.detail


def test_a_missing_query_record_is_refused(feeds: tuple[Feed, Feed], place: Place) -> None:
    place.run(keyed(feeds).select("o.id AS o"))
    (place.checkpoint / "query-000000.json").unlink()
    with pytest.raises(errors.CorruptStateError, match="the record of its query is missing"):
        place.start(pair(feeds[0].stream, feeds[1].stream).on("o.k < q.k").select("o.id AS o"))


def test_settings_changed_after_building_are_refused_by_name(
    feeds: tuple[Feed, Feed], place: Place, zone: Callable[[str], None]
) -> None:
    joined = keyed(feeds)
    query = joined.select("o.id AS o")
    writer = query.writeStream.option("checkpointLocation", str(place.checkpoint))
    static = pair(feeds[0].static, feeds[1].static).on("o.k = q.k")
    zone("Asia/Tokyo")
    for attempt in (
        lambda: writer.start(str(place.output)),
        lambda: query.on("o.v > q.v"),
        lambda: joined.select("o.ts"),
        static.batch,
    ):
        with pytest.raises(errors.QueryError) as caught:
            attempt()
        assert "spark.sql.session.timeZone: was UTC, is Asia/Tokyo" in caught.value.detail
    assert not place.checkpoint.exists()
    zone("UTC")
    place.run(query)
    assert place.rows() == [(1,), (2,)]


def test_settings_changed_while_a_query_runs_do_not_reach_it(
    spark: SparkSession, tmp_path: Path, zone: Callable[[str], None]
) -> None:
    """A conjunct and a selection that the JVM evaluates keep the time zone of the query."""
    orders, quotes = (Feed(spark, tmp_path / name, ROW) for name in "oq")
    query = pair(orders.stream, quotes.stream).on("abs(hour(o.ts) - q.k) < 1").select("date_format(o.ts, 'HH') AS h")
    place = Place(spark, tmp_path)
    writer = query.writeStream.option("checkpointLocation", str(place.checkpoint))
    run = writer.trigger(processingTime="100 milliseconds").start(str(place.output))
    zone("Asia/Tokyo")
    orders.add((1, at(3600), 0, 0))
    quotes.add((1, at(3600), 1, 0), (2, at(3600), 10, 0))
    deadline = monotonic() + 60
    while sum(step["numInputRows"] for step in run.recentProgress) < 3 and monotonic() < deadline:
        assert run.isActive, run.exception()
        sleep(0.05)
    run.stop()
    assert place.rows() == [("01",)]


def above(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.greater(a, b)


def not_above(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.less_equal(a, b)


def test_a_changed_function_is_refused_by_name_and_accepted_by_the_option(
    feeds: tuple[Feed, Feed], place: Place
) -> None:
    not_above.__name__ = "above"

    def query(function: Callable[..., pa.Array]) -> braid.Join:
        return keyed(feeds).on(braid.udf(function, "o.v", "q.v")).select("o.id AS o", "q.id AS q")

    place.run(query(above))
    feeds[0].add((3, at(2), 1, 9), (4, at(2), 1, 0))
    with pytest.raises(errors.RestartError) as caught:
        place.start(query(not_above))
    assert "predicate above(o.v, q.v): its code has changed" in caught.value.detail
    assert "acceptChangedFunctions" in caught.value.hint
    with pytest.raises(errors.SinkError, match="acceptChangedFunctions is true or false, but got 'yes'"):
        place.start(query(not_above), acceptChangedFunctions="yes")
    place.run(query(not_above), acceptChangedFunctions="true")
    assert place.rows() == [(1, 1), (2, 2), (4, 1)]
    feeds[0].add((5, at(3), 1, 1))
    place.run(query(not_above))
    assert place.rows() == [(1, 1), (2, 2), (4, 1), (5, 1)]


def test_a_version_stands_for_the_code(feeds: tuple[Feed, Feed], place: Place) -> None:
    def query(version: str | int) -> braid.Join:
        limit = id(object())  # another value each time
        near = braid.udf(lambda a, b: pc.less(pc.subtract(a, b), limit), "o.v", "q.v", version=version)
        return keyed(feeds).on(near).select("o.id AS o")

    place.run(query(1))
    place.run(query("1"))
    with pytest.raises(errors.RestartError, match="its version was 1, is 2"):
        place.start(query(2))
    with pytest.raises(errors.QueryError, match="a text or a number, but got True"):
        query(True)


def test_a_path_with_the_results_of_another_query_is_refused_unless_it_is_shared(
    spark: SparkSession, feeds: tuple[Feed, Feed], place: Place, tmp_path: Path
) -> None:
    place.run(keyed(feeds).select("o.id AS o"))
    files = sorted(place.output.rglob("*"))
    other = Place(spark, tmp_path / "other")
    other.output = place.output
    changed = pair(feeds[0].stream, feeds[1].stream).on("o.k < q.k").select("o.id AS o")
    with pytest.raises(errors.SinkError) as caught:
        other.start(changed)
    assert str(place.output) in caught.value.message
    assert str(place.checkpoint) in caught.value.message
    assert str(other.checkpoint) in caught.value.message
    assert sorted(place.output.rglob("*")) == files
    assert not other.checkpoint.exists()
    other.run(changed, sharedPath="true")
    assert place.rows() == [(1,), (1,), (2,)]
    feeds[0].add((3, at(2), 1, 9))
    other.run(changed, sharedPath="true")
    assert place.rows() == [(1,), (1,), (2,), (3,)]
    with pytest.raises(errors.SinkError, match="results of the query"):
        place.start(keyed(feeds).select("o.id AS o"))
    place.run(keyed(feeds).select("o.id AS o"), sharedPath="true")
    assert place.rows() == [(1,), (1,), (2,), (3,), (3,)]


LOCK = Lock()


def locked(a: pa.Array, b: pa.Array) -> pa.Array:
    with LOCK:
        return pc.greater(a, b)


def never_started(query: braid.Join) -> braid.Join:
    """A query that is built, and whose start fails: what it holds cannot be sent to tasks."""
    function = FunctionType(locked.__code__, {"LOCK": LOCK, "pc": pc}, "locked")
    return query.on(braid.udf(function, "o.v", "q.v"))


def test_after_a_start_that_failed_the_corrected_query_runs(
    spark: SparkSession, feeds: tuple[Feed, Feed], place: Place, tmp_path: Path
) -> None:
    """Nothing that binds is written before the query can run, whichever part of the start fails."""
    joined = keyed(feeds)
    with pytest.raises(errors.QueryError, match="Python functions: locked") as caught:
        place.start(never_started(joined).select("o.v AS v"))
    assert "no locks" in caught.value.hint
    with pytest.raises(errors.StrategyError):
        place.start(pair(feeds[0].stream, feeds[1].stream).on("o.v > q.v").using(braid.Partitioned(units=2)))
    with pytest.raises(errors.SinkError, match="endOfInput"):
        place.start(joined.select("o.k AS k"), endOfInput="maybe")
    foreign = place.output / "notes.txt"
    foreign.parent.mkdir()
    foreign.write_text("x")
    with pytest.raises(errors.SinkError, match="notes"):
        place.start(joined.select("o.k AS k", "q.k AS l"))
    foreign.unlink()
    assert not place.checkpoint.exists()
    assert list(place.output.iterdir()) == []

    # Spark itself refuses the last one, when the record of the query is there already.
    unsupported = pair(feeds[0].stream.orderBy("v"), feeds[1].stream).on("o.k = q.k").select("o.v AS other")
    with pytest.raises(errors.RunFailedError):
        place.start(unsupported)
    place.run(joined.select("o.id AS o"))
    assert place.rows() == [(1,), (2,)]
    assert spark.read.parquet(str(place.output)).columns == ["o"]
