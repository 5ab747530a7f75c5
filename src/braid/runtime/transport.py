"""`mapInArrow` for columns of any name: they cross the border to Python and back under plain ones.

PySpark looks its input columns up by name, so a name with a dot or a backtick would not be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

Function = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_batches(frame: DataFrame, function: Function, schema: StructType) -> DataFrame:
    """The frame's batches through the function, which sees and gives the real names."""
    inside = frame.toDF(*_plain(len(frame.columns)))
    fields = [
        StructField(name, field.dataType, True)
        for name, field in zip(_plain(len(schema.fields)), schema.fields, strict=True)
    ]
    mapped = inside.mapInArrow(_Renamed(function, frame.columns, [field.name for field in fields]), StructType(fields))
    return mapped.toDF(*schema.fieldNames())


class _Renamed:
    def __init__(self, function: Function, real: list[str], plain: list[str]) -> None:
        self._function, self._real, self._plain = function, real, plain

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self._function(batch.rename_columns(self._real) for batch in batches):
            yield batch.rename_columns(self._plain)


def _plain(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]
