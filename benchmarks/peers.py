"""The systems that are measured. Each runs one task in the process it is called in and says how long its batches took.

A streaming run is timed by the commits in Spark's checkpoint, which Braid's runs have too: a batch lasts from the
commit before it to its own, so whatever happens between batches counts as well.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.answers import (
    SELECTED,
    Answer,
    answer_of,
    answer_of_files,
    connect,
    integer_condition,
    interval_condition,
    join_query,
)
from benchmarks.workload import STREAMS, Workload, link_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from braid.api.run import Run

POLL_SECONDS = 0.2
# Settings that measure nothing: no user interface, no chatter, a host name that need not resolve.
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
# Batches meet at whole seconds, and Spark keeps watermarks in milliseconds: one below the newest row drops nothing,
# where "0 seconds" would drop rows equal to it.
SPARK_DELAY = "1 millisecond"

PeerName = Literal["braid", "spark", "duckdb", "duckdb-tuned"]
Tell = Callable[[int], None]


@dataclass(frozen=True)
class Task:
    """One system on the first batches of one workload."""

    peer: PeerName
    workload: Workload
    data: str
    scratch: str
    batches: int
    warm_up: int = 0  # batches before the steady part
    repeats: int = 1
    cores: int = 2
    driver_memory: str = "6g"
    time_limit_seconds: float | None = None  # a streaming run is stopped after this

    @property
    def title(self) -> str:
        return f"{self.peer} {self.workload.name}"


@dataclass(frozen=True)
class Measurement:
    """What a task took: seconds of each batch (streaming) or of each repeat (one-shot), and what came out."""

    seconds: tuple[float, ...]
    answer: Answer
    answer_batches: int  # batches the answer covers; fewer than asked for when time ran out
    settings: dict[str, str]
    details: dict[str, Any] = field(default_factory=dict)


def run_braid(task: Task, tell: Tell) -> Measurement:
    """Braid with its parquet sink."""
    import braid

    spark = _session(task)
    window = f"{task.workload.window_seconds} seconds"
    inputs = zip(STREAMS, _inputs(spark, task), strict=True)
    join = braid.join(*(braid.stream(name, frame, time="ts", window=window) for name, frame in inputs))
    writer = join.on("r.k = s.k").select(*SELECTED).writeStream.format("parquet")
    checkpoint, out = _locations(task)
    started = time.time()
    run = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(out))
    seconds = _follow(task, checkpoint / "spark", started, run, tell)
    progress = run.recentProgress
    files = _sink_files(spark, out)
    spark.stop()
    steady = [record["durationMs"] for record in progress if record["batchId"] >= task.warm_up]
    phases = steady[0] if steady else ()
    details = {
        "late_rows": sum(sum(record["lateRows"].values()) for record in progress),
        "median_phase_ms": {phase: statistics.median(one[phase] for one in steady) for phase in phases},
    }
    settings = _settings(task) | {"window": window, "lateness": "default (zero)"}
    finished = progress[-1]["batchId"] + 1 if progress else 0
    return Measurement(seconds, answer_of_files(files, task.cores), finished, settings, details)


def run_spark(task: Task, tell: Tell) -> Measurement:
    """Spark's own stream-stream join with its default state store."""
    from pyspark.sql.functions import expr

    spark = _session(task)
    r, s = (
        frame.withWatermark("ts", SPARK_DELAY).alias(name)
        for name, frame in zip(STREAMS, _inputs(spark, task), strict=True)
    )
    condition = interval_condition(task.workload)
    writer = r.join(s, expr(condition)).selectExpr(*SELECTED).writeStream.format("parquet")
    checkpoint, out = _locations(task)
    started = time.time()
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(out))
    seconds = _follow(task, checkpoint, started, query, tell)
    operators = [operator for record in query.recentProgress for operator in record.stateOperators]
    details = {
        "late_rows": sum(operator.numRowsDroppedByWatermark for operator in operators),
        "most_state_rows": max((operator.numRowsTotal for operator in operators), default=0),
    }
    settings = _settings(task) | {
        "condition": condition,
        "watermark": SPARK_DELAY,
        "state_store": str(spark.conf.get("spark.sql.streaming.stateStore.providerClass")),
    }
    files = _sink_files(spark, out)
    spark.stop()
    return Measurement(seconds, answer_of_files(files, task.cores), _sink_batches(task, out), settings, details)


