"""Ordered results through real runs: files in order, sorted DataFrames, waiting, idleness, flushing, restarts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

import braid
from braid import errors
from braid.testing import Condition, OracleStream
from tests.oracle.changes import Changes
from tests.oracle.feeds import Feed, Place, at
from tests.oracle.ordering import Releases

ROW = "id bigint, ts timestamp, k int"
POLICIES = ("sync-filter", "filter-order", "adaptive")


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[..., Feed]:
    return lambda name, ddl=ROW: Feed(spark, tmp_path / "input" / name, ddl)


def ordered(left: DataFrame, right: DataFrame, policy: Any, on: str = "o.k = q.k", **options: Any) -> braid.Join:
    streams = [braid.stream(n, df, time="ts", window="20 seconds", **options) for n, df in (("o", left), ("q", right))]
    return braid.join(*streams).on(on).select("o.id AS o", "q.id AS q").ordered(policy)


def in_file_order(place: Place) -> list[tuple[int, int]]:
    """What a reader of the files by name and row sees."""
    names = sorted(path for path in Path(place.output).glob("*.parquet"))
    return [(row["o"], row["q"]) for path in names for row in pq.read_table(path).to_pylist()]


def asynchronous(feed: Callable[..., Feed]) -> tuple[Feed, Feed]:
    """The quotes are behind, catch up, and end; ids are seconds, so a result's time is its larger id."""
    orders, quotes = feed("o"), feed("q")
    for first in (0, 10, 20):
        orders.add(*((first + n, at(first + n), n % 2) for n in (7, 3, 9, 0, 5)))
    quotes.add((1, at(1), 1), (4, at(4), 0)).add((8, at(8), 0), (6, at(6), 1)).add((22, at(22), 1), (15, at(15), 0))
    return orders, quotes


def running(place: Place, query: braid.Join) -> braid.Run:
    writer = query.writeStream.format("parquet").option("checkpointLocation", str(place.checkpoint))
    return writer.trigger(processingTime="0 seconds").start(str(place.output))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within a minute"
        time.sleep(0.05)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("on", ["o.k = q.k", "bit_count(o.k) = bit_count(q.k)"])
def test_files_are_in_order_and_wait_for_the_slower_stream(
    feed: Callable[..., Feed], place: Place, policy: Any, on: str
) -> None:
    orders, quotes = asynchronous(feed)
    run = place.run(ordered(orders.stream, quotes.stream, policy, on))
    kinds = {first + n: n % 2 for first in (0, 10, 20) for n in (7, 3, 9, 0, 5)}
    on_time = {1: 1, 4: 0, 8: 0, 6: 1, 22: 1, 15: 0}
    wanted = sorted(
        (max(o, q), o, q) for o, k in kinds.items() for q, j in on_time.items() if k == j and abs(o - q) <= 20
    )
    got = in_file_order(place)
    times = [max(pair) for pair in got]
    assert times == sorted(times)
    assert sorted((max(o, q), o, q) for o, q in got) == [entry for entry in wanted if entry[0] <= 22]
    last = run.lastProgress
    assert last is not None
    assert last["order"]["frontier"] == "2024-01-01T00:00:22.000Z"
    assert last["order"]["rowResponse"]["rows"] > 0
    if policy == "filter-order":
        assert last["held"]["results"] == len([entry for entry in wanted if entry[0] > 22])

    again = place.run(ordered(orders.stream, quotes.stream, policy, on), endOfInput="flush")
    assert sorted((max(o, q), o, q) for o, q in in_file_order(place)) == wanted
    times = [max(pair) for pair in in_file_order(place)]
    assert times == sorted(times)
    assert again.lastProgress is not None
    assert again.lastProgress["held"]["results"] == 0


def test_a_function_receives_each_step_sorted_without_the_time(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = asynchronous(feed)
    seen: list[tuple[int, list[str], list[int]]] = []

    def take(frame: DataFrame, step: int) -> None:
        seen.append((step, frame.columns, [max(row["o"], row["q"]) for row in frame.collect()]))

    query = ordered(orders.stream, quotes.stream, "filter-order")
    run = (
        query.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(place.checkpoint))
        .option("endOfInput", "flush")
        .trigger(availableNow=True)
        .start()
    )
    run.awaitTermination()
    assert [step for step, _, _ in seen] == list(range(len(seen)))
    assert {tuple(columns) for _, columns, _ in seen} == {("o", "q")}
    times = [time for _, _, part in seen for time in part]
    assert times == sorted(times)
    assert len(times) > 10


