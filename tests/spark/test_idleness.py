"""Idleness through real runs: silence is counted while a run looks at its sources, and only when they are read."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid.control.idleness import SourceCheck
from braid.spark.streaming.sources import Sources
from tests.oracle.feeds import Feed, Place, at

ROW = "id bigint, ts timestamp, k int"


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[..., Feed]:
    return lambda name, ddl=ROW: Feed(spark, tmp_path / "input" / name, ddl)


def joined(orders: Feed, quotes: Feed, idle_after: str, window: Any = "10 minutes") -> braid.Join:
    """Orders never fall idle, quotes may."""
    return braid.join(
        braid.stream("o", orders.stream, time="ts", window=window),
        braid.stream("q", quotes.stream, time="ts", window=window, idle_after=idle_after),
    ).select("o.id AS o", "q.id AS q")


def running(place: Place, query: braid.Join) -> braid.Run:
    writer = query.writeStream.option("checkpointLocation", str(place.checkpoint))
    return writer.trigger(processingTime="50 milliseconds").start(str(place.output))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def input_rows(run: braid.Run) -> int:
    return sum(record["numInputRows"] for record in run.recentProgress)


def late_rows(run: braid.Run) -> int:
    return sum(sum(record["lateRows"].values()) for record in run.recentProgress)


def test_an_idle_stream_takes_the_watermark_of_the_others(feed: Callable[..., Feed], place: Place) -> None:
    """Nothing expires here: its watermark rises by the clock alone, and holds when the stream returns."""
    orders, quotes = feed("o").add((1, at(0), 1)), feed("q").add((1, at(0), 1))
    run = running(place, joined(orders, quotes, "500 ms", window="1 day"))
    try:
        wait_until(lambda: input_rows(run) == 2)
        orders.add((2, at(1000), 1))
        wait_until(lambda: run.lastProgress is not None and run.lastProgress["idle"] == ["q"] and input_rows(run) == 3)
        wait_until(lambda: (run.lastProgress or {})["watermarks"]["q"] == "2024-01-01T00:16:40.000Z")
        quotes.add((2, at(999), 1), (3, at(1000), 1))
        wait_until(lambda: input_rows(run) == 5)
    finally:
        run.stop()
    last = next(record for record in reversed(run.recentProgress) if record["numInputRows"])
    assert (last["idle"], last["lateRows"]) == ([], {"o": 0, "q": 1})
    assert place.rows() == [(1, 1), (1, 3), (2, 1), (2, 3)]


def test_a_step_without_input_lets_go_what_waits_for_an_idle_stream(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o").add((1, at(0), 1)), feed("q").add((1, at(0), 1))
    query = joined(orders, quotes, "1 second", window="10 seconds")
    place.run(query)
    orders.add((2, at(1000), 1))
    run = running(place, query)
    try:
        wait_until(lambda: any(record["numInputRows"] == 0 for record in run.recentProgress))
    finally:
        run.stop()
    tick = run.recentProgress[-1]
    assert (tick["idle"], tick["stateRows"], tick["numOutputRows"]) == (["q"], 1, 0)
    assert [(record["batchId"], record["sparkBatchId"]) for record in run.recentProgress] == [(1, 1), (2, None)]
    quotes.add((2, at(999), 1), (3, at(1000), 1))
    last = place.run(query).lastProgress
    assert last is not None
    assert (last["batchId"], last["sparkBatchId"], last["lateRows"]) == (3, 2, {"o": 0, "q": 1})
    assert place.rows() == [(1, 1), (2, 3)]


def test_downtime_is_no_silence(feed: Callable[..., Feed], place: Place) -> None:
    """Quotes are behind when the first run ends; their files are there long after that, when the next one starts."""
    idle_seconds = 2.0
    orders = feed("o").add(*((n, at(10 * n), 1) for n in range(50)))
    quotes = feed("q").add((0, at(0), 1))
    query = joined(orders, quotes, f"{idle_seconds} seconds")
    place.run(query)
    ended = time.monotonic()
    for first in range(1, 50, 20):
        quotes.add(*((n, at(10 * n), 1) for n in range(first, min(50, first + 20))))
    orders.add((50, at(500), 1))
    wait_until(lambda: time.monotonic() - ended > idle_seconds)
    run = place.run(query)
    assert late_rows(run) == 0
    assert all(record["idle"] == [] for record in run.recentProgress)
    together = {(o, q) for o in range(51) for q in range(50) if abs(o - q) <= 60}
    assert set(place.rows()) == together


def test_a_look_at_the_sources_finds_which_streams_have_unread_rows(
    spark: SparkSession, feed: Callable[..., Feed], tmp_path: Path
) -> None:
    """Files come one a trigger; the last frame reads its source whole, and two streams share one source."""
    slow, quick, whole = feed("slow"), feed("quick"), feed("whole")
    for number in range(3):
        slow.add((number, at(number), 1))
        whole.add((number, at(number), 1))
    quick.add((0, at(0), 1))
    shared = quick.stream
    everything = spark.readStream.schema(ROW).parquet(str(tmp_path / "input" / "whole"))
    frames = [slow.stream, shared, shared.where("k > 5"), everything, slow.stream.unionByName(quick.stream)]
    seen: dict[int, SourceCheck] = {}
    began = int(time.time() * 1000)
    reading: list[Sources] = []

    def take(rows: DataFrame, batch: int) -> None:
        wait_until(lambda: bool(reading))
        seen[batch] = reading[0].planned(batch)

    source = frames[0]
    for frame in frames[1:]:
        source = source.unionByName(frame)
    writer = source.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "spark"))
    query = writer.trigger(processingTime="20 milliseconds").start()
    try:
        reading.append(Sources(query, frames))
        wait_until(lambda: len(seen) == 3)
        after: list[SourceCheck] = []
        wait_until(lambda: not (after.append(reading[0].between_batches()) or all(after[-1].unread)))
    finally:
        query.stop()
    assert seen[0].unread == (True, True, True, False, True)
    assert seen[1].unread == (True, False, False, False, True)
    assert after[-1].unread == (False,) * 5
    assert began <= seen[0].checked_ms <= seen[1].checked_ms <= after[-1].checked_ms <= int(time.time() * 1000)
    assert reading[0].planned(99).unread == (True,) * 5
