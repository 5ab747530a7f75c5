"""Queries on Spark, side by side: one warm session, the same files, all variants in turn, round after round.

A machine's speed drifts, so a variant is compared with another of the same round, and the median of the rounds counts.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.answers import expected_answer
from benchmarks.pacing import follow_paced
from benchmarks.peers.braid import build_condition
from benchmarks.peers.streaming import Places, follow, open_inputs, open_session
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import row_counts
from braid.plan.aggregation import Updates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from braid.api.join import Join

# The times of all commits are read when a paced run is over.
SETTINGS = {"spark.sql.streaming.minBatchesToRetain": "100000"}
THREADS = 2  # of DuckDB, which counts the results


@dataclass(frozen=True)
class Summing:
    """Aggregates to keep of a join's results, instead of the results."""

    groups: tuple[str, ...]
    aggregates: tuple[str, ...]
    updates: Updates


@dataclass(frozen=True)
class Variant:
    """A task, and what becomes of its results: discarded once they are made, or added up."""

    task: Task
    summing: Summing | None = None


Rounds = Mapping[str, Sequence[Measurement]]


class Stage:
    """A session and a directory to work in. Runs that discard their results must find as many as DuckDB does."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        self._numbers = count()
        self._results: dict[tuple[str, int], int] = {}

    def run(self, variant: Variant) -> Measurement:
        """Run a variant once."""
        task = variant.task
        scratch = self._directory / f"run-{next(self._numbers)}"
        places = Places(self._data(task), scratch)
        join = _asked(variant, open_inputs(self._spark, task, places))
        try:
            measurement = _follow(task, places, join)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        if variant.summing is None:
            self._require_results(task, measurement)
        return measurement

    def _require_results(self, task: Task, measurement: Measurement) -> None:
        place = task.data_key, task.batches
        if place not in self._results:
            self._results[place] = expected_answer(task.workload, self._data(task), task.batches, THREADS).rows
        if measurement.details["results"] != self._results[place]:
            found, expected = measurement.details["results"], self._results[place]
            raise AssertionError(f"{task.title}, {task.strategy}: {found} results instead of {expected}")

    def _data(self, task: Task) -> Path:
        data = self._directory / "data" / task.data_key
        if not data.exists():
            for _ in task.workload.write(data):
                pass
        return data


@contextmanager
def open_stage() -> Iterator[Stage]:
    """A stage on the session that is there, or on one of its own."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        there = SparkSession.getActiveSession()
        if there is not None:
            yield Stage(there, Path(directory))
            return
        spark = open_session(Task("Braid", "history", {}, 1, settings=SETTINGS), Places(Path(), Path(directory)))
        try:
            yield Stage(spark, Path(directory))
        finally:
            spark.stop()


def in_turn(stage: Stage, variants: Mapping[str, Variant], rounds: int) -> Rounds:
    """Every variant once a round, another one first each time. A run before them warms up and does not count."""
    names = list(variants)
    stage.run(variants[names[0]])
    found: dict[str, list[Measurement]] = {name: [] for name in names}
    for number in range(rounds):
        first = number * len(names) // rounds
        for name in names[first:] + names[:first]:
            found[name].append(stage.run(variants[name]))
    return found


def _asked(variant: Variant, frames: list[DataFrame]) -> Join:
    join, summing = build_condition(variant.task, frames), variant.summing
    if summing is None:
        return join.select(*variant.task.workload.select)
    return join.groupBy(*summing.groups).agg(*summing.aggregates, updates=summing.updates)


def _follow(task: Task, places: Places, join: Join) -> Measurement:
    """The seconds of every batch, or how late results were where files come paced."""
    writer = join.writeStream.format("noop").option("checkpointLocation", str(places.checkpoint))
    checkpoint = places.checkpoint / "spark"
    started = time.time()
    details: dict[str, Any] = {}
    seconds: tuple[float, ...] = ()
    if task.mode == "paced":
        run = writer.start()
        details["latency"] = follow_paced(task, places, checkpoint, run, _ignore)
    else:
        run = writer.trigger(availableNow=True).start()
        seconds = follow(task, checkpoint, started, run, _ignore)
    details["results"] = sum(step["numOutputRows"] for step in run.recentProgress)
    rows = row_counts(places.data, task.workload.stream_names, task.batches)
    return Measurement(seconds=seconds, rows=tuple(rows[: len(seconds)]), details=details)


def _ignore(batch: int) -> None:
    return
