"""State, files and memory stay bounded: over event time, over steps inside one window, over results of a step."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import braid
from braid.state.manifests import SNAPSHOT_EVERY
from tests.properties.bounded import own_files, rows

SCHEMA = "id bigint, ts timestamp, k int"
MEGABYTE = 1 << 20
NIGHTLY = "BRAID_NIGHTLY"


def write_batches(source: Path, tables: list[pa.Table]) -> None:
    source.mkdir(parents=True)
    for number, table in enumerate(tables):
        path = source / f"{number:05d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))


def spark_query(spark: SparkSession, place: Path, window: str) -> braid.Join:
    streams = []
    for name in "ab":
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(place / name))
        streams.append(braid.stream(name, source, time="ts", window=window, lateness="1 second"))
    return braid.join(*streams)


@pytest.mark.slow
def test_state_stays_bounded_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """200 windows in 20 batches, through file sources and a Parquet sink."""
    for name in "ab":
        spans = [np.sort(np.random.default_rng(n).uniform(n * 100, n * 100 + 100, 40)) for n in range(20)]
        write_batches(tmp_path / name, [rows(n * 40, span) for n, span in enumerate(spans)])
    query = spark_query(spark, tmp_path, "10 seconds").on("a.k = b.k").select("a.id AS a", "b.id AS b")
    writer = query.writeStream.format("parquet").trigger(availableNow=True)
    run = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(tmp_path / "output"))
    run.awaitTermination()
    progress = run.recentProgress
    assert [step["batchId"] for step in progress] == list(range(20))
    for what in ("stateRows", "stateBytes", "stateBlocks"):
        values = [step[what] for step in progress]
        assert max(values[10:]) <= 1.5 * max(values[3:10]), (what, values)
    assert progress[-1]["stateBlocks"] <= 16
    assert own_files(tmp_path / "checkpoint") <= progress[-1]["stateBlocks"] + 16 + SNAPSHOT_EVERY


@contextmanager
def peak_of_workers() -> Iterator[list[int]]:
    """The largest resident size that any Python worker below this process reaches, in bytes, sampled."""
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for process in psutil.Process().children(recursive=True):
                try:
                    if "pyspark.daemon" in " ".join(process.cmdline()):
                        peak[0] = max(peak[0], process.memory_info().rss)
                except psutil.Error:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()


def cross_join(spark: SparkSession, place: Path, count: int, sink: str) -> dict[str, Any]:
    """One step that joins every row of two streams with every other; its progress."""
    for name in "ab":
        write_batches(place / name, [rows(0, np.linspace(0, 1, count))])
    writer = spark_query(spark, place, "1 minute").select("a.id AS a", "b.id AS b", "result_time").writeStream
    run = writer.format(sink).option("checkpointLocation", str(place / "checkpoint")).trigger(availableNow=True)
    run = run.option("path", str(place / "output")).start()
    run.awaitTermination()
    (progress,) = run.recentProgress
    return progress


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sink", "count"),
    [
        ("noop", 7_100),
        ("parquet", 2_250),
        pytest.param(
            "parquet", 7_100, marks=pytest.mark.skipif(NIGHTLY not in os.environ, reason=f"set {NIGHTLY}: 50 M rows")
        ),
    ],
)
def test_a_step_never_holds_all_its_results(spark: SparkSession, tmp_path: Path, sink: str, count: int) -> None:
    """50 million results in a step that are only counted, 5 million that are written."""
    with peak_of_workers() as peak:
        progress = cross_join(spark, tmp_path, count, sink)
    assert progress["numOutputRows"] == count * count
    assert 0 < peak[0] < 600 * MEGABYTE, f"{peak[0] / MEGABYTE:.0f} MB"
    print(f"{sink} {count * count:,} results: {peak[0] / MEGABYTE:.0f} MB, {progress['durationMs']} ms")
    if sink == "parquet":
        files = list((tmp_path / "output").glob("part-*.parquet"))
        assert sum(pq.read_metadata(path).num_rows for path in files) == count * count
