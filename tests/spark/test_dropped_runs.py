"""A run that its user drops: one that has ended leaves nothing behind, one that is active goes on."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import braid
from tests.oracle.feeds import Feed, Place, at

PATIENCE_SECONDS = 60


@pytest.fixture
def feeds(spark: SparkSession, tmp_path: Path) -> dict[str, Feed]:
    return {
        name: Feed(spark, tmp_path / "input" / name, "ts timestamp, k int, n int").add((at(1), 1, 1)) for name in "ab"
    }


def joined(feeds: dict[str, Feed]) -> braid.Join:
    streams = [braid.stream(name, feed.stream, time="ts", window="1 minute") for name, feed in feeds.items()]
    return braid.join(*streams).on("a.k = b.k").select("a.n AS a", "b.n AS b")


def weakly(spark: SparkSession, run: braid.Run) -> Any:
    """The JVM's weak reference to the query of a run."""
    query = run._execution.query._query._jsq.streamingQuery()
    return spark.sparkContext._jvm.java.lang.ref.WeakReference(query)


def await_condition(condition: Callable[[], bool]) -> bool:
    """Whether it comes true in time."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("trigger", [{"availableNow": True}, {"processingTime": "100 milliseconds"}])
def test_nothing_of_a_dropped_run_stays_in_the_jvm(
    spark: SparkSession, tmp_path: Path, feeds: dict[str, Feed], trigger: dict[str, Any]
) -> None:
    """Of several, since others may keep one for a while; what a run keeps of itself is kept of every run."""
    queries = [start_and_drop(spark, feeds, tmp_path / str(number), trigger) for number in range(3)]

    def gone() -> bool:
        gc.collect()
        spark.sparkContext._jvm.System.gc()
        return any(query.get() is None for query in queries)

    assert await_condition(gone), "the queries are still in the JVM"


def start_and_drop(spark: SparkSession, feeds: dict[str, Feed], place: Path, trigger: dict[str, Any]) -> Any:
    writer = joined(feeds).writeStream.option("checkpointLocation", f"{place}/checkpoint")
    run = writer.option("path", f"{place}/out").trigger(**trigger).start()
    run.awaitTermination() if "availableNow" in trigger else run.stop()
    return weakly(spark, run)


def test_an_active_run_that_is_dropped_goes_on(spark: SparkSession, place: Place, feeds: dict[str, Feed]) -> None:
    writer = joined(feeds).writeStream.queryName("dropped").option("checkpointLocation", str(place.checkpoint))
    writer.option("path", str(place.output)).trigger(processingTime="100 milliseconds").start()
    gc.collect()
    feeds["a"].add((at(2), 1, 2))
    (query,) = [query for query in spark.streams.active if query.name == "dropped"]
    try:
        assert await_condition(lambda: place.output.exists() and place.rows() == [(1, 1), (2, 1)])
    finally:
        query.stop()
