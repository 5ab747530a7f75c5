"""Column types that a stream and a result can have, and what to write instead of the others.

Rows are stored as Arrow, late rows and results as Parquet that Spark reads, so a type must work in all three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    GeographyType,
    GeometryType,
    MapType,
    StructType,
    UserDefinedType,
    YearMonthIntervalType,
)


@dataclass(frozen=True)
class Problem:
    """Why a column cannot be stored; `remedy` is an expression that can be, or what to do."""

    reason: str
    remedy: str


def stream_problem(column: str, kind: DataType, case_sensitive: bool) -> Problem | None:
    """The reason why a stream cannot have a column of this type."""
    for path, inner in _inside(column, kind):
        if isinstance(inner, CalendarIntervalType | YearMonthIntervalType):
            return Problem(f"{path} has type {inner.simpleString()}, which Arrow cannot hold", _as_text(column, kind))
        if isinstance(inner, StructType) and not inner.fields:
            return Problem(f"{path} is a struct without fields, which Parquet cannot hold", "leave it out")
        if isinstance(inner, StructType) and (twice := _repeated(inner, case_sensitive)):
            return Problem(
                f"{path} is a struct with several fields named {', '.join(twice)}",
                "give its fields different names with named_struct(...)",
            )
    try:
        to_arrow_type(kind, timezone="UTC")
    except (PySparkTypeError, ValueError):
        return Problem(f"{column} has type {kind.simpleString()}, which Arrow cannot hold", _as_text(column, kind))
    return None


def result_problem(column: str, kind: DataType, case_sensitive: bool) -> Problem | None:
    """The reason why a result cannot have a column of this type."""
    for path, inner in _inside(column, kind):
        if isinstance(inner, GeometryType | GeographyType):
            return Problem(
                f"{path} has type {inner.simpleString()}, which Spark does not read from Parquet",
                "select it as bytes with st_asbinary(...)",
            )
    return stream_problem(column, kind, case_sensitive)


def _inside(path: str, kind: DataType) -> Iterator[tuple[str, DataType]]:
    """A type and all types inside it, each with the path to it."""
    yield path, kind
    if isinstance(kind, ArrayType):
        yield from _inside(f"{path}.element", kind.elementType)
    elif isinstance(kind, MapType):
        yield from _inside(f"{path}.key", kind.keyType)
        yield from _inside(f"{path}.value", kind.valueType)
    elif isinstance(kind, StructType):
        for field in kind.fields:
            yield from _inside(f"{path}.{field.name}", field.dataType)
    elif isinstance(kind, UserDefinedType):
        yield from _inside(path, kind.sqlType())


def _repeated(kind: StructType, case_sensitive: bool) -> list[str]:
    names = [name if case_sensitive else name.lower() for name in kind.names]
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _as_text(column: str, kind: DataType) -> str:
    whole = not isinstance(kind, ArrayType | MapType | StructType | UserDefinedType)
    text = f"CAST({column} AS STRING)" if whole else "its parts one by one, those of other types cast to STRING"
    return f"write {text} instead, or leave it out"
