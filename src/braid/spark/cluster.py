"""Spark as the cluster: streaming plans for ingest, one planned DataFrame per kind of probe job.

Ingest runs inside the streaming plan (`ingest_plan.py`). Probe jobs run over the anchor, a small persisted DataFrame
with one partition per slot, so that a slot's task runs where its blocks are already open.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from braid.analysis.catalyst import quiet
from braid.engine.commands import PROPERTY, Command, IngestCommand, ProbeCommand, SiteCommand
from braid.engine.locations import Locations
from braid.engine.reports import IngestReport, SiteReport, TaskReport, read_reports
from braid.engine.sending.command_files import CommandSender
from braid.engine.tasks.worker.watching import noted_death
from braid.errors import PredicateError, QueryError, shortened
from braid.optimizer.exchange import Exchange
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.spark.executors import request_executors
from braid.spark.ingest_plan import evaluated_at_ingest, ingest_reports
from braid.spark.job_failures import RegisteredFunctionDied, WorkerDied, explain_failure, registered_death
from braid.spark.jobs import Jobs
from braid.spark.session import pinned_range, require_mappable_memory, slot_count, use_this_python
from braid.spark.sites.conversations import conversation
from braid.spark.sites.hosts import SiteHosts, place_anchor
from braid.spark.sites.ingest import ingest_pieces, store_at_sites
from braid.spark.sites.slot_pieces import SLOT, Talking
from braid.spark.sites.storage import prove_site_storage

R = TypeVar("R", bound=TaskReport)


class SparkCluster:
    """Runs ingest and probe tasks on a Spark session; where sites have `hosts`, those of a site on its hosts."""

    def __init__(
        self,
        spark: SparkSession,
        plan: JoinPlan,
        locations: Locations,
        slots: int,
        exchange: Exchange = "files",
        hosts: SiteHosts | None = None,
    ) -> None:
        use_this_python(spark)
        require_mappable_memory(spark)
        self._spark = spark
        self._plan = plan
        self._locations = locations
        self._sender = CommandSender(*locations.open_checkpoint())
        self._exchange = exchange
        self._batch: DataFrame | None = None
        self.ingest_tasks = 0
        self._range = pinned_range(spark)
        self._hosts = hosts
        self.site_slots: list[list[int]] = []
        self._anchor_to(slots)

    def prove_storage(self, layout: Layout) -> None:
        """Fail early if sites cannot use storage of their own."""
        prove_site_storage(self._anchor, layout, self._locations, self.slots)

    def follow_cores(self) -> None:
        slots = slot_count(self._spark)
        if slots != self.slots:
            self.close()
            self._anchor_to(slots)

    def request_cores(self, layout: Layout) -> str | None:
        return request_executors(self._spark, layout)

    def source(self, frames: Sequence[DataFrame]) -> DataFrame:
        """The reports of all streams' ingest tasks, as one DataFrame, streaming if the inputs are."""
        # The plan keeps its partitions for the whole run, even if the number of slots changes.
        self.ingest_tasks = self.slots * len(frames)
        try:
            if self._hosts is not None:
                return ingest_pieces(self._talking, frames)
            return ingest_reports(self._plan, self._locations, frames, self.slots, self._exchange)
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
        batch = self._batch if self._hosts is None else store_at_sites(self._batch, self._anchor, self._talking)
        return self._collect(batch, command, evaluated_at_ingest(self._plan))

    def run(self, command: Command[R]) -> list[R]:
        """Run a job; if a worker dies in a probe, run it once more and note the calls of users' functions."""
        frame, evaluated = self._jobs.frame(command), self._jobs.evaluated(command)
        watching = command.watching()
        try:
            return self._collect(frame, command, evaluated)
        except WorkerDied as error:
            own = any(conjunct.function is not None for conjunct in self._plan.conjuncts)
            if watching is None or not (own or isinstance(error, RegisteredFunctionDied)):
                raise
        try:
            return self._collect(frame, watching, evaluated)
        except WorkerDied as error:
            found = noted_death(*self._locations.open_checkpoint(), command.run, command.step)
            if found is None and isinstance(error, RegisteredFunctionDied):
                raise registered_death(error, evaluated) from None
            if found is None:
                raise
            raise PredicateError(found.message, f"{found.detail}\n{error.detail}", found.hint) from None

    def converse(self, command: SiteCommand, rounds: int) -> list[SiteReport]:
        return self._collect(conversation(self._anchor, self._talking, rounds), command, ())

    def needs_own_round(self, command: ProbeCommand, round_number: int) -> bool:
        return self._jobs.needs_jvm(command, round_number)

    def close(self) -> None:
        self._anchor.unpersist()

    def _anchor_to(self, slots: int) -> None:
        self.slots = slots
        if self._hosts is None:
            self._anchor = self._range(slots).persist()
        else:
            ids = self._range(slots).selectExpr(f"CAST(id AS INT) AS {SLOT}")
            self._anchor, self.site_slots = place_anchor(lambda: ids.repartitionById(slots, SLOT), self._hosts, slots)
        self._talking = Talking(self._plan, self._locations, slots, self._hosts)
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
