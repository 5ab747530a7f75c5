"""A file stream that a test feeds row by row: each `add` is one micro-batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

import braid

MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)
FIRST_MTIME = 1_700_000_000


def at(seconds: float) -> datetime:
    """An instant, by its seconds (to the microsecond) after a midnight."""
    return MIDNIGHT + timedelta(microseconds=round(seconds * 1_000_000))


class Feed:
    """A directory of Parquet files, read one a trigger. Rows are tuples in the order of the schema."""

    def __init__(self, spark: SparkSession, directory: Path, ddl: str) -> None:
        self._spark = spark
        self._directory = directory
        self._schema = StructType.fromDDL(ddl)
        directory.mkdir(parents=True)

    def add(self, *rows: tuple[Any, ...]) -> Feed:
        """One more batch, possibly without rows."""
        number = len(list(self._directory.glob("*.parquet")))
        path = self._directory / f"{number:04d}.parquet"
        pq.write_table(self._table(rows), path)
        os.utime(path, (FIRST_MTIME + number, FIRST_MTIME + number))
        return self

    @property
    def stream(self) -> DataFrame:
        reader = self._spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._directory))

    @property
    def static(self) -> DataFrame:
        return self._spark.read.schema(self._schema).parquet(str(self._directory))

    def _table(self, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
        schema = to_arrow_schema(self._schema, timezone="UTC")
        columns = [[row[position] for row in rows] for position in range(len(schema))]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)


class Place:
    """Where a run keeps its checkpoint and writes its results."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self.checkpoint = directory / "checkpoint"
        self.output = directory / "out"

    def start(self, query: braid.Join, **options: str) -> braid.Run:
        """Start on all there is now."""
        writer = query.writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))
        return writer.options(**options).trigger(availableNow=True).start(str(self.output))

    def run(self, query: braid.Join, **options: str) -> braid.Run:
        """Run on all there is now, to the end."""
        run = self.start(query, **options)
        run.awaitTermination()
        return run

    def rows(self) -> list[tuple[Any, ...]]:
        """The results, sorted."""
        return sorted(tuple(row) for row in self._spark.read.parquet(str(self.output)).collect())