def test_a_silent_stream_is_not_waited_for_and_late_when_it_returns(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    orders.add((10, at(10), 1))
    quotes.add((5, at(5), 1))
    query = ordered(orders.stream, quotes.stream, "sync-filter", idle_after="1 second")
    run = running(place, query)
    try:
        wait_until(lambda: in_file_order(place) == [(10, 5)])
        quotes.add((7, at(7), 1))
        wait_until(lambda: sum(sum(p["lateRows"].values()) for p in run.recentProgress) == 1)
        quotes.add((12, at(12), 1))
        orders.add((13, at(13), 1))
        wait_until(lambda: set(in_file_order(place)) == {(10, 5), (10, 12), (13, 5), (13, 12)})
    finally:
        run.stop()
    assert [max(pair) for pair in in_file_order(place)] == [10, 12, 13, 13]


def test_flush_emits_what_waits_in_a_running_query(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    orders.add((10, at(10), 1))
    quotes.add((5, at(5), 1))
    run = running(place, ordered(orders.stream, quotes.stream, "filter-order"))
    try:
        wait_until(lambda: bool(run.recentProgress))
        assert in_file_order(place) == []
        run.flush()
        assert in_file_order(place) == [(10, 5)]
        run.flush()
        assert in_file_order(place) == [(10, 5)]
    finally:
        run.stop()


def test_static_inputs_come_sorted(feed: Callable[..., Feed]) -> None:
    orders, quotes = asynchronous(feed)
    answer = ordered(orders.static, quotes.static, "adaptive").batch()
    times = [max(row["o"], row["q"]) for row in answer.collect()]
    assert answer.columns == ["o", "q"]
    assert times == sorted(times)
    assert len(times) > 10


def test_the_policy_may_change_at_a_restart_but_not_the_order(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = asynchronous(feed)
    place.run(ordered(orders.stream, quotes.stream, "sync-filter"))
    place.run(ordered(orders.stream, quotes.stream, "filter-order"))
    with pytest.raises(errors.RestartError, match="order: was 'by result time', is gone"):
        place.run(
            braid.join(
                braid.stream("o", orders.stream, time="ts", window="20 seconds"),
                braid.stream("q", quotes.stream, time="ts", window="20 seconds"),
            )
            .on("o.k = q.k")
            .select("o.id AS o", "q.id AS q")
        )


def counted(left: DataFrame, right: DataFrame) -> braid.Join:
    """The last two orders with every quote of the last twenty seconds."""
    orders = braid.stream("o", left, time="ts", window=braid.rows(2))
    quotes = braid.stream("q", right, time="ts", window="20 seconds")
    return braid.join(orders, quotes).on("o.k <> q.k").select("o.id AS o", "q.id AS q")


def test_windows_of_rows_are_the_same_however_rows_arrive(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = asynchronous(feed)
    place.run(counted(orders.stream, quotes.stream).ordered(), endOfInput="flush")
    kinds = {first + n: n % 2 for first in (0, 10, 20) for n in (7, 3, 9, 0, 5)}
    wanted = set()
    for q, k in {1: 1, 4: 0, 8: 0, 6: 1, 22: 1, 15: 0}.items():
        for o, j in kinds.items():
            time = max(o, q)
            last = sorted(other for other in kinds if other <= time)[-2:]
            if j != k and o in last and time - q <= 20:
                wanted.add((o, q))
    assert set(in_file_order(place)) == wanted
    assert len(in_file_order(place)) == len(wanted)
    static = counted(orders.static, quotes.static).batch()
    assert {(row["o"], row["q"]) for row in static.collect()} == wanted


def test_windows_of_rows_say_what_they_need(feed: Callable[..., Feed]) -> None:
    orders, quotes = feed("o").add((1, at(1), 1)), feed("q").add((1, at(1), 1))
    with pytest.raises(errors.WindowError, match=r"Add \.ordered\(\)"):
        _ = counted(orders.stream, quotes.stream).writeStream
    with pytest.raises(errors.WindowError, match="at least 1"):
        braid.rows(0)
    listed = orders.static.selectExpr("id", "ts", "k", "array(k) AS several")
    with pytest.raises(errors.WindowError, match="several has type array"):
        counted(listed, quotes.static).batch()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"policy": "sorted"}, "policy=...) is one of sync-filter"), ({"alpha": 1.5}, "less than 1")],
)
def test_settings_without_a_meaning_are_refused(
    feed: Callable[..., Feed], arguments: dict[str, Any], said: str
) -> None:
    orders, quotes = feed("o").add((1, at(1), 1)), feed("q").add((1, at(1), 1))
    streams = [braid.stream(n, f.static, time="ts", window="1 second") for n, f in (("o", orders), ("q", quotes))]
    with pytest.raises(errors.QueryError, match=said.replace("(", r"\(").replace(")", r"\)")):
        braid.join(*streams).ordered(**arguments)


def items_joined(left: DataFrame, right: DataFrame) -> braid.Join:
    streams = [braid.stream(name, df, time="ts", window="10 minutes") for name, df in (("s", left), ("t", right))]
    return braid.join(*streams).on("s.item = t.item")


