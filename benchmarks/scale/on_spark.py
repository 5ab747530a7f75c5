"""The same rows a step on Spark `local[k]`, inputs repartitioned to k, and a no-op job with as many tasks."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.streaming import QUIET
from benchmarks.scale.rows import STEP_US, STREAMS, Join

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_SECONDS = 0.02
NOOP_JOBS = 7
MEMORY = "4g"


def open_session(slots: int, scratch: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = QUIET | {
        "spark.driver.memory": MEMORY,
        "spark.sql.shuffle.partitions": str(slots),
        "spark.sql.session.timeZone": "UTC",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.local.dir": f"{scratch}/local",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
    }
    builder = SparkSession.builder.appName("braid-scale").master(f"local[{slots}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def measure_join(
    spark: SparkSession, join: Join, slots: int, steps: int, warm_up: int, strategy: str | None, scratch: Path
) -> dict[str, Any]:
    """The median of the steps after the warm-up, from their progress."""
    write_steps(join, steps, scratch)
    query = build_query(spark, join, slots, strategy, scratch)
    writer = query.writeStream.format("parquet").option("checkpointLocation", str(scratch / "checkpoint"))
    run = writer.trigger(availableNow=True).start(str(scratch / "out"))
    began = None
    while run.isActive:
        time.sleep(POLL_SECONDS)
        done = len(run.recentProgress)
        if began is None and done >= warm_up:
            began = (done, tree_cpu())
    run.awaitTermination()
    progress = list(run.recentProgress)
    whole = tree_cpu()
    if len(progress) != steps or began is None:
        raise AssertionError(f"{len(progress)} steps were run instead of {steps}")
    tree = (whole - began[1]) / (steps - began[0])
    return summarize(progress[warm_up:]) | {"tree_cpu_seconds": tree, "results": sum(_results(progress))}


def build_query(spark: SparkSession, join: Join, slots: int, strategy: str | None, scratch: Path) -> Any:
    import braid
    from benchmarks.strategies import strategy_of

    window = f"{join.window_steps * STEP_US // 1_000_000} seconds"
    streams = []
    for name in STREAMS:
        reader = spark.readStream.schema("ts timestamp, k bigint, v double, w double").option("maxFilesPerTrigger", 1)
        frame = reader.parquet(str(scratch / "input" / name)).repartition(slots)
        streams.append(braid.stream(name, frame, time="ts", window=window))
    query = braid.join(*streams).on(join.sql).select("r.ts AS r_ts", "s.ts AS s_ts", "r.v AS r_v", "s.v AS s_v")
    return query if strategy is None else query.using(strategy_of(strategy))


def summarize(progress: list[dict[str, Any]]) -> dict[str, Any]:
    def median(values: list[float]) -> float:
        return float(statistics.median(values))

    pairs = [sum(unit["pairsCompared"] for unit in p["units"]) for p in progress]
    cpu = [sum(p["cpuSeconds"].values()) for p in progress]
    return {
        "steps": len(progress),
        "cpu_seconds": median(cpu),
        "cpu_ingest": median([p["cpuSeconds"]["ingest"] for p in progress]),
        "cpu_probe": median([p["cpuSeconds"]["probe"] for p in progress]),
        "step_ms": median([p["durationMs"]["trigger"] for p in progress]),
        "ingest_ms": median([p["durationMs"]["ingest"] for p in progress]),
        "probe_ms": median([p["durationMs"]["probe"] for p in progress]),
        "pairs": median([float(number) for number in pairs]),
        "cpu_per_pair": median([seconds / max(1, number) for seconds, number in zip(cpu, pairs, strict=True)]),
        "blocks": progress[-1]["stateBlocks"],
        "record_bytes": max(p["recordBytes"] for p in progress),
        "segment_reads": median([p["segmentReads"]["largestSlot"] for p in progress]),
        "store_reads": median([p["storeReads"] for p in progress]),
        "store_writes": median([p["storeWrites"] for p in progress]),
        "bytes_moved": median([p["bytesMoved"] for p in progress]),
        "layout": progress[-1]["strategy"],
    }


def measure_noop(spark: SparkSession, slots: int) -> dict[str, Any]:
    """CPU of all processes for a job whose Python tasks do nothing: three per slot, like a step of two streams."""
    tasks = 3 * slots
    job = spark.range(0, tasks, 1, tasks).mapInArrow(nothing, "id bigint")
    job.collect()
    job.collect()
    spent = []
    for _ in range(NOOP_JOBS):
        began = tree_cpu()
        job.collect()
        spent.append(tree_cpu() - began)
    return {"tasks": tasks, "tree_cpu_seconds": statistics.median(spent)}


def nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Reads its rows and emits none."""
    for _ in batches:
        yield from ()


def write_steps(join: Join, steps: int, scratch: Path) -> None:
    for step in range(steps):
        for name, table in join.tables(step).items():
            directory = scratch / "input" / name
            directory.mkdir(parents=True, exist_ok=True)
            path = directory / f"{step:05d}.parquet"
            pq.write_table(table, path)
            # The source reads files in the order of their times.
            os.utime(path, (1_700_000_000 + step, 1_700_000_000 + step))


def tree_cpu() -> float:
    """CPU seconds of this process, its JVM and its Python workers, ended ones included."""
    own = psutil.Process()
    total = 0.0
    for process in [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _results(progress: list[dict[str, Any]]) -> list[int]:
    return [p["numOutputRows"] for p in progress]
