"""The columns of a result, as Spark has them and as Arrow does."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import StructField, StructType, _parse_datatype_json_string

from braid.errors import QueryError
from braid.runtime.tasks.stamping import SPARK_SCHEMA


def struct_of(fields: Iterable[tuple[str, str]]) -> StructType:
    """Columns by name and type, as Spark's JSON has it."""
    return StructType([StructField(name, _parse_datatype_json_string(type_json), True) for name, type_json in fields])


def arrow_schema(schema: StructType) -> pa.Schema:
    """The result's columns for Arrow, with Spark's own schema beside them, which its Parquet reader prefers."""
    for field in schema.fields:
        try:
            to_arrow_type(field.dataType, timezone="UTC")
        except (PySparkTypeError, ValueError) as error:
            raise QueryError(
                f"The selection {field.name!r} has type {field.dataType.simpleString()}, which Arrow cannot hold.",
                hint="Cast it in the selection to a type that Arrow has.",
            ) from error
    return to_arrow_schema(schema, timezone="UTC").with_metadata({SPARK_SCHEMA: schema.json().encode()})
