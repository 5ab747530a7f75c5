"""`power`, `cbrt` and `hypot`, bit by bit as StrictMath has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from braid.kernels.expressions.strict_math.exponentials import EXP
from braid.kernels.expressions.strict_math.words import (
    Doubles,
    from_high_word,
    high_word,
    polynomial,
    scaled_by_exponent,
    size_word,
    with_high_word,
    without_low_word,
)
from braid.kernels.expressions.vectors import Vector, both_valid
from braid.plan.expressions import Function

_L = (
    5.99999999999994648725e-01, 4.28571428578550184252e-01, 3.33333329818377432918e-01, 2.72728123808534006489e-01,
    2.30660745775561754067e-01, 2.06975017800338417784e-01,
)  # fmt: skip
_LG2, _LG2_HIGH, _LG2_LOW = 6.93147180559945286227e-01, 6.93147182464599609375e-01, -1.90465429995776804525e-09
_OVERFLOW_TAIL = 8.0085662595372944372e-17
_CP, _CP_HIGH, _CP_LOW = 9.61796693925975554329e-01, 9.61796700954437255859e-01, -7.02846165095275826516e-09
_INVERSE_LN2, _INVERSE_LN2_HIGH = 1.44269504088896338700e00, 1.44269502162933349609e00
_INVERSE_LN2_LOW = 1.92596299112661746887e-08
_BP, _DP_HIGH, _DP_LOW = 1.5, 5.84962487220764160156e-01, 1.35003920212974897128e-08
_ONE = 0x3FF00000


def power(x: Any, y: Any) -> Doubles:
    absolute, size_y = np.abs(x), size_word(y)
    whole = (y == np.trunc(y)) & np.isfinite(y)
    odd = whole & (np.abs(y) < 2.0**53) & (np.fmod(y, 2.0) != 0)
    huge = size_y > 0x41E00000
    near = _logarithm_near_one(absolute)
    far = _logarithm(absolute)
    t1, t2 = (np.where(huge, one, other) for one, other in zip(near, far, strict=True))
    result = _exponential(y, t1, t2)
    grows = np.where(absolute < 1, y < 0, y > 0)
    out_of_range = (size_y > 0x43F00000) | (size_word(x) < 0x3FEFFFFF) | (size_word(x) > _ONE)
    result = np.where(huge & out_of_range, np.where(grows, np.inf, 0.0), result)
    result = np.where((x < 0) & odd, -result, result)
    result = np.where((x < 0) & ~whole, np.nan, result)
    return _special_powers(x, y, odd, whole, result)


def _special_powers(x: Any, y: Any, odd: Any, whole: Any, result: Doubles) -> Doubles:
    absolute = np.abs(x)
    simple = (absolute == 0) | (absolute == 1) | np.isinf(x)
    z = np.where(y < 0, 1 / absolute, absolute)
    negative = np.signbit(x)
    z = np.where(negative & odd, -z, z)
    z = np.where(negative & (absolute == 1) & ~whole, np.nan, z)
    result = np.where(simple, z, result)
    result = np.where((y == 0.5) & ~negative, np.sqrt(x), result)
    result = np.where(y == 2, x * x, result)
    result = np.where(y == 1, x, np.where(y == -1, 1 / x, result))
    towards = np.where((absolute > 1) == (y > 0), np.inf, 0.0)
    result = np.where(np.isinf(y), np.where(absolute == 1, np.nan, towards), result)
    result = np.where(np.isnan(x) | np.isnan(y), np.nan, result)
    return np.where(y == 0, 1.0, result)


def _logarithm_near_one(absolute: Any) -> tuple[Doubles, Doubles]:
    """log2 of numbers that differ from 1 by less than 2**-20, in two parts."""
    t = absolute - 1
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u = _INVERSE_LN2_HIGH * t
    v = t * _INVERSE_LN2_LOW - w * _INVERSE_LN2
    t1 = without_low_word(u + v)
    return t1, v - (t1 - u)


def _logarithm(absolute: Any) -> tuple[Doubles, Doubles]:
    """log2 of positive numbers, in two parts."""
    subnormal = size_word(absolute) < 0x00100000
    absolute = np.where(subnormal, absolute * 2.0**53, absolute)
    word = size_word(absolute)
    n = np.where(subnormal, -53, 0) + (word >> 20) - 0x3FF
    fraction = word & 0xFFFFF
    middle = (fraction > 0x3988E) & (fraction < 0xBB67A)
    upper = fraction >= 0xBB67A
    n = (n + upper).astype(np.float64)
    word = (fraction | _ONE) - np.where(upper, 0x00100000, 0)
    absolute = with_high_word(absolute, word)
    bp = np.where(middle, _BP, 1.0)
    u = absolute - bp
    v = 1 / (absolute + bp)
    ss = u * v
    s_high = without_low_word(ss)
    t_high = from_high_word(((word >> 1) | 0x20000000) + 0x00080000 + np.where(middle, 1 << 18, 0))
    t_low = absolute - (t_high - bp)
    s_low = v * ((u - s_high * t_high) - s_high * t_low)
    s2 = ss * ss
    r = s2 * s2 * polynomial(s2, *_L)
    r = r + s_low * (s_high + ss)
    s2 = s_high * s_high
    t_high = without_low_word(3.0 + s2 + r)
    t_low = r - ((t_high - 3.0) - s2)
    u = s_high * t_high
    v = s_low * t_high + t_low * ss
    p_high = without_low_word(u + v)
    p_low = v - (p_high - u)
    z_high = _CP_HIGH * p_high
    z_low = _CP_LOW * p_high + p_low * _CP + np.where(middle, _DP_LOW, 0.0)
    dp_high = np.where(middle, _DP_HIGH, 0.0)
    t1 = without_low_word(((z_high + z_low) + dp_high) + n)
    return t1, z_low - (((t1 - n) - dp_high) - z_high)


def _exponential(y: Any, t1: Doubles, t2: Doubles) -> Doubles:
    """2 ** (y * (t1 + t2))."""
    y1 = without_low_word(y)
    p_low = (y - y1) * t1 + y * t2
    p_high = y1 * t1
    z = p_low + p_high
    overflow = (z > 1024) | ((z == 1024) & (p_low + _OVERFLOW_TAIL > z - p_high))
    underflow = (z < -1075) | ((z == -1075) & (p_low <= z - p_high))
    word = high_word(z)
    size = word & 0x7FFFFFFF
    large = (size > 0x3FE00000) & ~overflow & ~underflow & np.isfinite(z)
    k = np.where(large, (size >> 20) - 0x3FF, 0)
    n = word + (0x00100000 >> (k + 1))
    k = np.where(large, ((n & 0x7FFFFFFF) >> 20) - 0x3FF, 0)
    t = from_high_word(n & ~(0x000FFFFF >> k))
    n = ((n & 0x000FFFFF) | 0x00100000) >> (20 - k)
    n = np.where(large, np.where(word < 0, -n, n), 0)
    p_high = np.where(large, p_high - t, p_high)
    t = without_low_word(p_low + p_high)
    u = t * _LG2_HIGH
    v = (p_low - (t - p_high)) * _LG2 + t * _LG2_LOW
    z = u + v
    w = v - (z - u)
    t = z * z
    t1 = z - t * polynomial(t, *EXP)
    r = (z * t1) / (t1 - 2.0) - (z * w + w)
    z = 1 - (r - z)
    subnormal = ((high_word(z) + (n << 20)) >> 20) <= 0
    result = np.where(subnormal, np.ldexp(z, n.astype(np.int32)), scaled_by_exponent(z, n))
    return np.where(overflow, np.inf, np.where(underflow, 0.0, result))


def cbrt(x: Any) -> Doubles:
    absolute, word = np.abs(x), size_word(x)
    lifted = absolute * 2.0**54
    estimate = from_high_word(word // 3 + 715094163)
    t = np.where(word < 0x00100000, with_high_word(lifted, size_word(lifted) // 3 + 696219795), estimate)
    r = t * t / absolute
    s = 5.42857142857142815906e-01 + r * t
    t = t * (
        3.57142857142857150787e-01
        + 1.60714285714285720630e00 / (s + 1.41428571428571436819e00 + -7.05306122448979611050e-01 / s)
    )
    t = from_high_word(high_word(t) + 1)
    s = t * t
    r = absolute / s
    w = t + t
    r = (r - t) / (w + r)
    t = t + t * r
    result: Doubles = np.where(np.signbit(x), -t, t)
    return np.where(np.isfinite(t) & (x != 0) & np.isfinite(x), result, x)


def hypot(x: Any, y: Any) -> Doubles:
    a, b = np.maximum(np.abs(x), np.abs(y)), np.minimum(np.abs(x), np.abs(y))
    far = size_word(a) - size_word(b) > 0x3C00000
    plain = a + b
    word_a, word_b, smallest = size_word(a), size_word(b), b
    factor, back = np.where(word_a > 0x5F300000, 2.0**-600, 1.0), np.where(word_a > 0x5F300000, 2.0**600, 1.0)
    tiny = (word_b < 0x20B00000) & (word_b > 0x000FFFFF)
    factor, back = np.where(tiny, 2.0**600, factor), np.where(tiny, 2.0**-600, back)
    subnormal = word_b <= 0x000FFFFF
    factor, back = np.where(subnormal, 2.0**1022, factor), np.where(subnormal, 2.0**-1022, back)
    a, b = a * factor, b * factor
    # The words of subnormal numbers are not scaled, which the formula allows.
    word_a, word_b = np.where(subnormal, word_a, size_word(a)), np.where(subnormal, word_b, size_word(b))
    w = a - b
    t1 = from_high_word(word_a)
    t2 = a - t1
    apart = np.sqrt(t1 * t1 - (b * (-b) - t2 * (a + t1)))
    double = a + a
    y1 = from_high_word(word_b)
    y2 = b - y1
    t1 = from_high_word(word_a + 0x00100000)
    t2 = double - t1
    close = np.sqrt(t1 * y1 - (w * (-w) - (t1 * y2 + t2 * b)))
    result = back * np.where(w > b, apart, close)
    result = np.where(far | (smallest == 0), plain, result)
    result = np.where(np.isnan(x) | np.isnan(y), np.nan, result)
    return np.where(np.isinf(x) | np.isinf(y), np.inf, result)


def _of_two(function: Callable[[Any, Any], Any]) -> Callable[..., Vector]:
    return lambda left, right: Vector(function(left.values, right.values), both_valid(left.valid, right.valid))


FUNCTIONS: Mapping[Function, Callable[..., Vector]] = {
    "power": _of_two(power),
    "hypot": _of_two(hypot),
    "cbrt": lambda operand: Vector(cbrt(operand.values), operand.valid),
}
