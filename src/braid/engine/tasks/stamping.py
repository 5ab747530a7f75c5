"""The column with the step that emitted a row: an aggregation emits a group many times, and its newest row counts."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
"""The metadata key of Spark's schema in a Parquet file; Spark's reader prefers it to the file's schema."""


@dataclass(frozen=True)
class Stamp:
    """A last column of this name, with the number of the step in every row."""

    column: str
    step: int

    def schema(self, schema: pa.Schema) -> pa.Schema:
        return with_step(schema, self.column)

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        steps = pa.repeat(pa.scalar(self.step, pa.int64()), batch.num_rows)
        return pa.RecordBatch.from_arrays([*batch.columns, steps], schema=self.schema(batch.schema))


def with_step(schema: pa.Schema, column: str) -> pa.Schema:
    """The schema with the column added, in Spark's own schema beside it too."""
    metadata = dict(schema.metadata or {})
    if SPARK_SCHEMA in metadata:
        spark = json.loads(metadata[SPARK_SCHEMA])
        spark["fields"].append({"name": column, "type": "long", "nullable": True, "metadata": {}})
        metadata[SPARK_SCHEMA] = json.dumps(spark).encode()
    return pa.schema([*schema, pa.field(column, pa.int64())], metadata or None)
