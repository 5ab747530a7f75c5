"""Spark's own stream-stream join, with each of its state stores, and with a constant key where it needs one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks.answers import answer_of_files, interval_condition
from benchmarks.pacing import follow_paced
from benchmarks.peers.streaming import Places, Tell, follow, open_inputs, open_session, shared_settings, sink_files
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import row_counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Batches meet at whole seconds, and Spark keeps watermarks in milliseconds: one below the newest row drops nothing,
# where "0 seconds" would drop rows equal to it.
DELAY = "1 millisecond"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STORE = "spark.sql.streaming.stateStore.providerClass"
FORMAT = "spark.sql.streaming.join.stateFormatVersion"
STORES: dict[str, dict[str, str]] = {
    "default": {},
    "rocksdb": {STORE: ROCKSDB, "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"},
    "v4": {
        STORE: ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        FORMAT: "4",
    },
}
CONSTANT = "constant_key"


def run_spark(task: Task, places: Places, tell: Tell) -> Measurement:
    """A task's batches through Spark's own join."""
    spark = open_session(task, places)
    joined = _join(task, open_inputs(spark, task, places)).selectExpr(*task.workload.select)
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(places.checkpoint))
    started = time.time()
    details: dict[str, Any] = {}
    seconds: tuple[float, ...] = ()
    if task.mode == "paced":
        query = writer.start(str(places.output))
        details["latency"] = follow_paced(task, places, places.checkpoint, query, tell)
    else:
        query = writer.trigger(availableNow=True).start(str(places.output))
        seconds = follow(task, places.checkpoint, started, query, tell)
    operators = [operator for record in query.recentProgress for operator in record.stateOperators]
    details |= {
        "late_rows": sum(operator.numRowsDroppedByWatermark for operator in operators),
        "state_rows": max((operator.numRowsTotal for operator in operators), default=0),
        "state_bytes": max((operator.memoryUsedBytes for operator in operators), default=0),
    }
    files = sink_files(spark, places.output)
    spark.stop()
    rows = row_counts(places.data, task.workload.stream_names, task.batches)
    return Measurement(
        seconds=seconds,
        rows=tuple(rows[: len(seconds)]),
        answer=answer_of_files(files, task.workload.output_names, task.cores),
        answer_batches=task.batches if task.mode == "paced" else _sink_batches(task, places),
        settings=shared_settings(task) | {"condition": _condition(task), "watermark": DELAY},
        details=details,
    )


def _join(task: Task, frames: list[DataFrame]) -> DataFrame:
    from pyspark.sql import functions as sf

    named = [
        frame.withWatermark("ts", DELAY).withColumn("one", sf.lit(1)).alias(name)
        for name, frame in zip(task.workload.stream_names, frames, strict=True)
    ]
    if len(named) == 2:
        return named[0].join(named[1], sf.expr(_condition(task)))
    raise ValueError("Spark's joins of three streams are not measured")


def _condition(task: Task) -> str:
    condition = interval_condition(task.workload)
    if task.workload.on_equates:
        return condition
    one, other = task.workload.stream_names
    return f"{one}.one = {other}.one AND {condition}"


def _sink_batches(task: Task, places: Places) -> int:
    """Batches with input in Spark's own sink; a run stopped at its time limit may be a batch ahead of its commits."""
    logged = [int(x.name.removesuffix(".compact")) for x in (places.output / "_spark_metadata").glob("[0-9]*")]
    return min(task.batches, max(logged, default=-1) + 1)
