"""The two halves of doubles, as algorithms of fdlibm read and set them.

Java's StrictMath is fdlibm to the last bit, so its functions are the same on every platform. Here they are evaluated on
whole arrays: every operation is one rounding of doubles, in fdlibm's order, and branches are chosen afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Words = npt.NDArray[np.int64]

_LOW = np.int64(0xFFFF_FFFF)


def bits(values: Any) -> Words:
    found: Words = np.asarray(values, np.float64).view(np.int64)
    return found


def high_word(values: Any) -> Words:
    """The upper 32 bits, signed: sign, exponent, and 20 bits of the fraction."""
    return bits(values) >> 32


def size_word(values: Any) -> Words:
    """The upper 32 bits without the sign; they order magnitudes."""
    return high_word(values) & 0x7FFF_FFFF


def without_low_word(values: Any) -> Doubles:
    return _double(bits(values) & ~_LOW)


def with_high_word(values: Any, words: Any) -> Doubles:
    return _double((bits(values) & _LOW) | (np.asarray(words, np.int64) << 32))


def from_high_word(words: Any) -> Doubles:
    return _double(np.asarray(words, np.int64) << 32)


def scaled_by_exponent(values: Any, exponents: Any) -> Doubles:
    """Doubles times powers of two, by adding to the bits of the exponent."""
    return _double(bits(values) + (np.asarray(exponents, np.int64) << 52))


def polynomial(x: Any, *coefficients: float) -> Any:
    """c0 + x*(c1 + x*(c2 + …))."""
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + x * result
    return result


def _double(words: Words) -> Doubles:
    found: Doubles = np.asarray(words).view(np.float64)
    return found
