"""`exp`, `expm1` and the hyperbolic functions, bit by bit as StrictMath has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from braid.kernels.expressions.strict_math.words import (
    Doubles,
    from_high_word,
    polynomial,
    scaled_by_exponent,
    size_word,
)
from braid.kernels.expressions.vectors import Vector
from braid.plan.expressions import Function

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_INVERSE_LN2 = 1.44269504088896338700e00
_OVERFLOW, _UNDERFLOW = 7.09782712893383973096e02, -7.45133219101941108420e02
EXP = (
    1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05, -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)  # fmt: skip
_EXPM1 = (
    1.0, -3.33333333333331316428e-02, 1.58730158725481460165e-03, -7.93650757867487942473e-05,
    4.00821782732936239552e-06, -2.01099218183624371326e-07,
)  # fmt: skip
# High words of the magnitudes at which algorithms change.
_HALF_LN2, _ONE_AND_A_HALF_LN2 = 0x3FD62E42, 0x3FF0A2B2
_LARGEST_EXPONENT, _TWENTY_TWO, _ONE = 0x40862E42, 0x40360000, 0x3FF00000


def exp(x: Any) -> Doubles:
    size = size_word(x)
    k, high, low = _reduced(x, size)
    reduced = np.where(k == 0, x, high - low)
    square = reduced * reduced
    c = reduced - square * polynomial(square, *EXP)
    product = reduced * c
    unscaled = 1 - (product / (c - 2.0) - reduced)
    y = 1 - ((low - product / (2.0 - c)) - high)
    # A subnormal result is rounded once, by the last product.
    tiny = k < -1021
    scaled = scaled_by_exponent(y, np.where(tiny, k + 1000, k))
    scaled = np.where(tiny, scaled * 2.0**-1000, scaled)
    result = np.where(k == 0, unscaled, scaled)
    result = np.where(size < 0x3E300000, 1 + x, result)
    result = np.where(x > _OVERFLOW, np.inf, np.where(x < _UNDERFLOW, 0.0, result))
    return np.where(np.isnan(x), np.nan, result)


def expm1(x: Any) -> Doubles:
    size = size_word(x)
    k, high, low = _reduced(x, size)
    reduced = np.where(k == 0, x, high - low)
    c = np.where(k == 0, 0.0, (high - reduced) - low)
    half = 0.5 * reduced
    square = reduced * half
    r1 = polynomial(square, *_EXPM1)
    t = 3.0 - r1 * half
    e = square * ((r1 - t) / (6.0 - reduced * t))
    unscaled = reduced - (reduced * e - square)
    e = (reduced * (e - c) - c) - square
    result = np.where(k == 0, unscaled, _scaled_expm1(reduced, e, k))
    result = np.where(size < 0x3C900000, x, result)
    result = np.where((size >= 0x4043687A) & (x < 0), -1.0, result)
    result = np.where(x > _OVERFLOW, np.inf, result)
    return np.where(np.isnan(x), np.nan, result)


def _scaled_expm1(x: Doubles, e: Doubles, k: Any) -> Doubles:
    near_half = 0.5 * (x - e) - 0.5
    near_two = np.where(x < -0.25, -2.0 * (e - (x + 0.5)), 1 + 2.0 * (x - e))
    far = scaled_by_exponent(1 - (e - x), k) - 1
    below = from_high_word(0x3FF00000 - (0x200000 >> np.clip(k, 0, 22)))
    small = scaled_by_exponent(below - (e - x), k)
    large = scaled_by_exponent((x - (e + from_high_word((0x3FF - k) << 20))) + 1, k)
    result = np.where(k < 20, small, large)
    result = np.where((k <= -2) | (k > 56), far, result)
    return np.where(k == -1, near_half, np.where(k == 1, near_two, result))


def _reduced(x: Any, size: Any) -> tuple[Any, Doubles, Doubles]:
    """k, and the two parts of x - k*ln(2)."""
    sign = np.where(x < 0, -1.0, 1.0)
    k = np.trunc(_INVERSE_LN2 * x + 0.5 * sign)
    k = np.where(size < _ONE_AND_A_HALF_LN2, sign, k)
    k = np.where((size > _HALF_LN2) & (size < 0x7FF00000), k, 0.0)
    return np.clip(k, -2000, 2000).astype(np.int64), x - k * LN2_HIGH, k * LN2_LOW


def sinh(x: Any) -> Doubles:
    size, absolute = size_word(x), np.abs(x)
    h = np.where(x < 0, -0.5, 0.5)
    t = expm1(absolute)
    quotient = t / (t + 1)
    result = np.where(size < _ONE, h * (2.0 * t - t * t / (t + 1)), h * (t + quotient))
    result = np.where(size < 0x3E300000, x, result)
    return np.where(size < _TWENTY_TWO, result, _large(x, h, size))


def cosh(x: Any) -> Doubles:
    size, absolute = size_word(x), np.abs(x)
    t = expm1(absolute)
    w = 1 + t
    small = np.where(size < 0x3C800000, w, 1 + (t * t) / (w + w))
    e = exp(absolute)
    result = np.where(size < 0x3FD62E43, small, 0.5 * e + 0.5 / e)
    return np.where(size < _TWENTY_TWO, result, _large(absolute, 0.5, size))


def tanh(x: Any) -> Doubles:
    size, absolute = size_word(x), np.abs(x)
    double = 2 * absolute
    large = expm1(double)
    small = expm1(-double)
    z = np.where(size >= _ONE, 1 - 2 / (large + 2), -small / (small + 2))
    z = np.where(size < _TWENTY_TWO, z, 1.0)
    z = np.where(x < 0, -z, z)
    z = np.where(size < 0x3C800000, x * (1 + x), z)
    return np.where(np.isnan(x), np.nan, z)


def _large(x: Any, half: Any, size: Any) -> Doubles:
    """sinh and cosh from 22 on: half an exponential, in two steps near the end of the range."""
    absolute = np.abs(x)
    w = exp(0.5 * absolute)
    result = np.where(size < _LARGEST_EXPONENT, half * exp(absolute), (half * w) * w)
    return np.where(np.isnan(x), np.nan, np.where(absolute > 710.4758600739439, half * np.inf, result))


def _of(function: Callable[[Any], Any]) -> Callable[..., Vector]:
    return lambda operand: Vector(function(operand.values), operand.valid)


FUNCTIONS: Mapping[Function, Callable[..., Vector]] = {
    "exp": _of(exp),
    "expm1": _of(expm1),
    "sinh": _of(sinh),
    "cosh": _of(cosh),
    "tanh": _of(tanh),
}
