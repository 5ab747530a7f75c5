"""`mapInArrow` for columns of any name: rows are sent to Python and back under plain names.

PySpark looks up its input columns by name, and would not find a name with a dot or a backtick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType, _parse_datatype_json_string

SPARK_TYPE = b"braid.spark.type"
NO_VARIABLES: Mapping[str, str] = {}

Function = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_batches(
    frame: DataFrame, function: Function, schema: StructType, environment: Mapping[str, str] = NO_VARIABLES
) -> DataFrame:
    """The frame's batches through the function, which uses the real names, in workers with these variables."""
    inside = frame.toDF(*_plain(len(frame.columns)))
    fields = [
        StructField(name, field.dataType, True)
        for name, field in zip(_plain(len(schema.fields)), schema.fields, strict=True)
    ]
    renamed = _Renamed(function, frame.columns, [field.name for field in fields])
    with _environment(frame.sparkSession.sparkContext, environment):
        mapped = inside.mapInArrow(renamed, StructType(fields))
    return mapped.toDF(*schema.fieldNames())


@contextmanager
def _environment(context: SparkContext, variables: Mapping[str, str]) -> Iterator[None]:
    """Functions that are made meanwhile run in workers with these variables: Spark starts some for each environment."""
    before = dict(context.environment)
    context.environment.update(variables)
    try:
        yield
    finally:
        context.environment.clear()
        context.environment.update(before)


def with_spark_types(schema: pa.Schema, spark: StructType) -> pa.Schema:
    """The Arrow schema with Spark's type in the metadata: Arrow has no collations and fewer interval types."""
    fields = [
        field.with_metadata({SPARK_TYPE: column.dataType.json().encode()})
        for field, column in zip(schema, spark.fields, strict=True)
    ]
    return pa.schema(fields)


def spark_schema(schema: pa.Schema) -> StructType:
    """Spark's schema of Arrow columns: from their metadata, or as Spark reads the Arrow type."""
    fields = []
    for field in schema:
        noted = (field.metadata or {}).get(SPARK_TYPE)
        kind = from_arrow_type(field.type) if noted is None else _parse_datatype_json_string(noted.decode())
        fields.append(StructField(field.name, kind, True))
    return StructType(fields)


class _Renamed:
    def __init__(self, function: Function, real: list[str], plain: list[str]) -> None:
        self._function, self._real, self._plain = function, real, plain

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self._function(batch.rename_columns(self._real) for batch in batches):
            yield batch.rename_columns(self._plain)


def _plain(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]
