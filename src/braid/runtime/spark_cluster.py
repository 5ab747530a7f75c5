"""Spark as the cluster: streaming plans for ingest, one planned DataFrame per kind of probe job.

Ingest runs inside the streaming plan: each stream's rows go through tasks that write blocks, and only their reports
are unioned. Probe jobs run over the anchor, a small persisted DataFrame with one partition per slot, so that a
slot's task finds its blocks where it left them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from braid.errors import PredicateError, RunFailedError, StorageError, shortened
from braid.plan.join import KEEP, JoinPlan, part_column
from braid.plan.layout import Layout
from braid.runtime.executors import ask_for_executors
from braid.runtime.orders import PROPERTY, IngestOrder, Order, ProbeOrder, RankOrder, ReleaseOrder, ViewOrder, encode
from braid.runtime.pipeline import REPORTS, ProbePipeline, RankFunction, ReleaseFunction, ViewFunction
from braid.runtime.session import pinned_range, require_mappable_memory, slot_count, use_this_python
from braid.runtime.tasks.context import current_task
from braid.runtime.tasks.work import Locations, report_row, run_ingest
from braid.runtime.transport import map_batches

PREDICATE_FAILURES = re.compile(
    r"\[([A-Z_.]*(?:BY_ZERO|OVERFLOW|OUT_OF_RANGE|OUT_OF_BOUNDS|CAST_INVALID|ARRAY_INDEX|MAP_KEY|CANNOT_PARSE|MALFORMED"
    r"|USER_RAISED|INVALID_PARAMETER|INVALID_FORMAT|CONVERSION|REGEX|NULL_MAP|INVALID_URL|UTF8)[A-Z_.]*)\]([^\n]*)"
)
STORAGE_FAILURES = re.compile(r"StorageError: (.*)|(No space left on device)")


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
        self._range = pinned_range(spark)
        self._anchor_to(slots)

    def follow_cores(self) -> None:
        slots = slot_count(self._spark)
        if slots != self.slots:
            self.close()
            self._anchor_to(slots)

    def ask_for(self, layout: Layout) -> str | None:
        return ask_for_executors(self._spark, layout)

    def source(self, frames: Sequence[DataFrame]) -> DataFrame:
        """The reports of all streams' ingest tasks, as one DataFrame, streaming if the inputs are."""
        parts = [
            map_batches(
                _flat(self._plan, number, frame).coalesce(self.slots),
                IngestFunction(self._plan, number, self._locations),
                REPORTS,
            )
            for number, frame in enumerate(frames)
        ]
        return reduce(DataFrame.unionByName, parts)

    def take_batch(self, reports: DataFrame) -> None:
        """The reports of the batch that the next `ingest` is about."""
        self._batch = reports

    def ingest(self, order: IngestOrder) -> list[dict[str, Any]]:
        if self._batch is None:
            raise RuntimeError("there is no batch to take in")
        return self._collect(self._batch, order)

    def probe(self, order: ProbeOrder) -> list[dict[str, Any]]:
        return self._collect(self._pipeline.job(order), order)

    def update_view(self, order: ViewOrder) -> list[dict[str, Any]]:
        if self._update is None:
            function = ViewFunction(self._plan, self._locations, self.slots)
            self._update = map_batches(self._anchor, function, REPORTS)
        return self._collect(self._update, order)

    def rank(self, order: RankOrder) -> list[dict[str, Any]]:
        if self._ranking is None:
            self._ranking = map_batches(self._anchor, RankFunction(self._plan, self._locations, self.slots), REPORTS)
        return self._collect(self._ranking, order)

    def release(self, order: ReleaseOrder) -> list[dict[str, Any]]:
        if self._release is None:
            function = ReleaseFunction(self._plan, self._locations, self.slots)
            self._release = map_batches(self._anchor, function, REPORTS)
        return self._collect(self._release, order)

    def needs_own_round(self, order: ProbeOrder, round_number: int) -> bool:
        return self._pipeline.needs_jvm(order, round_number)

    def close(self) -> None:
        self._anchor.unpersist()

    def _anchor_to(self, slots: int) -> None:
        self.slots = slots
        self._anchor = self._range(slots).persist()
        self._pipeline = ProbePipeline(self._plan, self._locations, slots, self._anchor)
        self._update = self._ranking = self._release = None

    def _collect(self, frame: DataFrame, order: Order) -> list[dict[str, Any]]:
        context = self._spark.sparkContext
        context.setLocalProperty(PROPERTY, encode(order))
        try:
            rows = frame.collect()
        except (PySparkException, Py4JError) as error:
            raise _explain(self._plan, order.step, error) from error
        finally:
            context.setLocalProperty(PROPERTY, "")
        return [json.loads(row["report"]) for row in rows]


class IngestFunction:
    """What Spark maps over a stream's rows."""

    def __init__(self, plan: JoinPlan, stream: int, locations: Locations) -> None:
        self._plan = plan
        self._stream = stream
        self._locations = locations

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, content = current_task()
        order = IngestOrder.from_json(content)
        yield report_row(run_ingest(self._plan, self._stream, self._locations, order, task, batches))


def _flat(plan: JoinPlan, number: int, frame: DataFrame) -> DataFrame:
    """A stream's rows under flat names, with the hashes of its key parts and the pushed selection.

    All columns go along, because a late row is kept whole.
    """
    stream = plan.streams[number]
    flat = frame.select([sf.col(quoted(name)).alias(f"{stream.name}.{name}") for name in frame.columns])
    extra = []
    for part in plan.parts:
        side = part.side_of(number)
        if side is not None and not part.exact:
            extra.append(f"{_hash(side.sql, part.null_safe)} AS {quoted(part_column(part.number, number))}")
    pushed = [plan.conjuncts[n].sql for n in plan.pushed[number]]
    if pushed:
        extra.append(f"coalesce({' AND '.join(f'({sql})' for sql in pushed)}, false) AS {quoted(KEEP)}")
    return flat.selectExpr("*", *extra) if extra else flat


def _hash(sql: str, null_safe: bool) -> str:
    return f"xxhash64({sql})" if null_safe else f"CASE WHEN ({sql}) IS NOT NULL THEN xxhash64({sql}) END"


def quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _explain(plan: JoinPlan, step: int, error: Exception) -> Exception:
    """A failed job as Braid's error: which streams, which batch, and Spark's own words for the cause."""
    names = ", ".join(stream.name for stream in plan.streams)
    text = str(error)
    refused = STORAGE_FAILURES.search(text)
    if refused is not None:
        return StorageError(
            f"The join of {names} failed in batch {step}: its storage refused an operation.",
            detail=refused[1] or refused[2],
            hint="Free space on that storage or make it writable, then start the query again: nothing is lost.",
        )
    cause = next((f"[{c}]{m}" for c, m in PREDICATE_FAILURES.findall(text) if "STREAM" not in c), "")
    if cause:
        return PredicateError(
            f"The join of {names} failed in batch {step}: an expression could not be evaluated.",
            detail=cause.strip(),
            hint="Guard the expression (for example with try_divide or a condition written before it) and start the "
            "query again: it continues with the same batch.",
        )
    return RunFailedError(
        f"The join of {names} failed in batch {step}: a Spark job ended with an error.",
        detail=shortened(text),
        hint="The batch runs again when the query is started again; nothing is lost.",
    )
