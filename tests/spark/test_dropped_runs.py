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


@pytest.mark.parametrize("how", ["ended", "failed", "stopped"])
def test_nothing_of_a_dropped_run_stays_in_the_jvm(
    spark: SparkSession, place: Place, feeds: dict[str, Feed], how: str
) -> None:
    writer = joined(feeds).writeStream.option("checkpointLocation", str(place.checkpoint))
    run: braid.Run | None
    if how == "failed":
        run = writer.foreachBatch(_refuse).trigger(availableNow=True).start()
        with pytest.raises(braid.BraidError, match="not these"):
            run.awaitTermination()
    elif how == "ended":
        run = writer.option("path", str(place.output)).trigger(availableNow=True).start()
        run.awaitTermination()
    else:
        run = writer.option("path", str(place.output)).trigger(processingTime="100 milliseconds").start()
        run.stop()
    query = weakly(spark, run)
    run = None

    def gone() -> bool:
        gc.collect()
        spark.sparkContext._jvm.System.gc()
        return query.get() is None

    assert await_condition(gone), "the query is still in the JVM"


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


def _refuse(results: Any, step: int) -> None:
    raise ValueError("not these")
