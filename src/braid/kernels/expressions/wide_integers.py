"""Whole numbers of 128 bits as two 64-bit words, for decimals that 64 bits cannot hold.

An array has the type `WIDE`, the memory layout of Arrow's decimals. Arithmetic is modulo 2^128, in two's complement:
a result that fits is exact, whatever the intermediate values. Everything follows NumPy's broadcasting.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from braid.kernels.expressions.vectors import WIDE, Array, Mask, Vector, is_wide

Rounding = Literal["half up", "half even", "ceiling", "floor", "down"]
Unsigned = npt.NDArray[np.uint64]

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
# The remainder of a division by a power of ten below 2^32, shifted by 32 bits, still fits a word.
_DIGITS_AT_ONCE = 9
_DIGITS_OF_A_WORD = 19
_WORD = float(2**64)


class Words(NamedTuple):
    """The words of whole numbers; signed numbers have the sign in the highest bit of `high`."""

    high: Unsigned
    low: Unsigned


def words_of(values: Any) -> Words:
    """The words of an array of 64-bit or of wide numbers."""
    if is_wide(values):
        return Words(values["high"].view(np.uint64), values["low"])
    signed = np.asarray(values, np.int64)
    return Words(np.asarray(signed >> 63).view(np.uint64), signed.view(np.uint64))


def whole(value: int) -> Words:
    """One number."""
    return Words(np.asarray((value >> 64) % 2**64, np.uint64), np.asarray(value % 2**64, np.uint64))


def packed(words: Words) -> Array:
    """Signed numbers as an array: of 64 bits if all fit, else wide."""
    high, low = np.broadcast_arrays(*words)
    signed = np.ascontiguousarray(low).view(np.int64).reshape(low.shape)
    if np.array_equal(high.view(np.int64), signed >> 63):
        return signed
    array = np.empty(high.shape, WIDE)
    array["high"], array["low"] = high.view(np.int64), low
    return array


def widened(values: Any) -> Array:
    """An array of 64-bit or of wide numbers as wide ones."""
    if is_wide(values):
        return np.asarray(values)
    words = words_of(values)
    array = np.empty(np.shape(values), WIDE)
    array["high"], array["low"] = words.high.view(np.int64), words.low
    return array


def alike(left: Vector, right: Vector) -> tuple[Any, Any]:
    """The values of two vectors of one type: both wide if one is."""
    if is_wide(left.values) == is_wide(right.values):
        return left.values, right.values
    return widened(left.values), widened(right.values)


def is_negative(words: Words) -> Mask:
    return np.asarray(words.high.view(np.int64) < 0)


def negative(words: Words) -> Words:
    return Words(~words.high + (words.low == 0), ~words.low + np.uint64(1))


def chosen(mask: Any, left: Words, right: Words) -> Words:
    """The left numbers where the mask is true, the right ones elsewhere."""
    return Words(np.where(mask, left.high, right.high), np.where(mask, left.low, right.low))


def negated_where(mask: Any, words: Words) -> Words:
    return chosen(mask, negative(words), words)


def add(left: Words, right: Words) -> Words:
    low = left.low + right.low
    return Words(left.high + right.high + (low < left.low), low)


def multiply(left: Words, right: Words) -> Words:
    """The product, by halves of the low words; the high words only add to the high word."""
    left_high, left_low = left.low >> _HALF, left.low & _LOW_HALF
    right_high, right_low = right.low >> _HALF, right.low & _LOW_HALF
    upper = left_high * right_low + (left_low * right_low >> _HALF)
    lower = left_low * right_high + (upper & _LOW_HALF)
    high = left_high * right_high + (upper >> _HALF) + (lower >> _HALF)
    return Words(high + left.high * right.low + left.low * right.high, left.low * right.low)


def less(left: Words, right: Words) -> Mask:
    """Whether signed numbers are less than others."""
    mine, theirs = left.high.view(np.int64), right.high.view(np.int64)
    return np.asarray((mine < theirs) | ((mine == theirs) & (left.low < right.low)))


def equal(left: Words, right: Words) -> Mask:
    return np.asarray((left.high == right.high) & (left.low == right.low))


def exceeds(magnitude: Words, limit: Words) -> Mask:
    """Whether unsigned numbers are greater than others."""
    more = (magnitude.high == limit.high) & (magnitude.low > limit.low)
    return np.asarray((magnitude.high > limit.high) | more)


def shortened(magnitude: Words, digits: int, rounding: Rounding, below_zero: Mask) -> Words:
    """Magnitudes of numbers without their last decimal digits, rounded; `below_zero` has the signs."""
    if digits == 0:
        return magnitude
    quotient = _divided(magnitude, digits)
    if rounding == "down":
        return quotient
    rest = add(magnitude, negative(multiply(quotient, whole(10**digits))))
    if rounding in ("ceiling", "floor"):
        away = (rest.high | rest.low) != 0
        up = away & (below_zero == (rounding == "floor"))
    else:
        half = whole(5 * 10 ** (digits - 1))
        up = exceeds(rest, half)
        odd = True if rounding == "half up" else (quotient.low & np.uint64(1)) == 1
        up |= equal(rest, half) & odd
    return add(quotient, Words(np.zeros((), np.uint64), np.asarray(up).astype(np.uint64)))


def to_float(words: Words) -> npt.NDArray[np.float64]:
    """Signed numbers as doubles: monotone, and equal to the conversion of numbers that fit 64 bits."""
    below_zero = is_negative(words)
    high, low = negated_where(below_zero, words)
    size = high.astype(np.float64) * _WORD + low.astype(np.float64)
    return np.where(below_zero, -size, size)


def _divided(magnitude: Words, digits: int) -> Words:
    """Unsigned numbers over a power of ten, truncated."""
    if not magnitude.high.any():
        if digits > _DIGITS_OF_A_WORD:
            return Words(np.zeros_like(magnitude.high), np.zeros_like(magnitude.low))
        return Words(magnitude.high, magnitude.low // np.uint64(10**digits))
    parts = [magnitude.high >> _HALF, magnitude.high & _LOW_HALF, magnitude.low >> _HALF, magnitude.low & _LOW_HALF]
    while digits > 0:
        step = min(digits, _DIGITS_AT_ONCE)
        divisor = np.uint64(10**step)
        rest: Unsigned = np.zeros((), np.uint64)
        for place, part in enumerate(parts):
            dividend = (rest << _HALF) | part
            parts[place] = dividend // divisor
            rest = dividend - parts[place] * divisor
        digits -= step
    return Words((parts[0] << _HALF) | parts[1], (parts[2] << _HALF) | parts[3])