def test_the_count_of_different_items_of_the_last_ten_minutes(feed: Callable[..., Feed], place: Place) -> None:
    """SELECT COUNT(DISTINCT S.item) over 10 minutes of S join T on item: its whole sequence of values."""
    chance, minute = random.Random(11), 60_000_000
    feeds = {name: feed(name, "ts timestamp, item string") for name in "st"}
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, fed in feeds.items():
        times = sorted(chance.randint(0, 90) for _ in range(40))
        rows[name] = [{"ts": time * minute, "item": chance.choice("abcdefgh")} for time in times]
        for first in range(0, 40, 10):
            fed.add(*((at(row["ts"] / 1e6), row["item"]) for row in rows[name][first : first + 10]))
    releases = Releases(
        [OracleStream(name, 10 * minute) for name in "st"],
        [Condition(("s", "t"), lambda s, t: s["item"] == t["item"])],
        0,
    )
    releases.batch(rows, 0)
    releases.flush()
    expected = Changes([], lambda live: (len({row[1] for row in live}),), 10 * minute)
    expected.release(releases.left)
    query = items_joined(feeds["s"].stream, feeds["t"].stream).groupBy()
    counted = query.agg("count(DISTINCT s.item) AS items", over="10 minutes").ordered()
    run = place.run(counted, endOfInput="flush")
    names = sorted(Path(place.output).glob("*.parquet"))
    got = [(row["items"], row["result_time"]) for path in names for row in pq.read_table(path).to_pylist()]
    assert got == [(row[0], at(time / 1e6)) for row, time in expected.left]
    assert sum(progress["numOutputRows"] for progress in run.recentProgress) == len(got) > 10


def test_ordered_aggregates_say_when_and_end_as_unordered_ones(spark: SparkSession, feed: Callable[..., Feed]) -> None:
    orders, quotes = asynchronous(feed)
    streams = [braid.stream(n, f.static, time="ts", window="20 seconds") for n, f in (("o", orders), ("q", quotes))]
    grouped = braid.join(*streams).on("o.k = q.k").groupBy("o.k")
    calls = ("count(*) AS n", "sum(CAST(q.id AS decimal(10, 2)) / 3) AS total", "max(CAST(o.id AS string)) AS last")
    plain, ordered_one = grouped.agg(*calls), grouped.agg(*calls).ordered()
    assert ordered_one.schema.fieldNames() == ["k", "n", "total", "last", "result_time"]
    assert ordered_one.schema["result_time"].dataType == TimestampType()
    history = [tuple(row) for row in ordered_one.batch().collect()]
    times = [row[-1] for row in history]
    assert times == sorted(times)
    assert {row[0]: row[:-1] for row in history} == {row["k"]: tuple(row) for row in plain.batch().collect()}
    nothing = braid.join(*streams).on("o.k > 10 + q.k").groupBy().agg("count(*) AS n").ordered().batch()
    assert nothing.count() == 0


def test_distinct_rows_are_emitted_at_their_first_time(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = asynchronous(feed)
    seen: list[int] = []
    query = braid.join(
        braid.stream("o", orders.stream, time="ts", window="20 seconds"),
        braid.stream("q", quotes.stream, time="ts", window="20 seconds"),
    )
    distinct = query.on("o.k = q.k").select("o.id AS o").distinct().ordered("filter-order")
    writer = distinct.writeStream.foreachBatch(lambda frame, _: seen.extend(row["o"] for row in frame.collect()))
    writer = writer.option("checkpointLocation", str(place.checkpoint)).option("endOfInput", "flush")
    writer.trigger(availableNow=True).start().awaitTermination()
    kinds = {first + n: n % 2 for first in (0, 10, 20) for n in (7, 3, 9, 0, 5)}
    on_time = {1: 1, 4: 0, 8: 0, 6: 1, 22: 1, 15: 0}
    first = {o: min(max(o, q) for q, j in on_time.items() if j == k and abs(o - q) <= 20) for o, k in kinds.items()}
    assert sorted(seen) == sorted(first)
    assert [first[o] for o in seen] == sorted(first.values())


def test_a_second_column_with_the_name_of_the_time_is_refused(feed: Callable[..., Feed]) -> None:
    orders, quotes = feed("o").add((1, at(1), 1)), feed("q").add((1, at(1), 1))
    streams = [braid.stream(n, f.static, time="ts", window="1 second") for n, f in (("o", orders), ("q", quotes))]
    grouped = braid.join(*streams).groupBy("o.k").agg("count(*) AS Result_Time")
    with pytest.raises(errors.QueryError, match="Rename the other"):
        grouped.ordered()
    with pytest.raises(errors.QueryError, match="column result_time of its own"):
        braid.join(*streams).ordered().groupBy("result_time").agg("count(*)")
