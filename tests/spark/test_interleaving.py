"""Rounds of several steps in one job, on Spark: every result once, at the end of the input and after restarts."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import braid
from braid import errors
from tests.oracle.feeds import Feed, Place, at

NAMES = "abcd"
ROW = "id bigint, ts timestamp, k int"


@pytest.fixture
def feeds(spark: SparkSession, tmp_path: Path) -> list[Feed]:
    return [Feed(spark, tmp_path / "input" / name, ROW) for name in NAMES]


def joined(feeds: list[Feed], interleave: int, **more: str) -> braid.Join:
    streams = [
        braid.stream(n, f.stream, time="ts", window="1 minute", **more) for n, f in zip(NAMES, feeds, strict=True)
    ]
    query = braid.join(*streams).on("a.k = b.k AND b.k = c.k AND c.k = d.k")
    query = query.select(*(f"{name}.id AS {name}" for name in NAMES))
    return query.using(braid.TimeSliced(units=2, interleave=interleave))


def add(feeds: list[Feed], batch: int) -> None:
    """Two rows of each stream, with two keys."""
    for feed in feeds:
        feed.add((2 * batch, at(batch), 0), (2 * batch + 1, at(batch), 1))


def expected(batches: int) -> list[tuple[int, ...]]:
    """All rows of one key, over all batches."""
    ids = [range(key, 2 * batches, 2) for key in (0, 1)]
    return sorted(row for own in ids for row in itertools.product(own, repeat=len(NAMES)))


def test_all_available_rows_give_every_result_once_also_by_runs_that_interleave_otherwise(
    feeds: list[Feed], place: Place
) -> None:
    for batch in range(3):
        add(feeds, batch)
    run = place.run(joined(feeds, interleave=3))
    progress = run.recentProgress
    assert [record["sparkBatchId"] for record in progress] == [0, 1, 2, None], "the last rounds are a step of their own"
    assert [record["inFlight"] for record in progress] == [2, 3, 3, 0]
    assert place.rows() == expected(3)
    for batch, interleave in ((3, 2), (4, 1)):
        add(feeds, batch)
        place.run(joined(feeds, interleave))
        assert place.rows() == expected(batch + 1)


def test_a_run_that_was_stopped_leaves_rounds_that_the_next_one_finishes(feeds: list[Feed], place: Place) -> None:
    add(feeds, 0)
    stopping: list[braid.Run] = []

    def stop(frame: object, step: int) -> None:
        while not stopping:
            time.sleep(0.01)
        stopping[0].stop()

    query = joined(feeds, interleave=3)
    writer = query.writeStream.option("checkpointLocation", str(place.checkpoint)).trigger(availableNow=True)
    stopping.append(writer.foreachBatch(stop).start())
    stopping[0].awaitTermination()
    assert [record["inFlight"] for record in stopping[0].recentProgress] == [2]
    run = query.writeStream.option("checkpointLocation", str(place.checkpoint)).trigger(availableNow=True)
    found: list[list[tuple[int, ...]]] = []
    run.foreachBatch(lambda frame, step: found.append(sorted(map(tuple, frame.collect())))).start().awaitTermination()
    assert found == [expected(1)]


def test_the_rounds_that_are_left_run_when_no_rows_arrive(feeds: list[Feed], place: Place) -> None:
    add(feeds, 0)
    writer = joined(feeds, interleave=3).writeStream.option("checkpointLocation", str(place.checkpoint))
    run = writer.trigger(processingTime="100 milliseconds").start(str(place.output))
    try:
        until = time.monotonic() + 60
        while not any(record["numOutputRows"] for record in run.recentProgress):
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        run.stop()
    assert place.rows() == expected(1)


def test_conjuncts_in_the_jvm_cannot_be_interleaved(feeds: list[Feed], place: Place) -> None:
    query = joined(feeds, interleave=2).on("reverse(cast(a.id AS string)) <= reverse(cast(b.id AS string))")
    with pytest.raises(errors.StrategyError, match="the JVM evaluates"):
        place.start(query)
