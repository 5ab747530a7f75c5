"""Spark's own stream-stream join, with each of its state stores, and with a constant key where it needs one."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from benchmarks.answers import answer_of_files, interval_condition
from benchmarks.pacing import complete, follow_paced
from benchmarks.peers.streaming import Announce, Places, follow, open_inputs, open_session, shared_settings, sink_files
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import Workload, row_counts

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


def run_spark(task: Task, places: Places, announce: Announce) -> Measurement:
    """A task's batches through Spark's own join."""
    spark = open_session(task, places)
    joined = _join(task, open_inputs(spark, task, places)).selectExpr(*map(_flat, task.workload.select))
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(places.checkpoint))
    started = time.time()
    details: dict[str, Any] = {}
    seconds: tuple[float, ...] = ()
    if task.mode == "paced":
        query = writer.start(str(places.output))
        details["latency"] = follow_paced(task, places, places.checkpoint, query, announce)
    else:
        query = writer.trigger(availableNow=True).start(str(places.output))
        seconds = follow(task, places.checkpoint, started, query, announce)
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
        answer=answer_of_files(files, task.workload.output_names, task.cores) if complete(details) else None,
        answer_batches=task.batches if task.mode == "paced" else _sink_batches(task, places),
        settings=shared_settings(task) | {"condition": "; ".join(_conditions(task)), "watermark": DELAY},
        details=details,
    )


def _join(task: Task, frames: list[DataFrame]) -> DataFrame:
    """The join under flat names; of several event times Spark allows one downstream, so the others become values."""
    from pyspark.sql import functions as sf

    names = task.workload.stream_names
    flat = [
        frame.select([sf.col(column).alias(f"{name}_{column}") for column in frame.columns])
        .withWatermark(f"{name}_ts", DELAY)
        .withColumn(f"{name}_one", sf.lit(1))
        for name, frame in zip(names, frames, strict=True)
    ]
    joined = flat[0]
    for number, (other, condition) in enumerate(zip(flat[1:], _conditions(task), strict=True), start=1):
        joined = joined.join(other, sf.expr(_flat(condition)))
        if number < len(names) - 1:
            values = {f"{x}_ts": sf.expr(f"timestamp_micros(unix_micros({x}_ts))") for x in names[:number]}
            joined = joined.withColumns(values)
    return joined


def _flat(text: str) -> str:
    return re.sub(r"\b([a-z]\w*)\.(\w+)", r"\1_\2", text)


def _conditions(task: Task) -> list[str]:
    """What each stream after the first is joined to those before it by."""
    workload = task.workload
    if len(workload.feeds) > 2:
        return [_chained(workload, number) for number in range(1, len(workload.feeds))]
    condition = interval_condition(workload)
    one, other = workload.stream_names
    return [condition if workload.on_equates else f"{one}.one = {other}.one AND {condition}"]


def _chained(workload: Workload, number: int) -> str:
    earlier, own = workload.stream_names[:number], workload.stream_names[number]
    bound = f"INTERVAL '{workload.window_seconds:g}' SECOND"
    equal = [f"{earlier[-1]}.{column} = {own}.{column}" for column in workload.equal_columns]
    return " AND ".join(equal + [f"{own}.ts BETWEEN {x}.ts - {bound} AND {x}.ts + {bound}" for x in earlier])


def _sink_batches(task: Task, places: Places) -> int:
    """Batches with input in Spark's own sink; a run stopped at its time limit may be a batch ahead of its commits."""
    logged = [int(x.name.removesuffix(".compact")) for x in (places.output / "_spark_metadata").glob("[0-9]*")]
    return min(task.batches, max(logged, default=-1) + 1)
