"""The columns of a result, for Spark and for Arrow."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructField, StructType, _parse_datatype_json_string

from braid.api.types import result_problem
from braid.engine.tasks.stamping import SPARK_SCHEMA
from braid.errors import QueryError


def struct_of(fields: Iterable[tuple[str, str]]) -> StructType:
    """Columns by name and type, as Spark's JSON has it."""
    return StructType([StructField(name, _read_type(name, type_json), True) for name, type_json in fields])


def arrow_schema(schema: StructType, case_sensitive: bool = False) -> pa.Schema:
    """The result's columns for Arrow, with Spark's schema in the metadata, which its Parquet reader prefers."""
    for field in schema.fields:
        problem = result_problem(field.name, field.dataType, case_sensitive)
        if problem is not None:
            raise QueryError(
                f"The selection cannot have the column {field.name!r}: {problem.reason}.",
                detail=f"Its type: {field.dataType.simpleString()}",
                hint=f"In .select, {problem.remedy}.",
            )
    return to_arrow_schema(schema, timezone="UTC").with_metadata({SPARK_SCHEMA: schema.json().encode()})


def _read_type(name: str, type_json: str) -> DataType:
    try:
        return _parse_datatype_json_string(type_json)
    except (ImportError, AttributeError) as error:
        raise QueryError(
            f"The selection cannot have the column {name!r}: the Python class of its type cannot be imported: {error}.",
            hint="Make the module of the user-defined type importable on the driver, or select parts of the value.",
        ) from error
