"""`braid.totals`: the current totals of an aggregation, from its checkpoint alone."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from braid.errors import QueryError, UnsupportedSessionError
from braid.spark.storage import qualify
from braid.spark.totals import read_totals, recorded_aggregation
from braid.state.checkpoint import Checkpoint
from braid.state.files import locate


def totals(checkpoint: str, spark: SparkSession | None = None) -> DataFrame:
    """The current totals of the aggregation that a checkpoint belongs to, whether its query runs or not.

    One row per group that has results, with the columns of the query. An ordered aggregation includes the emitted
    results, with the newest `result_time` of all in every row.
    """
    if not checkpoint:
        raise QueryError(
            f"braid.totals needs the checkpointLocation of a query, but got {checkpoint!r}.",
            hint='For example braid.totals("checkpoints/alarms").',
        )
    session = SparkSession.getActiveSession() if spark is None else spark
    if session is None:
        raise UnsupportedSessionError(
            "braid.totals needs a Spark session, and there is no active one.",
            hint="Create one first, or give it: braid.totals(checkpoint, spark).",
        )
    location = qualify(session, checkpoint, "checkpoint")
    records = Checkpoint(*locate(location))
    aggregation = recorded_aggregation(records, location)
    return read_totals(session, location, aggregation, records.last_manifest)
