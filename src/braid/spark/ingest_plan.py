"""The streaming plan of ingest: from the streams' rows to the reports of the tasks that stored them.

With `files`, each stream's rows pass through one tier of tasks. With `shuffle` there are two, and Spark's shuffle in
between. Partitions are fixed for the whole run: a streaming plan cannot change. Only reports are unioned, so streams
keep their own schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from braid.engine.commands import IngestCommand
from braid.engine.locations import Locations
from braid.engine.tasks.ingest import run_ingest
from braid.engine.tasks.metering import run_metered
from braid.engine.tasks.shuffle import PIECES, SLOT, ShuffleTask, send_rows, store_rows
from braid.optimizer.exchange import Exchange
from braid.plan.expressions import Column
from braid.plan.join import KEEP, JoinPlan
from braid.spark.jobs import REPORTS
from braid.spark.memory import variables_of
from braid.spark.slot_functions import REPORT_SCHEMA, report_row
from braid.spark.task_context import current_task
from braid.spark.transport import map_batches, spark_schema


def ingest_reports(
    plan: JoinPlan, locations: Locations, frames: Sequence[DataFrame], slots: int, exchange: Exchange
) -> DataFrame:
    """The reports of all streams' ingest tasks, as one DataFrame, streaming if the inputs are."""
    stored = _written if exchange == "files" else _shuffled
    flat = (flat_rows(plan, number, frame).coalesce(slots) for number, frame in enumerate(frames))
    return reduce(DataFrame.unionByName, [stored(plan, n, locations, slots, rows) for n, rows in enumerate(flat)])


def _written(plan: JoinPlan, stream: int, locations: Locations, slots: int, rows: DataFrame) -> DataFrame:
    return map_batches(rows, WriteFunction(plan, stream, locations), REPORTS, variables_of(locations))


def _shuffled(plan: JoinPlan, stream: int, locations: Locations, slots: int, rows: DataFrame) -> DataFrame:
    variables = variables_of(locations)
    pieces = map_batches(rows, SendFunction(plan, stream, locations, slots), spark_schema(PIECES), variables)
    # Before Spark 4.1 several slots may share a partition.
    has_ids = hasattr(pieces, "repartitionById")
    grouped = pieces.repartitionById(slots, SLOT) if has_ids else pieces.repartition(slots, SLOT)
    return map_batches(grouped, StoreFunction(plan, stream, locations, slots), REPORTS, variables)


class WriteFunction:
    """The function that Spark maps over a stream's rows."""

    def __init__(self, plan: JoinPlan, stream: int, locations: Locations) -> None:
        self._plan = plan
        self._stream = stream
        self._locations = locations

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, command, meter = current_task(IngestCommand, self._locations)
        work = partial(run_ingest, self._plan, self._stream, self._locations, command, task, batches)
        yield report_row(run_metered(meter, work))


class SendFunction:
    """The function over a stream's rows whose pieces are shuffled."""

    def __init__(self, plan: JoinPlan, stream: int, locations: Locations, slots: int) -> None:
        self._plan = plan
        self._stream = stream
        self._locations = locations
        self._slots = slots

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return send_rows(self._task(), batches)

    def _task(self) -> ShuffleTask:
        task, command, meter = current_task(IngestCommand, self._locations)
        return ShuffleTask(self._plan, self._stream, self._locations, self._slots, command, task, meter)


class StoreFunction(SendFunction):
    """The function over the shuffled pieces of a slot."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for text in store_rows(self._task(), batches):
            yield pa.RecordBatch.from_pydict({"report": [text]}, schema=REPORT_SCHEMA)


def evaluated_at_ingest(plan: JoinPlan) -> list[str]:
    """What the JVM evaluates on the rows of the streams: pushed selections, and keys that are expressions."""
    pushed = [plan.conjuncts[number].written for numbers in plan.pushed for number in numbers]
    # Such keys count as safe, but values at the ends of a type can still raise.
    sides = [side for part in plan.parts if not part.exact for side in part.sides]
    keys = [side.sql for side in sides if not isinstance(side.expression, Column)]
    return list(dict.fromkeys([*pushed, *keys]))


def flat_rows(plan: JoinPlan, number: int, frame: DataFrame) -> DataFrame:
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
