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
from braid.optimizer.strategies import Biclique, Partitioned, Strategy
from braid.testing import Draft, InlineQuery, constant, equal, within

SECOND = 1_000_000
SCHEMA = "id bigint, ts timestamp, k int"
TYPES = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("k", pa.int32())])
MEGABYTE = 1 << 20
NIGHTLY = "BRAID_NIGHTLY"


def rows(first_id: int, seconds: np.ndarray, keys: int = 3) -> pa.Table:
    """Rows at the given event times."""
    times = pa.array((seconds * SECOND).astype(np.int64)).cast(TYPES.field("ts").type)
    ids = np.arange(first_id, first_id + len(seconds))
    return pa.table([pa.array(ids), times, pa.array((ids % keys).astype(np.int32))], schema=TYPES)


def inline_query(directory: Path, window_s: int, strategy: Strategy) -> InlineQuery:
    draft = Draft()
    columns = {"id": "bigint", "k": "int"}
    a = draft.stream("a", columns, window_us=window_s * SECOND, lateness_us=SECOND)
    b = draft.stream("b", columns, window_us=window_s * SECOND, lateness_us=SECOND)
    keyed = isinstance(strategy, Partitioned)
    draft.on(equal(a["k"], b["k"]) if keyed else within(a["id"], b["id"], constant(10, "bigint")))
    return InlineQuery(draft.logical_plan(), str(directory), strategy=strategy)


def own_files(checkpoint: Path) -> int:
    """The files of a checkpoint that are Braid's; Spark keeps its own for a hundred batches."""
    return sum(path.is_file() and "spark" not in path.relative_to(checkpoint).parts for path in checkpoint.rglob("*"))


@pytest.mark.parametrize("strategy", [Partitioned(units=3), Biclique(units=2)], ids=["partitioned", "biclique"])
def test_state_stays_bounded_over_event_time(tmp_path: Path, strategy: Strategy) -> None:
    """300 windows, three a step: after a few steps nothing grows."""
    query = inline_query(tmp_path, window_s=10, strategy=strategy)
    seen = []
    for step in range(100):
        times = np.sort(np.random.default_rng(step).uniform(step * 30, step * 30 + 30, 12))
        progress = query.run(step, {"a": rows(step * 12, times), "b": rows(step * 12, times)})
        assert progress is not None
        files = own_files(tmp_path / "checkpoint")
        seen.append((progress["stateRows"], progress["stateBytes"], progress["stateBlocks"], files))
    early, late = np.array(seen[5:30]).max(axis=0), np.array(seen[30:]).max(axis=0)
    assert (late <= early * 1.5).all(), (early, late)
    state_rows, _, blocks, files = late.tolist()
    assert state_rows <= 2 * 12 * 3
    assert blocks <= 12
    assert files <= blocks + 12


@pytest.mark.parametrize("strategy", [Partitioned(units=3), Biclique(units=2)], ids=["partitioned", "biclique"])
def test_blocks_stay_few_inside_one_window(tmp_path: Path, strategy: Strategy) -> None:
    """200 tiny steps whose rows all stay live: blocks are merged, so their number grows far slower than the steps."""
    query = inline_query(tmp_path, window_s=3600, strategy=strategy)
    blocks, files = [], []
    for step in range(200):
        times = np.array([step + 0.25, step + 0.5])
        progress = query.run(step, {"a": rows(step * 2, times), "b": rows(step * 2, times)})
        assert progress is not None
        blocks.append(progress["stateBlocks"])
        files.append(own_files(tmp_path / "checkpoint"))
    assert progress["stateRows"] == 2 * 2 * 200
    assert max(blocks) <= 60, max(blocks)
    assert max(files) <= 100, max(files)


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
    assert own_files(tmp_path / "checkpoint") <= progress[-1]["stateBlocks"] + 16


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
