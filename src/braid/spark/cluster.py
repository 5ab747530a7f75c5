"""Spark as the cluster: streaming plans for ingest, one planned DataFrame per kind of probe job.

Ingest runs inside the streaming plan: each stream's rows pass through tasks that write blocks, and only their reports
are unioned. Probe jobs run over the anchor, a small persisted DataFrame with one partition per slot, so that a slot's
task runs where its blocks are already open.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from braid.analysis.catalyst import quiet
from braid.engine.commands import (
    PROPERTY,
    AggregateCommand,
    Command,
    IngestCommand,
    ProbeCommand,
    RankCommand,
    ReleaseCommand,
    encode,
)
from braid.engine.tasks.watching import noted_death
from braid.engine.tasks.work import Locations, report_row, run_ingest
from braid.errors import PredicateError, QueryError, shortened
from braid.plan.expressions import Column
from braid.plan.join import KEEP, JoinPlan
from braid.plan.layout import Layout
from braid.spark.executors import request_executors
from braid.spark.job_failures import WorkerDied, explain_failure
from braid.spark.jobs import REPORTS, ProbePipeline
from braid.spark.session import pinned_range, require_mappable_memory, slot_count, use_this_python
from braid.spark.slot_functions import AggregateFunction, RankFunction, ReleaseFunction
from braid.spark.task_context import current_task
from braid.spark.transport import map_batches
from braid.state.files import locate


class SparkCluster:
    """Runs ingest and probe tasks on a Spark session."""

    def __init__(self, spark: SparkSession, plan: JoinPlan, locations: Locations, slots: int) -> None:
        use_this_python(spark)
        require_mappable_memory(spark)
        self._spark = spark
        self._plan = plan
        self._locations = locations
        self._batch: DataFrame | None = None
        self._update: DataFrame | None = None
        self._ranking: DataFrame | None = None
        self._release: DataFrame | None = None
        self.ingest_tasks = 0
        self._range = pinned_range(spark)
        self._anchor_to(slots)

    def follow_cores(self) -> None:
        slots = slot_count(self._spark)
        if slots != self.slots:
            self.close()
            self._anchor_to(slots)

    def request_cores(self, layout: Layout) -> str | None:
        return request_executors(self._spark, layout)

    def source(self, frames: Sequence[DataFrame]) -> DataFrame:
        """The reports of all streams' ingest tasks, as one DataFrame, streaming if the inputs are."""
        try:
            parts = [
                map_batches(
                    _flat(self._plan, number, frame).coalesce(self.slots),
                    IngestFunction(self._plan, number, self._locations),
                    REPORTS,
                )
                for number, frame in enumerate(frames)
            ]
            # The plan keeps these partitions for the whole run, even if the number of slots changes.
            self.ingest_tasks = self.slots * len(frames)
            return reduce(DataFrame.unionByName, parts)
        except (pickle.PicklingError, RecursionError) as error:
            self.close()
            raise _unsendable(self._plan, error) from error
        except Exception:  # whatever Spark or a source raises: the anchor must not stay in memory
            self.close()
            raise

    def take_batch(self, reports: DataFrame) -> None:
        """Set the reports of the batch for the next `ingest`."""
        self._batch = reports

    def ingest(self, command: IngestCommand) -> list[dict[str, Any]]:
        if self._batch is None:
            raise RuntimeError("there is no batch to ingest")
        return self._collect(self._batch, command, evaluated_at_ingest(self._plan))

    def probe(self, command: ProbeCommand) -> list[dict[str, Any]]:
        """Run a probe job; if a worker dies, run it once more and note the calls of users' functions."""
        evaluated = self._pipeline.evaluated(command)
        try:
            return self._collect(self._pipeline.job(command), command, evaluated)
        except WorkerDied:
            if not any(conjunct.function is not None for conjunct in self._plan.conjuncts):
                raise
        try:
            return self._collect(self._pipeline.job(command), replace(command, watched=True), evaluated)
        except WorkerDied as error:
            found = noted_death(*locate(self._locations.checkpoint), command.run, command.step)
            if found is None:
                raise
            raise PredicateError(found.message, f"{found.detail}\n{error.detail}", found.hint) from None

    def update_aggregate(self, command: AggregateCommand) -> list[dict[str, Any]]:
        if self._update is None:
            function = AggregateFunction(self._plan, self._locations, self.slots)
            self._update = map_batches(self._anchor, function, REPORTS)
        return self._collect(self._update, command)

    def rank(self, command: RankCommand) -> list[dict[str, Any]]:
        if self._ranking is None:
            self._ranking = map_batches(self._anchor, RankFunction(self._plan, self._locations, self.slots), REPORTS)
        return self._collect(self._ranking, command)

    def release(self, command: ReleaseCommand) -> list[dict[str, Any]]:
        if self._release is None:
            function = ReleaseFunction(self._plan, self._locations, self.slots)
            self._release = map_batches(self._anchor, function, REPORTS)
        return self._collect(self._release, command)

    def needs_own_round(self, command: ProbeCommand, round_number: int) -> bool:
        return self._pipeline.needs_jvm(command, round_number)

    def close(self) -> None:
        self._anchor.unpersist()

    def _anchor_to(self, slots: int) -> None:
        self.slots = slots
        self._anchor = self._range(slots).persist()
        self._pipeline = ProbePipeline(self._plan, self._locations, slots, self._anchor)
        self._update = self._ranking = self._release = None

    def _collect(self, frame: DataFrame, command: Command, evaluated: Sequence[str] = ()) -> list[dict[str, Any]]:
        context = self._spark.sparkContext
        context.setLocalProperty(PROPERTY, encode(command))
        try:
            with quiet():
                rows = frame.collect()
        except (PySparkException, Py4JError) as error:
            raise explain_failure(error, evaluated) from None
        finally:
            context.setLocalProperty(PROPERTY, "")
        return [json.loads(row["report"]) for row in rows]


