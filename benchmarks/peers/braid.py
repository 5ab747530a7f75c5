"""Braid with its parquet sink."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from benchmarks.answers import answer_of_files
from benchmarks.pacing import complete, follow_paced
from benchmarks.peers.streaming import Announce, Places, follow, open_inputs, open_session, shared_settings, sink_files
from benchmarks.strategies import strategy_of
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import batch_files, row_counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from braid.api.join import Join


def run_braid(task: Task, places: Places, announce: Announce) -> Measurement:
    """A task's batches through Braid."""
    spark = open_session(task, places)
    join = build_join(task, open_inputs(spark, task, places))
    writer = join.writeStream.format("parquet").option("checkpointLocation", str(places.checkpoint))
    started = time.time()
    details: dict[str, Any] = {}
    seconds: tuple[float, ...] = ()
    if task.mode == "paced":
        run = writer.start(str(places.output))
        details["latency"] = follow_paced(task, places, places.checkpoint / "spark", run, announce)
    else:
        run = writer.trigger(availableNow=True).start(str(places.output))
        seconds = follow(task, places.checkpoint / "spark", started, run, announce)
    progress = run.recentProgress
    files = sink_files(spark, places.output)
    spark.stop()
    finished = progress[-1]["batchId"] + 1 if progress else 0
    covered = task.batches if task.mode == "paced" else finished
    rows = row_counts(places.data, task.workload.stream_names, task.batches)
    settings = shared_settings(task) | {"strategy": progress[-1]["strategy"] if progress else "none"}
    return Measurement(
        seconds=seconds,
        rows=tuple(rows[: len(seconds)]),
        answer=answer_of_files(files, task.workload.output_names, task.cores) if complete(details) else None,
        answer_batches=covered,
        settings=settings,
        details=details | _describe(progress, task.warm_up, live_row_bytes(task, places)),
    )


def build_join(task: Task, frames: list[DataFrame]) -> Join:
    """The workload's question, as a user of Braid would ask it."""
    return build_condition(task, frames).select(*task.workload.select)


def build_condition(task: Task, frames: list[DataFrame]) -> Join:
    """The same before anything is made of its results."""
    import braid

    workload = task.workload
    window: Any = braid.unbounded if workload.window_seconds is None else f"{workload.window_seconds:g} seconds"
    named = zip(workload.stream_names, frames, strict=True)
    join = braid.join(*(braid.stream(name, frame, time="ts", window=window) for name, frame in named))
    if workload.function is not None:
        join = join.on(braid.udf(workload.function.function, *workload.function.columns))
    else:
        join = join.on(workload.on)
    return join if task.strategy is None else join.using(strategy_of(task.strategy))


def live_row_bytes(task: Task, places: Places) -> float:
    """The Arrow size of the columns that the question reads, for a row of any stream."""
    size, rows = 0, 0
    for feed in task.workload.feeds:
        live = task.workload.live_columns(feed)
        table = pq.read_table(batch_files(places.data, feed.name, 1)[0], columns=live)
        size, rows = size + table.nbytes, rows + table.num_rows
    return size / rows


def _describe(progress: list[dict[str, Any]], warm_up: int, row_bytes: float) -> dict[str, Any]:
    """What the run said of itself over its steady part."""
    steady = [record for record in progress if record["batchId"] >= warm_up and record["numInputRows"]]
    if not steady:
        return {}
    phases = {name: statistics.median(one["durationMs"][name] for one in steady) for name in steady[0]["durationMs"]}
    last = steady[-1]
    return {
        "median_phase_ms": phases,
        "late_rows": sum(sum(record["lateRows"].values()) for record in progress),
        "state_rows": last["stateRows"],
        "state_bytes": last["stateBytes"],
        "arrow_bytes": round(last["stateRows"] * row_bytes),
        "state_blocks": last["stateBlocks"],
        "compared": sum(unit["pairsCompared"] for record in steady for unit in record["units"]),
        "unit_cpu_seconds": sum(unit["cpuSeconds"] for record in steady for unit in record["units"]),
        "moved_bytes": sum(record["bytesMoved"] for record in progress),
        "modelled_bytes": sum(record["bytesModelled"] for record in progress),
    }
