"""Arithmetic of decimals on their unscaled values, with Spark's rounding and overflow.

Where the digits of the types, or else the values, show that 64 bits suffice, they are used; otherwise 128 bits do, for
every operation that `decimal_types` proves. Values of a type of up to 18 digits always fit 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.kernels.expressions import arithmetic, wide_integers
from braid.kernels.expressions.decimal_types import SIGN_DIGITS, quotient_digits
from braid.kernels.expressions.refusals import decimal_overflow, division_by_zero, refuse
from braid.kernels.expressions.vectors import (
    LONGEST_NARROW_DECIMAL,
    Array,
    Mask,
    Vector,
    both_valid,
    dtype_of,
    is_wide,
    magnitude,
)
from braid.kernels.expressions.wide_integers import Rounding, Words, words_of
from braid.plan.expressions import Call, Function, decimal_digits

_LARGEST = 2**63 - 1
# A double is exact up to 2^53, and so is a power of ten up to 10^22: then one division rounds once.
_EXACT_INTEGER = 2**53
_EXACT_POWER = 22
ROUNDINGS: dict[Function, Rounding] = {
    "round_half_up": "half up",
    "round_half_even": "half even",
    "round_up": "ceiling",
    "round_down": "floor",
}


def add_or_subtract(call: Call, left: Vector, right: Vector, active: Mask | None) -> Vector:
    """The exact sum or difference at the longer scale, rounded where its type has fewer fractional digits."""
    valid = both_valid(left.valid, right.valid)
    scale = max(_scale(call, 0), _scale(call, 1))
    factors = (10 ** (scale - _scale(call, 0)), 10 ** (scale - _scale(call, 1)))
    drop = scale - _scale(call)
    for one, two in _bounds(call, left, right):
        bound = one * factors[0] + two * factors[1]
        if drop == 0 and bound <= min(_LARGEST, _limit(call)):
            operation = np.add if call.function == "add" else np.subtract
            return Vector(operation(_times(left.values, factors[0]), _times(right.values, factors[1])), valid, bound)
    one, two = (
        wide_integers.multiply(words_of(side.values), wide_integers.whole(factor))
        for side, factor in zip((left, right), factors, strict=True)
    )
    if call.function == "subtract":
        two = wide_integers.negative(two)
    total = wide_integers.add(one, two)
    # Each operand has at most 38 digits, so a sum beyond 127 bits has both their sign, and its size fits 128 bits.
    same = wide_integers.is_negative(one) == wide_integers.is_negative(two)
    below_zero = np.where(same, wide_integers.is_negative(one), wide_integers.is_negative(total))
    return _settled(call, wide_integers.negated_where(below_zero, total), below_zero, valid, active, drop)


def multiply(call: Call, left: Vector, right: Vector, active: Mask | None) -> Vector:
    """The exact product, rounded where its type has fewer fractional digits."""
    valid = both_valid(left.valid, right.valid)
    drop = _scale(call, 0) + _scale(call, 1) - _scale(call)
    for one, two in _bounds(call, left, right):
        if drop == 0 and one * two <= min(_LARGEST, _limit(call)):
            return Vector(np.multiply(left.values, right.values), valid, one * two)
    product = wide_integers.multiply(words_of(left.values), words_of(right.values))
    below_zero = wide_integers.is_negative(product)
    return _settled(call, wide_integers.negated_where(below_zero, product), below_zero, valid, active, drop)


def divide(call: Call, left: Vector, right: Vector, active: Mask | None) -> Vector:
    """The quotient by long division, several digits at a time, rounded half up."""
    valid = _nonzero(call, left, right, active)
    below_zero = np.asarray((left.values < 0) ^ (right.values < 0))
    divisor = np.where(right.values == 0, np.int64(1), np.abs(right.values))
    rest = np.abs(left.values)
    step = LONGEST_NARROW_DECIMAL - len(str(min(_widest(call, 1), int(magnitude(right)))))
    missing = quotient_digits(call)
    digits = rest // divisor
    quotient = words_of(digits)
    while True:
        rest = rest - digits * divisor
        if missing == 0:
            break
        count = min(step, missing)
        rest = rest * np.int64(10**count)
        digits = rest // divisor
        quotient = wide_integers.add(wide_integers.multiply(quotient, wide_integers.whole(10**count)), words_of(digits))
        missing -= count
    quotient = wide_integers.add(quotient, words_of(rest >= divisor - rest))
    return _settled(call, quotient, below_zero, valid, active)


def remainder(call: Call, left: Vector, right: Vector, active: Mask | None) -> Vector:
    """The remainder at the longer scale, with the sign of the dividend."""
    valid = _nonzero(call, left, right, active)
    scale = max(_scale(call, 0), _scale(call, 1))
    dividend, divisor = (
        _times(side.values, 10 ** (scale - _scale(call, number))) for number, side in enumerate((left, right))
    )
    return Vector(np.fmod(dividend, np.where(divisor == 0, np.int64(1), divisor)), valid)


def negate(call: Call, operand: Vector, active: Mask | None, reuse: bool) -> Vector:
    if _has_narrow_negative(call, operand):
        return arithmetic.negate(operand, False, None, reuse)
    return _with_other_sign(call, operand, active, np.True_)


def absolute(call: Call, operand: Vector, active: Mask | None, reuse: bool) -> Vector:
    if _has_narrow_negative(call, operand):
        return arithmetic.absolute(operand, False, None, reuse)
    return _with_other_sign(call, operand, active, wide_integers.is_negative(words_of(operand.values)))


def cast(call: Call, operand: Vector, active: Mask | None) -> Vector:
    """A cast from or to a decimal: rounded half up to a decimal, towards zero to an integer."""
    target = call.type
    if target in ("float", "double"):
        return Vector(_to_floating(operand.values, _scale(call, 0), dtype_of(target)), operand.valid)
    if decimal_digits(target):
        return _rescaled(call, operand, active, "half up")
    return _to_integers(call, operand, active)


def rounded(call: Call, operand: Vector, active: Mask | None) -> Vector:
    """A decimal with fewer fractional digits, rounded as the function says."""
    return _rescaled(call, operand, active, ROUNDINGS[call.function])


def to_numbers(values: Any, type: str) -> npt.NDArray[Any]:
    """Values as numbers that can be sorted: decimals as doubles, rounded by a function of the value alone."""
    digits = decimal_digits(type)
    if digits is None:
        return np.asarray(values)
    numbers = wide_integers.to_float(words_of(values)) if is_wide(values) else np.asarray(values, np.float64)
    return np.asarray(numbers / float(10 ** digits[1]))


def to_arrow(values: Array, nulls: Mask | None, wanted: pa.DataType) -> pa.Array:
    """Unscaled values as an Arrow column."""
    wide = np.ascontiguousarray(wide_integers.widened(values))
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    return pa.Array.from_buffers(wanted, len(wide), [validity, pa.py_buffer(wide)])


def _has_narrow_negative(call: Call, operand: Vector) -> bool:
    """Whether 64 bits hold the values with the other sign: all but -2^63."""
    if is_wide(operand.values):
        return False
    return _precision(call) <= LONGEST_NARROW_DECIMAL or magnitude(operand) <= _LARGEST


def _with_other_sign(call: Call, operand: Vector, active: Mask | None, changed: Any) -> Vector:
    """The sign changed where `changed` says so; there Spark keeps 34 digits."""
    words = words_of(operand.values)
    below_zero = wide_integers.is_negative(words)
    exact = sizes = wide_integers.negated_where(below_zero, words)
    for digits in range(SIGN_DIGITS + 1, _precision(call) + 1):
        long = wide_integers.exceeds(exact, wide_integers.whole(10 ** (digits - 1) - 1)) & changed
        if not long.any():
            break
        drop = digits - SIGN_DIGITS
        kept = wide_integers.shortened(exact, drop, "half even", below_zero)
        sizes = wide_integers.chosen(long, wide_integers.multiply(kept, wide_integers.whole(10**drop)), sizes)
    over = wide_integers.exceeds(sizes, wide_integers.whole(_limit(call)))
    refuse(over, operand.valid, active, decimal_overflow)
    return Vector(wide_integers.packed(wide_integers.negated_where(below_zero ^ changed, sizes)), operand.valid)


def _settled(
    call: Call,
    sizes: Words,
    below_zero: Mask,
    valid: Mask | None,
    active: Mask | None,
    drop: int = 0,
    rounding: Rounding = "half up",
) -> Vector:
    """Magnitudes and signs as values of the type of a call, rounded; those that do not fit raise or are NULL."""
    sizes = wide_integers.shortened(sizes, drop, rounding, below_zero)
    over = wide_integers.exceeds(sizes, wide_integers.whole(_limit(call)))
    return _checked(call, wide_integers.negated_where(below_zero, sizes), over, valid, active)


def _checked(call: Call, words: Words, over: Mask, valid: Mask | None, active: Mask | None) -> Vector:
    if call.ansi:
        refuse(over, valid, active, decimal_overflow)
    elif over.any():
        valid = both_valid(valid, ~over)
    if _precision(call) <= LONGEST_NARROW_DECIMAL:
        return Vector(np.asarray(words.low).view(np.int64), valid)
    return Vector(wide_integers.packed(words), valid)


def _rescaled(call: Call, operand: Vector, active: Mask | None, rounding: Rounding) -> Vector:
    more = _scale(call) - _scale(call, 0)
    if more < 0:
        words = words_of(operand.values)
        below_zero = wide_integers.is_negative(words)
        sizes = wide_integers.negated_where(below_zero, words)
        return _settled(call, sizes, below_zero, operand.valid, active, -more, rounding)
    for (bound,) in _bounds(call, operand):
        if bound * 10**more <= min(_LARGEST, _limit(call)):
            values = operand.values.astype(np.int64, copy=False)
            return Vector(_times(values, 10**more), operand.valid, bound * 10**more)
    words = words_of(operand.values)
    sizes = wide_integers.negated_where(wide_integers.is_negative(words), words)
    # Compared before it is multiplied: the product of a value that does not fit may exceed 128 bits.
    over = wide_integers.exceeds(sizes, wide_integers.whole(_limit(call) // 10**more))
    longer = wide_integers.multiply(words, wide_integers.whole(10**more))
    return _checked(call, longer, over, operand.valid, active)


def _to_integers(call: Call, operand: Vector, active: Mask | None) -> Vector:
    words = words_of(operand.values)
    below_zero = wide_integers.is_negative(words)
    sizes = wide_integers.negated_where(below_zero, words)
    sizes = wide_integers.shortened(sizes, _scale(call, 0), "down", below_zero)
    result = wide_integers.negated_where(below_zero, sizes)
    wanted = dtype_of(call.type)
    if call.ansi:
        limits = np.iinfo(wanted)
        high = wide_integers.less(wide_integers.whole(limits.max), result)
        low = wide_integers.less(result, wide_integers.whole(limits.min))
        refuse(high | low, operand.valid, active, decimal_overflow)
    return Vector(np.asarray(result.low).view(np.int64).astype(wanted), operand.valid)


def _to_floating(values: Any, scale: int, wanted: np.dtype[Any]) -> Array:
    """The nearest floating numbers, as in Java: by one exact division, else from decimal digits."""
    narrow = not is_wide(values)
    if narrow and wanted == np.float64 and scale <= _EXACT_POWER:
        size = Vector(values)
        if magnitude(size) <= _EXACT_INTEGER:
            return np.asarray(values.astype(np.float64) / 10.0**scale)
    shape = np.shape(values)
    exact = to_arrow(np.ravel(values), None, pa.decimal128(38, scale))
    digits = exact.cast(pa.string())
    return np.asarray(digits.cast(pa.from_numpy_dtype(wanted)).to_numpy()).reshape(shape)


def _nonzero(call: Call, left: Vector, right: Vector, active: Mask | None) -> Mask | None:
    zero = np.asarray(right.values == 0)
    valid = both_valid(left.valid, right.valid)
    if call.ansi:
        refuse(zero, valid, active, division_by_zero)
        return valid
    return both_valid(valid, ~zero) if zero.any() else valid


def _bounds(call: Call, *operands: Vector) -> Any:
    """Upper bounds of the operands' magnitudes: by their types, then by their values."""
    narrow = not any(is_wide(operand.values) for operand in operands)
    if narrow:
        yield [_widest(call, number) for number in range(len(operands))]
        yield [int(magnitude(operand)) for operand in operands]


def _widest(call: Call, number: int) -> int:
    """The largest magnitude of an argument's type, as far as 64 bits hold it."""
    type = call.arguments[number].type
    digits = decimal_digits(type)
    if digits is None:
        return int(np.iinfo(dtype_of(type)).max) + 1
    precision, _ = digits
    return min(int("9" * precision), _LARGEST + 1)


def _precision(call: Call) -> int:
    return (decimal_digits(call.type) or (0, 0))[0]


def _limit(call: Call) -> int:
    return int("9" * _precision(call))


def _scale(call: Call, number: int | None = None) -> int:
    type = call.type if number is None else call.arguments[number].type
    return (decimal_digits(type) or (0, 0))[1]


def _times(values: Array, factor: int) -> Array:
    if factor > _LARGEST:  # its product fits 64 bits only if it is zero
        return np.zeros_like(values)
    return values if factor == 1 else values * np.int64(factor)
