"""The side table of late rows: kept whole, for a time, and read back as a DataFrame."""

from __future__ import annotations

import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from braid.plan.join import JoinPlan
from braid.state.checkpoint import Checkpoint

SCHEMA = "stream string, batch bigint, watermark timestamp, row string"


class LateRows:
    """Late rows of one checkpoint; files are named by the clock, so that the oldest can be dropped."""

    def __init__(
        self, spark: SparkSession, plan: JoinPlan, checkpoint: Checkpoint, location: str, retention_ms: int
    ) -> None:
        self._spark = spark
        self._plan = plan
        self._checkpoint = checkpoint
        self._location = location
        self._retention_ms = retention_ms

    def read(self) -> DataFrame:
        """All late rows that are kept: stream, batch, watermark, and the row as JSON."""
        found = self._spark.createDataFrame([], SCHEMA)
        for stream in self._plan.streams:
            names = self._checkpoint.files.list(self._directory(stream.name))
            if names:
                paths = [f"{self._location}/late/{stream.name}/{name}" for name in names]
                found = found.unionByName(_table(self._spark.read.parquet(*paths), stream.name))
        return found

    def clean(self) -> None:
        """Drop what is older than the retention."""
        oldest = int(time.time() * 1000) - self._retention_ms
        for stream in self._plan.streams:
            for name in self._checkpoint.files.list(self._directory(stream.name)):
                if int(name.partition("-")[0]) < oldest:
                    self._checkpoint.files.delete(f"{self._directory(stream.name)}/{name}")

    def _directory(self, stream: str) -> str:
        return f"{self._checkpoint.path}/late/{stream}"


def _table(rows: DataFrame, stream: str) -> DataFrame:
    return rows.select(
        sf.lit(stream).alias("stream"),
        sf.col("batch"),
        sf.col("watermark").cast("timestamp").alias("watermark"),
        sf.to_json("row", {"ignoreNullFields": "false"}).alias("row"),
    )
