"""Spark as the cluster: streaming plans for ingest, one planned DataFrame per kind of probe job.

Ingest runs inside the streaming plan: each stream's rows pass through tasks that write blocks, and only their reports
are unioned. Probe jobs run over the anchor, a small persisted DataFrame with one partition per slot, so that a slot's
task runs where its blocks are already open.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TypeVar, cast

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from braid.analysis.catalyst import quiet
from braid.engine.commands import PROPERTY, Command, IngestCommand, ProbeCommand
from braid.engine.locations import Locations
from braid.engine.reports import IngestReport, TaskReport, read_reports
from braid.engine.sending.command_files import CommandSender
from braid.engine.tasks.ingest import run_ingest
from braid.engine.tasks.metering import run_metered
from braid.engine.tasks.worker.watching import noted_death
from braid.errors import PredicateError, QueryError, shortened
from braid.plan.expressions import Column
from braid.plan.join import KEEP, JoinPlan
from braid.plan.layout import Layout
from braid.spark.executors import request_executors
from braid.spark.job_failures import RegisteredFunctionDied, WorkerDied, explain_failure, registered_death
from braid.spark.jobs import REPORTS, Jobs
from braid.spark.session import pinned_range, require_mappable_memory, slot_count, use_this_python
from braid.spark.slot_functions import report_row
from braid.spark.task_context import current_task
from braid.spark.transport import map_batches

R = TypeVar("R", bound=TaskReport)


class SparkCluster:
    """Runs ingest and probe tasks on a Spark session."""

    def __init__(self, spark: SparkSession, plan: JoinPlan, locations: Locations, slots: int) -> None:
        use_this_python(spark)
        require_mappable_memory(spark)
        self._spark = spark
        self._plan = plan
        self._locations = locations
        self._sender = CommandSender(*locations.open_checkpoint())
        self._batch: DataFrame | None = None
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

    def ingest(self, command: IngestCommand) -> list[IngestReport]:
        if self._batch is None:
            raise RuntimeError("there is no batch to ingest")
        return self._collect(self._batch, command, evaluated_at_ingest(self._plan))

    def run(self, command: Command[R]) -> list[R]:
        """Run a job; if a worker dies in a probe, run it once more and note the calls of users' functions."""
        frame, evaluated = self._jobs.frame(command), self._jobs.evaluated(command)
        try:
            return self._collect(frame, command, evaluated)
        except WorkerDied as error:
            own = any(conjunct.function is not None for conjunct in self._plan.conjuncts)
            if not (isinstance(command, ProbeCommand) and (own or isinstance(error, RegisteredFunctionDied))):
                raise
        try:
            return self._collect(frame, cast("Command[R]", replace(command, watched=True)), evaluated)
        except WorkerDied as error:
            found = noted_death(*self._locations.open_checkpoint(), command.run, command.step)
            if found is None and isinstance(error, RegisteredFunctionDied):
                raise registered_death(error, evaluated) from None
            if found is None:
                raise
            raise PredicateError(found.message, f"{found.detail}\n{error.detail}", found.hint) from None

    def needs_own_round(self, command: ProbeCommand, round_number: int) -> bool:
        return self._jobs.needs_jvm(command, round_number)

    def close(self) -> None:
        self._anchor.unpersist()

    def _anchor_to(self, slots: int) -> None:
        self.slots = slots
        self._anchor = self._range(slots).persist()
        self._jobs = Jobs(self._plan, self._locations, slots, self._anchor)

    def _collect(self, frame: DataFrame, command: Command[R], evaluated: Sequence[str]) -> list[R]:
        context = self._spark.sparkContext
        with self._sender.sent(command, self.slots) as text:
            context.setLocalProperty(PROPERTY, text)
            try:
                with quiet():
                    rows = frame.collect()
            except (PySparkException, Py4JError) as error:
                raise explain_failure(error, evaluated) from None
            finally:
                context.setLocalProperty(PROPERTY, "")
        return read_reports(command.reports, (row["report"] for row in rows))


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
        task, command, meter = current_task(IngestCommand, self._locations)
        work = partial(run_ingest, self._plan, self._stream, self._locations, command, task, batches)
        yield report_row(run_metered(meter, work))


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