def run_duckdb(task: Task, tell: Tell) -> Measurement:
    """DuckDB with its default settings, the whole join at once from the same files into a table in memory."""
    return _run_duckdb(task, interval_condition(task.workload), "kept", tell)


def run_duckdb_tuned(task: Task, tell: Tell) -> Measurement:
    """The same as fast as we know how to ask for it."""
    return _run_duckdb(task, integer_condition(task.workload), "free", tell)


PEERS: dict[PeerName, Callable[[Task, Tell], Measurement]] = {
    "braid": run_braid,
    "spark": run_spark,
    "duckdb": run_duckdb,
    "duckdb-tuned": run_duckdb_tuned,
}
ONE_SHOT: tuple[PeerName, ...] = ("duckdb", "duckdb-tuned")


def _run_duckdb(task: Task, condition: str, order: Literal["kept", "free"], tell: Tell) -> Measurement:
    query = join_query(condition, Path(task.data), task.batches)
    seconds = []
    with connect(task.cores, order=order) as connection:
        for repeat in range(task.repeats):
            connection.execute("DROP TABLE IF EXISTS result")
            started = time.perf_counter()
            connection.execute(f"CREATE TABLE result AS {query}")
            seconds.append(time.perf_counter() - started)
            tell(repeat)
        answer = answer_of(connection, "result")
    settings = {"threads": str(task.cores), "condition": condition, "insertion_order": order, "database": "in memory"}
    return Measurement(tuple(seconds), answer, task.batches, settings)


def _settings(task: Task) -> dict[str, str]:
    """Spark settings that all streaming peers share."""
    return {
        "spark.master": f"local[{task.cores}]",
        "spark.driver.memory": task.driver_memory,
        "spark.sql.shuffle.partitions": str(task.cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.python.unix.domain.socket.enabled": "true",
    }


def _session(task: Task) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(f"benchmark-{task.peer}")
    for name, value in (_settings(task) | QUIET).items():
        builder = builder.config(name, value)
    builder = builder.config("spark.local.dir", f"{task.scratch}/local")
    return builder.config("spark.sql.warehouse.dir", f"{task.scratch}/warehouse").getOrCreate()


def _inputs(spark: SparkSession, task: Task) -> list[DataFrame]:
    inputs = Path(task.scratch) / "input"
    link_batches(Path(task.data), inputs, task.batches)
    reader = spark.readStream.schema("k bigint, v double, id bigint, ts timestamp").option("maxFilesPerTrigger", 1)
    return [reader.parquet(str(inputs / stream)) for stream in STREAMS]


def _locations(task: Task) -> tuple[Path, Path]:
    return Path(task.scratch) / "checkpoint", Path(task.scratch) / "out"


def _follow(task: Task, checkpoint: Path, started: float, run: Run | StreamingQuery, tell: Tell) -> tuple[float, ...]:
    """Wait for the end of a run, or of its time, and return the seconds of each batch that had input."""
    commits: list[float] = []
    limit = task.time_limit_seconds
    active = True
    while active and (limit is None or time.time() < started + limit):
        time.sleep(POLL_SECONDS)
        active = run.isActive
        while len(commits) < task.batches and (commit := checkpoint / "commits" / str(len(commits))).exists():
            commits.append(commit.stat().st_mtime)
            tell(len(commits) - 1)
    if active:
        run.stop()
    else:
        run.awaitTermination()  # raises what ended it
    return tuple(after - before for before, after in pairwise([started, *commits]))


def _sink_files(spark: SparkSession, out: Path) -> list[str]:
    """The committed files of a sink, as Spark reads it."""
    return [file.removeprefix("file://") for file in spark.read.parquet(str(out)).inputFiles()]


def _sink_batches(task: Task, out: Path) -> int:
    """Batches with input in Spark's own sink; a run stopped at its time limit may be a batch ahead of its commits."""
    logged = [int(entry.name.removesuffix(".compact")) for entry in (out / "_spark_metadata").glob("[0-9]*")]
    return min(task.batches, max(logged, default=-1) + 1)
