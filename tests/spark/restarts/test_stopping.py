"""Runs that are stopped or ended from inside: by the function of `foreachBatch`, by other threads, in any step."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid import errors

SCHEMA = "id bigint, ts timestamp"
START = datetime(2024, 1, 1, tzinfo=UTC)
BATCHES = 3
SECONDS = 30
"""How long a test waits for what must happen at once."""

Function = Callable[[DataFrame, int], None]


class Query:
    """Two streams of three files each, read one a batch by a query that never ends by itself."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self._spark = spark
        self._place = place
        self.run: braid.Run
        self.seen: dict[int, list[tuple[int, int]]] = {}
        self._started = threading.Event()
        for name, ahead in (("a", 10), ("b", 0)):
            (place / name).mkdir()
            for number in range(BATCHES):
                path = place / name / f"{number}.parquet"
                times = pa.array([START + timedelta(seconds=number + ahead)], pa.timestamp("us", "UTC"))
                pq.write_table(pa.table({"id": pa.array([number], pa.int64()), "ts": times}), path)
                os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))

    def start(self, function: Function, *, ordered: bool = False, **trigger: Any) -> braid.Run:
        reader = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        streams = [
            braid.stream(name, reader.parquet(str(self._place / name)), time="ts", window="1 minute")
            for name in ("a", "b")
        ]
        query = braid.join(*streams).select("a.id AS a", "b.id AS b")
        writer = (query.ordered() if ordered else query).writeStream.foreachBatch(self._waiting(function))
        writer = writer.option("checkpointLocation", str(self._place / "checkpoint"))
        self._started.clear()
        self.run = writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start()
        self._started.set()
        return self.run

    def take(self, frame: DataFrame, step: int) -> None:
        self.seen[step] = sorted((row.a, row.b) for row in frame.collect())

    def finish(self) -> None:
        """Run to the end of the input, and compare with all pairs."""
        self.start(self.take, availableNow=True).awaitTermination()
        found = sorted(pair for pairs in self.seen.values() for pair in pairs)
        assert found == [(a, b) for a in range(BATCHES) for b in range(BATCHES)]

    def _waiting(self, function: Function) -> Function:
        """The first batch may come before `start` has returned the run that the function is to stop."""

        def call(frame: DataFrame, step: int) -> None:
            assert self._started.wait(SECONDS)
            function(frame, step)

        return call


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Query:
    return Query(spark, tmp_path)


def test_stop_inside_foreach_batch_ends_the_run_after_the_step(query: Query) -> None:
    def stop_at_once(frame: DataFrame, step: int) -> None:
        query.run.stop()
        query.run.stop()
        query.take(frame, step)

    run = query.start(stop_at_once)
    assert run.awaitTermination(SECONDS), "the run goes on"
    assert not run.isActive
    assert run.exception() is None
    assert list(query.seen) == [0]
    run.stop()
    query.finish()


def test_a_function_that_stops_its_run_and_raises(query: Query) -> None:
    def stop_and_raise(frame: DataFrame, step: int) -> None:
        query.run.stop()
        raise ValueError("no further")

    run = query.start(stop_and_raise)
    with pytest.raises(errors.SinkError, match="ValueError: no further"):
        run.awaitTermination(SECONDS)
    assert not run.isActive
    query.finish()


@pytest.mark.parametrize("leave", [lambda: sys.exit(3), KeyboardInterrupt, GeneratorExit], ids=["exit", "^C", "close"])
def test_a_function_that_ends_its_thread_ends_the_run(query: Query, leave: Callable[[], BaseException]) -> None:
    def end(frame: DataFrame, step: int) -> None:
        raise leave()

    run = query.start(end)
    with pytest.raises(
        errors.SinkError, match=r"could not be delivered: (SystemExit: 3|KeyboardInterrupt|GeneratorExit)"
    ):
        run.awaitTermination(SECONDS)
    assert not run.isActive
    query.finish()


@pytest.mark.parametrize("verb", ["flush", "awaitTermination"])
def test_what_would_wait_for_its_own_step_is_refused(query: Query, verb: str) -> None:
    refused: list[str] = []

    def wait_for_itself(frame: DataFrame, step: int) -> None:
        try:
            getattr(query.run, verb)()
        except errors.QueryError as error:
            refused.append(str(error))
        query.run.stop()

    assert query.start(wait_for_itself).awaitTermination(SECONDS)
    assert f"run.{verb}() was called inside a step of the run itself" in refused[0]
    assert "Hint: Call it outside foreachBatch." in refused[0]


def test_stop_inside_the_step_of_a_flush(query: Query) -> None:
    """What is held after the input has ended leaves in a step of its own, in the thread that asks for it."""

    def stop_when_flushed(frame: DataFrame, step: int) -> None:
        query.take(frame, step)
        if query.seen[step]:
            query.run.stop()

    run = query.start(stop_when_flushed, ordered=True)
    while len(query.seen) < BATCHES:
        assert run.isActive
        threading.Event().wait(0.05)
    run.flush()
    assert run.awaitTermination(SECONDS)
    assert run.exception() is None
    assert [step for step, pairs in query.seen.items() if pairs] == [BATCHES]


def test_stop_from_several_threads_during_a_step(query: Query) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(frame: DataFrame, step: int) -> None:
        query.take(frame, step)
        entered.set()
        assert leave.wait(SECONDS)

    run = query.start(slow)
    assert entered.wait(SECONDS)
    threads = [threading.Thread(target=run.stop) for _ in range(3)]
    for thread in threads:
        thread.start()
    leave.set()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    assert not run.isActive
    assert run.exception() is None
    query.finish()
