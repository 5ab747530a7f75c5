"""The selected columns of results, and flat columns for the JVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyarrow as pa

from braid.errors import PredicateError
from braid.kernels.blame import blamed_output
from braid.kernels.expressions.decimals import to_arrow
from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.expressions.vectors import Vector
from braid.kernels.rows import Pairs, Rows
from braid.plan.expressions import Column
from braid.plan.join import RESULT_TIME, JoinPlan
from braid.plan.predicate import Output


class Columns(Protocol):
    """Anything with named columns: rows, or pairs that are not gathered yet."""

    @property
    def length(self) -> int: ...
    def has(self, name: str) -> bool: ...
    def vector(self, name: str) -> Vector: ...
    def array(self, name: str) -> pa.Array: ...


def result_times(plan: JoinPlan, columns: Columns) -> np.ndarray:
    """The largest event time of each result, in microseconds; rows from the JVM have it as a column."""
    if columns.has(RESULT_TIME):
        return np.asarray(columns.vector(RESULT_TIME).values)
    times = [np.asarray(columns.vector(stream.time).values) for stream in plan.streams]
    newest: np.ndarray = np.maximum.reduce(times)
    return newest


def select_outputs(plan: JoinPlan, columns: Columns) -> pa.RecordBatch:
    """The selected columns of complete results, for a selection that needs no JVM."""
    arrays = [
        _output_array(plan, output, field.type, columns)
        for output, field in zip(plan.outputs, plan.output_schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=plan.output_schema)


def flat_columns(plan: JoinPlan, schema: pa.Schema, columns: Columns, streams: frozenset[int]) -> list[pa.Array]:
    """The columns of a flat schema: stored columns of the joined streams and key hashes; all others are null."""
    stored = {name for number in streams for name in plan.schemas[number].names}
    arrays = []
    for field in schema:
        if field.name == RESULT_TIME and len(streams) == len(plan.streams):
            arrays.append(pa.array(result_times(plan, columns)).cast(field.type))
        elif field.name in stored:
            arrays.append(_as(columns.array(field.name), field.type))
        else:
            arrays.append(pa.nulls(columns.length, field.type))
    return arrays


def _output_array(plan: JoinPlan, output: Output, wanted: pa.DataType, columns: Columns) -> pa.Array:
    if output.fields is not None:
        arrays = [_as(columns.array(c.name), wanted.field(n).type) for n, (_, c) in enumerate(output.fields)]
        return pa.StructArray.from_arrays(arrays, fields=list(wanted))
    expression = output.expression
    if isinstance(expression, Column):
        if expression.name == RESULT_TIME:
            return pa.array(result_times(plan, columns)).cast(wanted)
        return _as(columns.array(expression.name), wanted)
    if expression is None:
        raise ValueError(f"the output {output.name} needs the JVM")

    def computed(some: Columns) -> Vector:
        return evaluate(expression, _with_result_time(plan, some))

    try:
        vector = computed(columns)
    except PredicateError as error:
        raise blamed_output(output, _pairs(columns), error, computed) from None
    return _to_array(vector, wanted, columns.length)


def _pairs(columns: Columns) -> Pairs:
    """Joined rows as pairs with nothing."""
    if isinstance(columns, Pairs):
        return columns
    if not isinstance(columns, Rows):
        raise TypeError(f"neither rows nor pairs: {type(columns).__name__}")
    every = np.arange(columns.length)
    return Pairs(columns, Rows({}, {}, 0), every, every)


def _with_result_time(plan: JoinPlan, columns: Columns) -> Callable[[str], Vector]:
    def lookup(name: str) -> Vector:
        return Vector(result_times(plan, columns)) if name == RESULT_TIME else columns.vector(name)

    return lookup


def _to_array(vector: Vector, wanted: pa.DataType, length: int) -> pa.Array:
    """A computed vector as an Arrow column; a constant is repeated."""
    if pa.types.is_null(wanted):
        return pa.nulls(length)
    if isinstance(vector.values, pa.Array):
        return _as(vector.values, wanted)
    if isinstance(vector.values, pa.Scalar):
        return pa.repeat(vector.values, length).cast(wanted)
    values = np.broadcast_to(vector.values, (length,))
    nulls = None if vector.valid is None else ~np.broadcast_to(vector.valid, (length,))
    if pa.types.is_decimal(wanted):
        return to_arrow(values, nulls, wanted)
    return pa.array(values, mask=nulls).cast(_storage(wanted)).view(wanted)


def _storage(wanted: pa.DataType) -> pa.DataType:
    """The integer type behind a time type; any other type unchanged."""
    if pa.types.is_timestamp(wanted) or pa.types.is_duration(wanted):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(wanted) else wanted


def _as(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    return array if array.type.equals(wanted) else array.cast(wanted)
