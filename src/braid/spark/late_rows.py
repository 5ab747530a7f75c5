"""The side table of late rows: stored whole, for the retention time, and read as a DataFrame."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from braid.errors import CorruptStateError
from braid.plan.join import JoinPlan
from braid.spark.storage import read_parquet
from braid.state.checkpoint import Checkpoint

SCHEMA = "stream string, batch bigint, watermark timestamp, row string, reason string"

FIRST_DAY, LAST_DAY = "0001-01-03 00:00:00", "9999-12-29 00:00:00"

# The time it was written, in milliseconds; the step; a number. Other tools may add other files.
NAME = re.compile(r"(\d+)-\d+-\d+\.parquet", re.ASCII)
# Reading footers is mostly waiting: tens of milliseconds each on object stores.
FOOTERS_AT_ONCE = 16


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
        """All stored late rows: stream, step (column `batch`), watermark, the row as JSON, and why it is late."""
        found = self._spark.createDataFrame([], SCHEMA)
        for stream in self._plan.streams:
            names = self._readable(stream.name)
            if names:
                rows = read_parquet(self._spark, f"{self._location}/late/{stream.name}", names, merged=True)
                found = found.unionByName(_table(rows, stream.name))
        return found

    def clean(self) -> None:
        """Drop what is older than the retention."""
        oldest = int(time.time() * 1000) - self._retention_ms
        for stream in self._plan.streams:
            for name in self._names(stream.name):
                if int(name.partition("-")[0]) < oldest:
                    self._checkpoint.files.delete(f"{self._directory(stream.name)}/{name}")

    def _names(self, stream: str) -> list[str]:
        """The files of late rows; other files are ignored."""
        return [name for name in self._checkpoint.files.list(self._directory(stream)) if NAME.fullmatch(name)]

    def _readable(self, stream: str) -> list[str]:
        """The files that still exist; raises for one that Spark could not read."""
        names = self._names(stream)
        paths = [f"{self._directory(stream)}/{name}" for name in names]
        with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
            return [name for name, whole in zip(names, pool.map(self._is_whole, paths), strict=True) if whole]

    def _is_whole(self, path: str) -> bool:
        """Whether the file still exists since it was listed; raises if it is damaged."""
        try:
            with self._checkpoint.files.open_input(path) as file:
                pq.read_metadata(file)
        except FileNotFoundError:
            return False
        except (OSError, pa.ArrowException) as error:
            raise CorruptStateError(
                f"The file of late rows {path} is damaged: {error}",
                hint="Restore it from a copy of the checkpoint, or move it away: no result depends on it.",
            ) from error
        return True

    def _directory(self, stream: str) -> str:
        return f"{self._checkpoint.path}/late/{stream}"


def _table(rows: DataFrame, stream: str) -> DataFrame:
    return rows.select(
        sf.lit(stream).alias("stream"),
        sf.col("batch"),
        _collectable(rows, "watermark").cast("timestamp").alias("watermark"),
        sf.to_json("row", {"ignoreNullFields": "false"}).alias("row"),
        sf.col("reason") if "reason" in rows.columns else sf.lit(None).cast("string").alias("reason"),
    )


def _collectable(rows: DataFrame, name: str) -> Column:
    """A time, or the nearest day that Python's type can represent in any zone, so that late rows can be collected."""
    time, kind = sf.col(name), rows.schema[name].dataType.simpleString()
    first, last = (sf.expr(f"{kind} '{day}'") for day in (FIRST_DAY, LAST_DAY))
    return sf.when(time < first, first).when(time > last, last).otherwise(time)
