"""Columns in memory, as the evaluator reads them.

A vector is values and a validity mask. Values under a false mask are arbitrary: no result may depend on them.
Timestamps and intervals are microseconds, dates are days, decimals are unscaled integers: of 64 bits where all values
fit, as they do with up to 18 digits, else of the type `WIDE`. Strings and binaries stay Arrow arrays (or one Arrow
scalar for a literal).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.plan.expressions import Constant, decimal_digits

Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]

TEXT_TYPES = frozenset({"string", "binary"})
# The memory of Arrow's decimals of 128 bits.
WIDE = np.dtype([("low", np.uint64), ("high", np.int64)])
LONGEST_NARROW_DECIMAL = 18
TIME_TYPES = frozenset({"timestamp", "timestamp_ntz"})

_DTYPES: dict[str, type[np.generic]] = {
    "boolean": np.bool_,
    "tinyint": np.int8,
    "smallint": np.int16,
    "int": np.int32,
    "bigint": np.int64,
    "float": np.float32,
    "double": np.float64,
    "date": np.int32,
    "timestamp": np.int64,
    "timestamp_ntz": np.int64,
    "interval": np.int64,
}
ARROW_TYPES: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "interval": pa.duration("us"),
    "string": pa.string(),
    "binary": pa.binary(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}
_LARGE_TEXT = (pa.large_string(), pa.large_binary())


@dataclass
class Vector:
    """Values, and where they are not NULL (`valid` is None if there are no NULLs).

    `bound` caches the largest magnitude among the values; infinity means that NaN or infinity may occur. `beyond` marks
    sums of times that were clipped to an end of their range: 1 above, -1 below, 0 elsewhere.
    """

    values: Any
    valid: Mask | None = None
    bound: float | None = None
    beyond: npt.NDArray[np.int8] | None = None


def is_wide(values: Any) -> bool:
    """Whether values are integers of 128 bits."""
    return getattr(values, "dtype", None) == WIDE


def dtype_of(type: str) -> np.dtype[Any]:
    """The NumPy type of the values of a type that is not text; for decimals, of values that fit 64 bits."""
    return np.dtype(np.int64 if decimal_digits(type) else _DTYPES[type])


def to_vector(array: pa.Array | pa.ChunkedArray, type: str) -> Vector:
    """An Arrow column as a vector that shares its memory, except for booleans and decimals."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    array = _as_arrow_type(array, type)
    valid = None if array.null_count == 0 else array.is_valid().to_numpy(zero_copy_only=False)
    if type in TEXT_TYPES:
        return Vector(array, valid)
    if type == "void":
        return Vector(np.zeros(len(array), np.bool_), np.zeros(len(array), np.bool_))
    if type == "boolean":
        return Vector(array.fill_null(False).to_numpy(zero_copy_only=False), valid)
    return Vector(_fixed_width(array, type), valid)


def constant_vector(constant: Constant) -> Vector:
    """A literal as a vector without dimensions, which broadcasts to any shape."""
    valid = np.asarray(False) if constant.value is None else None
    if constant.type in TEXT_TYPES:
        return Vector(pa.scalar(constant.value, type=ARROW_TYPES[constant.type]), valid)
    if constant.type == "void":
        return Vector(np.asarray(False), np.asarray(False))
    value = 0 if constant.value is None else constant.value
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return Vector(np.asarray((value % 2**64, value >> 64), dtype=WIDE), valid)
    return Vector(np.asarray(value, dtype=dtype_of(constant.type)), valid)


def magnitude(vector: Vector) -> float:
    """An upper bound of the absolute values; infinite when NaN or infinity may occur."""
    if vector.bound is None:
        vector.bound = _measure(vector.values)
    return vector.bound


def both_valid(left: Mask | None, right: Mask | None) -> Mask | None:
    """Where two operands are not NULL."""
    if left is None or left is right:
        return right
    return left if right is None else left & right


def _measure(values: Array) -> float:
    if values.size == 0:
        return 0
    if is_wide(values):
        return (max(abs(int(values["high"].min())), abs(int(values["high"].max()))) + 1) << 64
    low, high = values.min().item(), values.max().item()
    largest = max(abs(low), abs(high))
    return math.inf if isinstance(largest, float) and (math.isnan(low) or math.isinf(largest)) else largest


def _as_arrow_type(array: pa.Array, type: str) -> pa.Array:
    wanted = ARROW_TYPES.get(type)
    if digits := decimal_digits(type):
        wanted = pa.decimal128(*digits)
    if type in ("timestamp", "timestamp_ntz"):
        wanted = pa.timestamp("us", array.type.tz if pa.types.is_timestamp(array.type) else None)
    unchanged = wanted is None or array.type == wanted or array.type in _LARGE_TEXT
    return array if unchanged else array.cast(wanted)


def _fixed_width(array: pa.Array, type: str) -> Array:
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), dtype=dtype_of(type))
    if digits := decimal_digits(type):
        return _unscaled(np.frombuffer(buffer, dtype=WIDE)[array.offset : array.offset + len(array)], digits[0])
    return np.frombuffer(buffer, dtype=dtype_of(type))[array.offset : array.offset + len(array)]


def _unscaled(words: Array, precision: int) -> Array:
    """Decimals as 64-bit integers if their type or their values allow it."""
    low = words["low"].view(np.int64)
    if precision <= LONGEST_NARROW_DECIMAL or np.array_equal(words["high"], low >> 63):
        return np.ascontiguousarray(low)
    return words
