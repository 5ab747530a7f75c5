"""The totals of an aggregation as a DataFrame, from the state of a committed step.

A run continues while its totals are read, and deletes rewritten blocks one step later. So the totals of one manifest
are computed at once; if a block is missing by then, those of a newer one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from braid.engine.tasks.aggregate.totals import StoredAggregation, TotalsFunction
from braid.engine.tasks.stamping import SPARK_SCHEMA
from braid.errors import BraidError, CorruptStateError, QueryError, RunFailedError, StorageError, shortened
from braid.plan.aggregation import Aggregation, Call
from braid.plan.join import JoinPlan
from braid.spark.session import slot_count, use_this_python
from braid.spark.transport import map_batches
from braid.state.checkpoint import Checkpoint
from braid.state.manifest import AggregateState, Manifest

RECORD = "aggregation"
ATTEMPTS = 20
CORRUPT = re.compile(r"CorruptStateError: (.*)")


def aggregation_of(plan: JoinPlan, what: str) -> StoredAggregation:
    """How the totals of a plan are read; QueryError if it has none."""
    if plan.aggregation is None or plan.aggregation.is_distinct:
        raise _no_totals(what)
    return StoredAggregation(plan.aggregation, plan.sink_schema)


def aggregation_record(plan: JoinPlan) -> dict[str, Any]:
    """What a query's record has about its aggregation, so that totals need no query; {} if it has none."""
    aggregation = plan.aggregation
    if aggregation is None or aggregation.is_distinct:
        return {}
    return {
        RECORD: {
            "columns": json.loads(plan.sink_schema.metadata[SPARK_SCHEMA]),
            "groups": aggregation.groups,
            "calls": [{"function": call.function, "arguments": list(call.arguments)} for call in aggregation.calls],
            "over_us": aggregation.over_us,
            "ansi": aggregation.ansi,
            "ordered": aggregation.ordered,
        }
    }


def recorded_aggregation(checkpoint: Checkpoint, location: str) -> StoredAggregation:
    """The aggregation of a checkpoint's query."""
    record = checkpoint.read_query()
    if record is None:
        raise StorageError(
            f"There is no checkpoint of Braid's at {location}.",
            hint="Give the checkpointLocation of a query that has been started.",
        )
    if RECORD not in record:
        raise _no_totals(f"the query of the checkpoint {location}")
    content = record[RECORD]
    struct = StructType.fromJson(content["columns"])
    metadata = {SPARK_SCHEMA: json.dumps(content["columns"]).encode()}
    columns = to_arrow_schema(struct, timezone="UTC").with_metadata(metadata)
    calls = tuple(Call(call["function"], tuple(call["arguments"])) for call in content["calls"])
    values = to_arrow_schema(StructType(struct.fields[: content["groups"] + len(calls)]), timezone="UTC")
    aggregation = Aggregation(
        groups=content["groups"],
        calls=calls,
        over_us=content["over_us"],
        updates="batched",
        time_of="result" if content["ordered"] or content["over_us"] is not None else None,
        ansi=content["ansi"],
        schema=values,
        ordered=content["ordered"],
    )
    return StoredAggregation(aggregation, columns)


def read_totals(
    spark: SparkSession, location: str, aggregation: StoredAggregation, newest: Callable[[], Manifest | None]
) -> DataFrame:
    """The totals after the step of one manifest, which `newest` returns: the newest committed one."""
    use_this_python(spark)
    for attempt in range(ATTEMPTS):
        try:
            manifest = newest()
        except CorruptStateError:  # another run may delete the manifest between listing and reading
            if attempt == ATTEMPTS - 1:
                raise
            continue
        try:
            return _computed(spark, location, aggregation, manifest)
        except (PySparkException, Py4JError) as error:
            if _step(newest()) == _step(manifest):
                raise _explained(location, error) from error
    raise RunFailedError(
        f"The totals of {location} could not be read in {ATTEMPTS} attempts: each time the run had continued and "
        "deleted state that it no longer needs.",
        hint="Read them between two steps: make the trigger interval longer, or stop the run first.",
    )


def _computed(
    spark: SparkSession, location: str, aggregation: StoredAggregation, manifest: Manifest | None
) -> DataFrame:
    aggregate = None if manifest is None else manifest.aggregate
    aggregate = AggregateState(parts=1) if aggregate is None else aggregate
    schema = StructType.fromJson(json.loads(aggregation.columns.metadata[SPARK_SCHEMA]))
    parts = spark.range(0, aggregate.parts, 1, min(aggregate.parts, slot_count(spark)))
    # Computed now and cached by Spark while the DataFrame is in use: it stays correct when the blocks are deleted.
    return map_batches(parts, TotalsFunction(location, aggregation, aggregate), schema).localCheckpoint(eager=True)


def _step(manifest: Manifest | None) -> int:
    return -1 if manifest is None else manifest.step


def _no_totals(what: str) -> QueryError:
    return QueryError(
        f"Totals were requested, but {what} has no aggregation.",
        hint="Totals are those of .groupBy(...).agg(...); results of other queries are in their sink.",
    )


def _explained(location: str, error: Exception) -> BraidError:
    text = str(error)
    corrupt = CORRUPT.search(text)
    if corrupt is not None:
        return CorruptStateError(
            f"The totals of {location} could not be read: {corrupt[1]}",
            hint="Restore the file from a copy of the checkpoint.",
        )
    return RunFailedError(f"The totals of {location} could not be read: a Spark job failed.", detail=shortened(text))
