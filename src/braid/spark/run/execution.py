"""A running query: a Spark streaming query whose every batch is one of Braid's steps."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from braid.control.memory.deferring import clean_up_bytes, returning_groups
from braid.control.memory.overflow import policy_of
from braid.control.standing import Standing, standing_of
from braid.engine.explain import explain_query
from braid.engine.restart.consistency import check_in_step
from braid.engine.status import describe_status, explain_now
from braid.engine.step import StepRunner
from braid.errors import BraidError, PredicateError, TakenOverError, brief_cause
from braid.optimizer.strategies.strategy import interleave_of, sequences_of
from braid.spark.job_failures import explain_query_failure
from braid.spark.job_tasks import how_far
from braid.spark.late_rows import LateRows
from braid.spark.run.active_runs import replace_earlier_run
from braid.spark.run.batch_function import Stopping, without_keeping
from braid.spark.run.job import Job
from braid.spark.run.opening import Opened, open_checkpoint
from braid.spark.run.step_lock import StepLock
from braid.spark.settings import applied, quick_crossing, quick_log, required_by
from braid.spark.streaming.log import SPARK_DIRECTORY, last_commit, planned_rows
from braid.spark.streaming.log_check import check_spark_log
from braid.spark.streaming.sources import Sources, nothing_known
from braid.spark.streaming.supervised_query import SupervisedQuery, supervise
from braid.spark.totals import aggregation_of, read_totals

# As many progress records as Spark keeps of a query.
KEPT_PROGRESS = 100
# How late a step without input may be, beyond the time at which a stream becomes idle.
TICK_SECONDS = 0.5
# How long a start waits for its sources to create their logs, which they do with the settings of that moment.
INITIALIZATION_MS = 60_000
# Steps between two deletions of expired late rows: listing their files at every step would cost more than they do.
CLEANING_PERIOD = 100


def start_run(spark: SparkSession, job: Job) -> Execution:
    """A started run of a job."""
    execution = Execution(spark, job, open_checkpoint(spark, job))
    execution.start()
    return execution


class Execution:
    """Owns the steps, the Spark query and their status. Nothing runs before `start`."""

    def __init__(self, spark: SparkSession, job: Job, opened: Opened) -> None:
        self.id = opened.id
        self.run_id = opened.owner.run
        self.name = job.name
        self.progress: deque[dict[str, Any]] = deque(maxlen=KEPT_PROGRESS)
        self.error: BraidError | None = None
        self.late = LateRows(spark, opened.plan, opened.checkpoint, job.checkpoint, job.retention_ms)
        self._spark = spark
        self._job = job
        self._opened = opened
        self._plan = opened.plan
        self._checkpoint = opened.checkpoint
        self._cluster = opened.cluster
        self._owner = opened.owner
        self._stopping = threading.Event()
        self._step = StepLock()
        self._over = threading.Event()
        self._over.set()
        self._state = "starting"
        self._started = False
        self._sources: Sources | None = None
        self._ended = time.monotonic()
        self._steps: StepRunner
        self.query: SupervisedQuery

    def start(self) -> None:
        """Recover, start the Spark query, then the threads that make steps without input."""
        try:
            replace_earlier_run(self._job.checkpoint, self)
            self._steps = self._recover()
            self.late.clean()
            self.query = supervise(self._start_query, self._owner.require)
        except (PySparkException, Py4JError) as error:
            self._cluster.close()
            raise self._failure(error) from error
        except BaseException:  # Ctrl-C too: the cluster keeps blocks in Spark's memory until it is closed
            self._cluster.close()
            raise
        self._started = True
        left, job = bool(self._steps.manifest.terms or self._steps.manifest.pushes), self._job
        trailing = left or interleave_of(job.strategy) > 1 or policy_of(job.memory) is not None
        if self._may_idle or trailing:
            threading.Thread(target=self._tick_while_active, name="braid-ticks", daemon=True).start()
        ends = bool(job.trigger) and "processingTime" not in job.trigger
        if ends and (job.flush_at_end or trailing):
            self._over.clear()
            threading.Thread(target=self._finish_at_end, name="braid-end", daemon=True).start()

    def _recover(self) -> StepRunner:
        """The steps of the query, after those that are committed.

        The logs are checked first, because recovery deletes what the last manifest does not name, and a repaired
        checkpoint needs these files. Spark's commit is read before the manifest, because an older run that is still
        there may finish a step meanwhile.
        """
        check_spark_log(self._checkpoint.files, self._log)
        committed, last = last_commit(self._checkpoint.files, self._log), self._checkpoint.last_manifest()
        check_in_step(-1 if last is None else last.batch, committed)
        opened, job = self._opened, self._job
        own = (self._plan, self._checkpoint, self._cluster, opened.sink, self._owner, opened.layout)
        return StepRunner(
            *own,
            elasticity=job.elasticity,
            ordering=job.ordering,
            interleave=interleave_of(job.strategy),
            memory=policy_of(job.memory),
            returning=partial(returning_groups, job.memory),
            disk_bytes=None if job.memory is None else job.memory.disk_bytes,
            clean_up_bytes=clean_up_bytes(job.memory, opened.layout.units[0]),
            choose_sequences=sequences_of(job.strategy, self._plan, opened.layout),
        )

    @property
    def _log(self) -> str:
        return f"{self._checkpoint.path}/{SPARK_DIRECTORY}"

    def stop(self) -> None:
        """Stop between two steps; called inside a step, as by `foreachBatch`, return at once and stop after it."""
        self._stopping.set()
        if self._step.is_mine:
            threading.Thread(target=self._stop_between_steps, name="braid-stop", daemon=True).start()
        else:
            self._stop_between_steps()

    def require_owner(self) -> None:
        """Raise TakenOverError, now and at every later request, if a newer run owns the checkpoint."""
        try:
            self._owner.require()
        except TakenOverError as error:
            self.error = self.error or error
            raise

    def _stop_between_steps(self) -> None:
        with self._step.locked():
            self.query.stop()
        self._cluster.close()

    def explain(self, stage: str | None) -> str:
        """The plan with what the newest manifest has observed; with the stage `now`, the current status."""
        if stage == "now":
            return explain_now(self._plan, self._standing(), self.state)
        job, now = self._job, (self._cluster.slots, stage, self._steps.manifest, self._opened.exchange.describe())
        kinds = (job.elasticity is not None, job.memory is not None)
        return explain_query(job.logical_plan, self._plan, job.strategy, *now, *kinds)

    def await_end(self, timeout: float | None) -> bool:
        """Whether the query ended in time; raises what ended it."""
        self._step.refuse_inside("awaitTermination", "a step cannot wait for the end of its own run")
        try:
            over = self._await_query(timeout)
        except (PySparkException, Py4JError) as error:
            if self._stopping.is_set():
                return True
            raise self._failure(error) from None
        if over:
            self._cluster.close()
        return bool(over)

    def failure(self) -> BraidError | None:
        """What ended the query, if it failed."""
        self.error = self.error or self.query.taken_over
        if self.error is not None or self._stopping.is_set():
            return self.error
        found = self.query.exception()
        return None if found is None else self._failure(found)

    @property
    def state(self) -> str:
        """`starting`, `running step <n>`, `waiting` between two steps, or `stopped`."""
        return self._state if self.active else "stopped"

    def status(self) -> dict[str, Any]:
        """What the run is doing, and what waits for which stream."""
        job = self._steps.running_job
        running = None if job is None else how_far(self._spark, self.query.group, self._checkpoint, job)
        return {**self.query.status, **describe_status(self._plan, self._standing(), self.state, running)}

    def flush(self) -> None:
        """Emit everything that waits for its order, between two steps."""
        self._run_between("flush", self._steps.flush)

    def drain(self) -> None:
        """Find all deferred results, in steps between those of batches."""
        while self._steps.manifest.pushes:
            self._run_between("drain", self._steps.clean_up)

    def _run_between(self, verb: str, step: Callable[[], dict[str, Any] | None]) -> None:
        self._step.refuse_inside(verb, "it is a step of its own, and needs the one under way to end")
        with self._step.locked():
            if self.error is not None:
                raise self.error
            self._run_step(step)

    def totals(self) -> DataFrame:
        """The totals of the aggregation after the newest step."""
        aggregation = aggregation_of(self._plan, "this query")
        return read_totals(self._spark, self._job.checkpoint, aggregation, lambda: self._steps.manifest)

    @property
    def active(self) -> bool:
        """Whether steps may still run; false if the run failed to start."""
        return self._started and (bool(self.query.isActive) or not self._over.is_set())

    def _standing(self) -> Standing:
        """The status of the query, by the newest manifest and the last check of the sources."""
        return standing_of(self._plan, self._steps.manifest, self._steps.idle)

    def _await_query(self, timeout: float | None) -> bool:
        """Whether the query ended in time, including the step after its last batch."""
        if timeout is None:
            self.query.awaitTermination()
            return self._over.wait()
        until = time.monotonic() + timeout
        return bool(self.query.awaitTermination(timeout)) and self._over.wait(max(0.0, until - time.monotonic()))

    def _finish_at_end(self) -> None:
        """When all available rows were read, run the rounds that are left, and emit what waits or is deferred."""
        try:
            with suppress(PySparkException, Py4JError, BraidError):  # awaitTermination reports what ended the query
                self.query.awaitTermination()
                if not self._stopping.is_set():
                    trail = partial(self._steps.tick, nothing_known(self._plan))
                    self.flush() if self._job.flush_at_end else self._run_between("tick", trail)
                    self.drain()
        finally:
            self._over.set()

    def _failure(self, error: Exception) -> BraidError:
        if self.error is None and self._started:  # an error at the start comes before there is a query
            self.error = self.query.taken_over
        if self.error is None:
            try:
                self._owner.require()  # a newer run may have caused any error of Spark's
            except TakenOverError as taken_over:
                self.error = taken_over
        self.error = self.error or explain_query_failure(error, self._job.checkpoint)
        return self.error

    def _start_query(self) -> StreamingQuery:
        job = self._job
        writer = self._opened.reports.writeStream.foreachBatch(without_keeping(self._on_batch)).option(
            "checkpointLocation", f"{job.checkpoint}/{SPARK_DIRECTORY}"
        )
        if job.name is not None:
            writer = writer.queryName(job.name)
        if job.trigger:
            writer = writer.trigger(**job.trigger)
        exchange = self._opened.exchange.kind
        settings = quick_log(self._spark, job.checkpoint) | quick_crossing(job.frames, exchange)
        with applied(self._spark, settings, required_by(exchange)):
            query = writer.start()
            if self._may_idle:
                self._sources = Sources(query, job.frames)
            # Sources create their logs while the query is initialised, in its own thread.
            with suppress(PySparkException, Py4JError):  # awaitTermination reports a query that fails here
                query._jsq.streamingQuery().awaitInitialization(INITIALIZATION_MS)
            return query

    def _on_batch(self, reports: DataFrame, batch: int) -> None:
        while not self._step.acquire(timeout=0.1):
            if self._stopping.is_set():
                raise Stopping
        try:
            if self._stopping.is_set():
                raise Stopping
            self._run_batch(reports, batch)
        finally:
            self._step.release()

    def _tick_while_active(self) -> None:
        """Between batches, run the steps that only the clock requires."""
        while not self.query.has_ended() and not self._stopping.wait(TICK_SECONDS):
            if self._step.acquire(timeout=0):
                try:
                    if not self.query.has_ended() and not self._stopping.is_set():
                        self._run_step(self._tick)
                except BraidError:
                    self._stopping.set()
                    self.query.stop()
                finally:
                    self._step.release()

    @property
    def _may_idle(self) -> bool:
        return any(stream.idle_after_ms is not None for stream in self._plan.streams)

    def _tick(self) -> dict[str, Any] | None:
        sources = self._sources
        check = nothing_known(self._plan) if sources is None else sources.between_batches()
        return self._steps.tick(check, trailing=self._is_quiet)

    @property
    def _is_quiet(self) -> bool:
        """Whether no batch is to be expected at once, which would carry the rounds that are left."""
        waited = time.monotonic() - self._ended >= TICK_SECONDS
        return waited and not self.query.status["isDataAvailable"]

    def _run_batch(self, reports: DataFrame, batch: int) -> None:
        self._cluster.take_batch(reports)
        # A batch before the query is known is the first of the run, so no stream can be idle yet.
        sources = self._sources
        check = nothing_known(self._plan) if sources is None else sources.planned(batch)
        planned = planned_rows(self._checkpoint.files, self._log, batch)
        self._run_step(lambda: self._steps.run(batch, check=check, planned=planned))

    def _run_step(self, step: Callable[[], dict[str, Any] | None]) -> None:
        self._state = f"running step {self._steps.manifest.step + 1}"
        try:
            progress = step()
        except BraidError as error:
            self.error = error
            if isinstance(error, PredicateError):
                self._checkpoint.write_failure(self._steps.manifest.step + 1, error.message)
            raise
        except Exception as error:  # of Spark, a source or storage; the run reports it as its own
            raise self._failure(error) from brief_cause(error)
        if progress is not None:
            self._ended = time.monotonic()
            self.progress.append({**progress, "id": self.id, "runId": self.run_id, "name": self.name})
            if progress["batchId"] % CLEANING_PERIOD == CLEANING_PERIOD - 1:
                self.late.clean()
        self._state = "waiting"