def _unsendable(plan: JoinPlan, error: Exception) -> QueryError:
    names = ", ".join(conjunct.function.name for conjunct in plan.conjuncts if conjunct.function is not None)
    what = f"Python functions: {names}" if names else "no Python functions"
    return QueryError(
        f"The query cannot be sent to the tasks, because something in it cannot be pickled. It has {what}.",
        detail=shortened(str(error), 500),
        hint="Let the functions use only what can be pickled: no locks, open files, connections or Spark objects. Make "
        "such things inside the function.",
    )


class IngestFunction:
    """The function that Spark maps over a stream's rows."""

    def __init__(self, plan: JoinPlan, stream: int, locations: Locations) -> None:
        self._plan = plan
        self._stream = stream
        self._locations = locations

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, content = current_task()
        command = IngestCommand.from_json(content)
        yield report_row(run_ingest(self._plan, self._stream, self._locations, command, task, batches))


def evaluated_at_ingest(plan: JoinPlan) -> list[str]:
    """What the JVM evaluates on the rows of the streams: pushed selections, and keys that are expressions."""
    pushed = [plan.conjuncts[number].written for numbers in plan.pushed for number in numbers]
    # Such keys count as safe, but values at the ends of a type can still raise.
    sides = [side for part in plan.parts if not part.exact for side in part.sides]
    keys = [side.sql for side in sides if not isinstance(side.expression, Column)]
    return list(dict.fromkeys([*pushed, *keys]))


def _flat(plan: JoinPlan, number: int, frame: DataFrame) -> DataFrame:
    """A stream's rows with flat names, key hashes and the pushed selection.

    All columns are included, because a late row is stored whole.
    """
    stream = plan.streams[number]
    flat = frame.select([sf.col(quoted(name)).alias(f"{stream.name}.{name}") for name in frame.columns])
    sides = [(name, part.side_of(number), part.null_safe) for name, part in plan.hashed(number).items()]
    extra = [f"{_hash(side.sql, safe)} AS {quoted(name)}" for name, side, safe in sides if side is not None]
    pushed = [plan.conjuncts[n].sql for n in plan.pushed[number]]
    if pushed:
        extra.append(f"coalesce({' AND '.join(f'({sql})' for sql in pushed)}, false) AS {quoted(KEEP)}")
    return flat.selectExpr("*", *extra) if extra else flat


def _hash(sql: str, null_safe: bool) -> str:
    return f"xxhash64({sql})" if null_safe else f"CASE WHEN ({sql}) IS NOT NULL THEN xxhash64({sql}) END"


def quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
