"""What Braid's and Spark's runs share: a session, file sources, and the times of batches.

A run is timed by the commits in Spark's checkpoint, which Braid's runs have too: a batch lasts from the commit before
it to its own, so whatever happens between batches counts as well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from benchmarks.tasks import Task
from benchmarks.workloads.workload import link_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLL_SECONDS = 0.2
# Settings that measure nothing: no user interface, no chatter, a host name that need not resolve.
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

Announce = Callable[[int], None]


class Query(Protocol):
    """A started query, Spark's or Braid's."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 (as Spark's)
    def stop(self) -> None: ...
    def awaitTermination(self) -> bool | None: ...  # noqa: N802 (as Spark's)


class Places:
    """Where a task finds its data and leaves its things."""

    def __init__(self, data: Path, scratch: Path) -> None:
        self.data = data
        self.scratch = scratch
        self.checkpoint = scratch / "checkpoint"
        self.output = scratch / "out"
        self.inputs = scratch / "input"


def shared_settings(task: Task) -> dict[str, str]:
    """Spark settings that all streaming runs share."""
    return {
        "spark.master": f"local[{task.cores}]",
        "spark.driver.memory": task.driver_memory,
        "spark.sql.shuffle.partitions": str(task.cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.python.unix.domain.socket.enabled": "true",
        **task.settings,
    }


def open_session(task: Task, places: Places) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(f"benchmark-{task.peer}")
    for name, value in (shared_settings(task) | QUIET).items():
        builder = builder.config(name, value)
    builder = builder.config("spark.local.dir", f"{places.scratch}/local")
    return builder.config("spark.sql.warehouse.dir", f"{places.scratch}/warehouse").getOrCreate()


def open_inputs(spark: SparkSession, task: Task, places: Places) -> list[DataFrame]:
    """The workload's streams as file sources, a file a trigger, or any number of them where they come paced."""
    from pyspark.sql.pandas.types import from_arrow_schema

    frames = []
    if task.mode == "sustained":
        link_batches(places.data, places.inputs, task.workload.stream_names, task.batches)
    for feed in task.workload.feeds:
        directory = places.inputs / feed.name
        directory.mkdir(parents=True, exist_ok=True)
        reader = spark.readStream.schema(from_arrow_schema(feed.schema))
        if task.mode == "sustained":
            reader = reader.option("maxFilesPerTrigger", 1)
        frames.append(reader.parquet(str(directory)).select(*task.workload.live_columns(feed)))
    return frames


def follow(task: Task, checkpoint: Path, started: float, query: Query, announce: Announce) -> tuple[float, ...]:
    """Wait for the end of a run, or of its time, and return the seconds of each batch that had input."""
    commits: list[float] = []
    active = True
    while active and time.time() < started + task.limit_seconds:
        time.sleep(POLL_SECONDS)
        active = query.isActive
        while len(commits) < task.batches and (commit := checkpoint / "commits" / str(len(commits))).exists():
            commits.append(commit.stat().st_mtime)
            announce(len(commits) - 1)
    if active:
        query.stop()
    else:
        query.awaitTermination()  # raises what ended it
    return tuple(after - before for before, after in pairwise([started, *commits]))


def sink_files(spark: SparkSession, output: Path) -> list[str]:
    """The committed files of a sink, as Spark reads it."""
    if not output.exists() or not any(output.glob("*.parquet")):
        return []
    return [file.removeprefix("file://") for file in spark.read.parquet(str(output)).inputFiles()]
