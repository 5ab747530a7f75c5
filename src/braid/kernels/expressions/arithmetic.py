"""Arithmetic with Spark's results: fixed widths, overflow and division by zero as in ANSI mode.

Where possible, overflow is excluded by the magnitudes of the inputs, which costs p + q instead of p * q for a tile;
otherwise the result itself is examined. Operands that are NULL or outside `active` never raise.
Sums, differences and products of floating numbers may be written into a `spare` operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from braid.kernels.expressions.refusals import division_by_zero, overflow, refuse
from braid.kernels.expressions.vectors import Array, Mask, Vector, both_valid, dtype_of, magnitude
from braid.plan.instants import EARLIEST_US, LATEST_US

_MICROSECONDS_PER_DAY = 86_400_000_000
# Half the range of a floating type leaves a margin for the rounding of the bounds themselves.
_HALF_RANGE = {np.dtype(kind): float(np.finfo(kind).max) / 2 for kind in (np.float32, np.float64)}


def add(left: Vector, right: Vector, ansi: bool, active: Mask | None, spare: Array | None = None) -> Vector:
    bound = magnitude(left) + magnitude(right)
    return _exact(np.add, left, right, bound, _sum_overflows, ansi, active, spare)


def subtract(left: Vector, right: Vector, ansi: bool, active: Mask | None, spare: Array | None = None) -> Vector:
    return _exact(
        np.subtract, left, right, magnitude(left) + magnitude(right), _difference_overflows, ansi, active, spare
    )


def add_to_time(left: Vector, right: Vector, type: str) -> Vector:
    """A time plus an interval; a result outside 64 bits is clipped to an end, and compares as beyond it."""
    return _saturating(np.add, left, right, _sum_overflows, type)


def subtract_from_time(left: Vector, right: Vector, type: str) -> Vector:
    """A time minus an interval, or the interval between two times; both are clipped to their range."""
    return _saturating(np.subtract, left, right, _difference_overflows, type)


def multiply(left: Vector, right: Vector, ansi: bool, active: Mask | None, spare: Array | None = None) -> Vector:
    largest, other = magnitude(left), magnitude(right)
    bound = math.inf if math.inf in (largest, other) else largest * other
    return _exact(np.multiply, left, right, bound, _product_overflows, ansi, active, spare)


def negate(operand: Vector, ansi: bool, active: Mask | None, reuse: bool) -> Vector:
    return _sign_change(np.negative, operand, ansi, active, reuse)


def absolute(operand: Vector, ansi: bool, active: Mask | None, reuse: bool) -> Vector:
    return _sign_change(np.absolute, operand, ansi, active, reuse)


def divide(left: Vector, right: Vector, ansi: bool, active: Mask | None) -> Vector:
    """Division of doubles: by zero raises, or is NULL when not ANSI, even for 0/0 and NaN/0."""
    valid = _nonzero(left, right, ansi, active)
    return Vector(np.divide(left.values, right.values), valid)


def remainder(left: Vector, right: Vector, ansi: bool, active: Mask | None) -> Vector:
    """The remainder of integers, with the sign of the dividend."""
    valid = _nonzero(left, right, ansi, active)
    return Vector(np.fmod(left.values, right.values), valid)


def floor(operand: Vector, ansi: bool, active: Mask | None) -> Vector:
    return _whole(np.floor(operand.values), operand.valid, ansi, active)


def ceil(operand: Vector, ansi: bool, active: Mask | None) -> Vector:
    return _whole(np.ceil(operand.values), operand.valid, ansi, active)


def square_root(operand: Vector) -> Vector:
    return Vector(np.sqrt(operand.values), operand.valid)


def cast(operand: Vector, source: str, target: str, active: Mask | None) -> Vector:
    """A cast that keeps every value: widening, or a number to a floating type; not of decimals."""
    if source == "date" and target in ("timestamp", "timestamp_ntz"):
        days = Vector(operand.values.astype(np.int64), operand.valid)
        return multiply(days, Vector(np.int64(_MICROSECONDS_PER_DAY)), True, active)
    wanted = dtype_of(target)
    same = operand.values.dtype == wanted
    return operand if same else Vector(operand.values.astype(wanted), operand.valid, operand.bound)


def _exact(
    operation: Callable[..., Any],
    left: Vector,
    right: Vector,
    bound: float,
    overflows: Callable[[Array, Array, Array], Any],
    ansi: bool,
    active: Mask | None,
    spare: Array | None,
) -> Vector:
    result = operation(left.values, right.values) if spare is None else operation(left.values, right.values, out=spare)
    valid = both_valid(left.valid, right.valid)
    if result.dtype.kind == "f":
        return Vector(result, valid, _float_bound(bound, result.dtype))
    if bound <= np.iinfo(result.dtype).max:
        return Vector(result, valid, bound)
    if ansi:
        refuse(overflows(left.values, right.values, result), valid, active, overflow)
    return Vector(result, valid)


def _saturating(
    operation: Callable[..., Any],
    left: Vector,
    right: Vector,
    overflows: Callable[[Array, Array, Array], Any],
    type: str,
) -> Vector:
    with np.errstate(over="ignore"):
        result = operation(left.values, right.values)
    bound = magnitude(left) + magnitude(right)
    valid = both_valid(left.valid, right.valid)
    if bound <= LATEST_US:
        return Vector(result, valid, bound)
    # The range of an interval is symmetric, so that its sign can be changed.
    least = -LATEST_US if type == "interval" else EARLIEST_US
    ends = np.where(left.values < 0, np.int64(least), np.int64(LATEST_US))
    clipped = overflows(left.values, right.values, result)
    beyond = np.where(clipped, np.where(left.values < 0, np.int8(-1), np.int8(1)), np.int8(0))
    return Vector(np.maximum(np.where(clipped, ends, result), least), valid, beyond=beyond)


def _whole(values: Array, valid: Mask | None, ansi: bool, active: Mask | None) -> Vector:
    """Whole doubles as 64-bit integers: NaN is 0; without ANSI mode, what is beyond the range becomes its end."""
    beyond = (values < -(2.0**63)) | (values >= 2.0**63)
    if ansi:
        refuse(beyond, valid, active, overflow)
    inside = np.where(beyond | np.isnan(values), 0.0, values).astype(np.int64)
    limits = np.iinfo(np.int64)
    return Vector(np.where(beyond, np.where(values < 0, limits.min, limits.max), inside), valid)


def _float_bound(bound: float, dtype: np.dtype[Any]) -> float:
    return bound if bound < _HALF_RANGE[dtype] else math.inf


def _sum_overflows(left: Array, right: Array, result: Array) -> Any:
    return ((left ^ result) & (right ^ result)) < 0


def _difference_overflows(left: Array, right: Array, result: Array) -> Any:
    return ((left ^ right) & (left ^ result)) < 0


def _product_overflows(left: Array, right: Array, result: Array) -> Any:
    if result.dtype != np.int64:
        return np.multiply(left, right, dtype=np.int64) != result
    minimum = np.iinfo(np.int64).min
    wrapped = ((left == -1) & (right == minimum)) | ((right == -1) & (left == minimum))
    divisor = np.where((left == 0) | (left == -1), np.int64(1), left)
    quotient = np.where((left == 0) | (left == -1), right, np.floor_divide(result, divisor))
    inexact = (divisor != 1) & (np.fmod(result, divisor) != 0)
    return wrapped | inexact | (quotient != right)


def _sign_change(
    operation: Callable[..., Any], operand: Vector, ansi: bool, active: Mask | None, reuse: bool
) -> Vector:
    values, valid = operand.values, operand.valid
    if values.dtype.kind == "i" and ansi:
        limits = np.iinfo(values.dtype)
        if magnitude(operand) > limits.max:
            refuse(values == limits.min, valid, active, overflow)
    in_place = reuse and isinstance(values, np.ndarray) and values.ndim > 0
    return Vector(operation(values, out=values) if in_place else operation(values), valid, operand.bound)


def _nonzero(left: Vector, right: Vector, ansi: bool, active: Mask | None) -> Mask | None:
    zero = right.values == 0
    valid = both_valid(left.valid, right.valid)
    if not zero.any():
        return valid
    if ansi:
        refuse(zero, valid, active, division_by_zero)
        return valid
    return both_valid(valid, ~zero)
