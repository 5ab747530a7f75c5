"""Logarithms, bit by bit as StrictMath has them; NULL outside their domain, as in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from braid.kernels.expressions.strict_math.exponentials import LN2_HIGH, LN2_LOW
from braid.kernels.expressions.strict_math.words import Doubles, high_word, polynomial, with_high_word
from braid.kernels.expressions.vectors import Mask, Vector, both_valid
from braid.plan.expressions import Function

_LOG = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip
_INVERSE_LN10 = 4.34294481903251816668e-01
_LOG10_2_HIGH, _LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13
_LN2 = 6.931471805599453e-01
_TWO_54 = 2.0**54


def log(x: Any) -> Doubles:
    """The natural logarithm of positive numbers; for others the result is arbitrary, except that NaN stays."""
    scaled, k, word = _normal(x)
    fraction = word & 0xFFFFF
    above = (fraction + 0x95F64) & 0x100000
    f = with_high_word(scaled, fraction | (above ^ 0x3FF00000)) - 1.0
    k = (k + (above >> 20)).astype(np.float64)
    result = _near_one(f, k)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    t1 = w * polynomial(w, _LOG[1], _LOG[3], _LOG[5])
    t2 = z * polynomial(w, _LOG[0], _LOG[2], _LOG[4], _LOG[6])
    r = t2 + t1
    half_square = 0.5 * f * f
    inner = s * (half_square + r)
    middle = np.where(k == 0, f - (half_square - inner), k * LN2_HIGH - ((half_square - (inner + k * LN2_LOW)) - f))
    outer = s * (f - r)
    edge = np.where(k == 0, f - outer, k * LN2_HIGH - ((outer - k * LN2_LOW) - f))
    wide = np.where(((fraction - 0x6147A) | (0x6B851 - fraction)) > 0, middle, edge)
    result = np.where((0xFFFFF & (2 + fraction)) < 3, result, wide)
    return np.where(np.isfinite(x), result, x + x)


def _near_one(f: Doubles, k: Doubles) -> Doubles:
    r = f * f * (0.5 - 0.33333333333333333 * f)
    result = np.where(k == 0, f - r, k * LN2_HIGH - ((r - k * LN2_LOW) - f))
    return np.where(f == 0, np.where(k == 0, 0.0, k * LN2_HIGH + k * LN2_LOW), result)


def _normal(x: Any) -> tuple[Doubles, Any, Any]:
    """Numbers without subnormals, their exponents, and their high words."""
    subnormal = high_word(x) < 0x00100000
    scaled = np.where(subnormal, x * _TWO_54, x)
    word = high_word(scaled)
    return scaled, np.where(subnormal, -54, 0) + (word >> 20) - 1023, word


def log10(x: Any) -> Doubles:
    scaled, k, word = _normal(x)
    negative = np.where(k < 0, 1, 0)
    y = (k + negative).astype(np.float64)
    mantissa = with_high_word(scaled, (word & 0xFFFFF) | ((0x3FF - negative) << 20))
    z = y * _LOG10_2_LOW + _INVERSE_LN10 * log(mantissa)
    result: Doubles = np.where(np.isfinite(x), z + y * _LOG10_2_HIGH, x + x)
    return result


def log1p(x: Any) -> Doubles:
    word = high_word(x)
    size = word & 0x7FFFFFFF
    plain = (word < 0x3FDA827A) & ((word > 0) | (size <= 0x3FD2BEC3))
    k, u_word, f, c = _one_more(x, word)
    k, f, c = np.where(plain, 0.0, k), np.where(plain, x, f), np.where(plain, 0.0, c)
    near = ~plain & (u_word == 0)
    half_square = 0.5 * f * f
    r = half_square * (1.0 - 0.66666666666666666 * f)
    close = np.where(k == 0, f - r, k * LN2_HIGH - ((r - (k * LN2_LOW + c)) - f))
    close = np.where(f == 0, np.where(k == 0, 0.0, k * LN2_HIGH + (c + k * LN2_LOW)), close)
    s = f / (2.0 + f)
    z = s * s
    inner = s * (half_square + z * polynomial(z, *_LOG))
    wide = np.where(k == 0, f - (half_square - inner), k * LN2_HIGH - ((half_square - (inner + (k * LN2_LOW + c))) - f))
    result = np.where(near, close, wide)
    small = np.where(size < 0x3C900000, x, x - x * x * 0.5)
    result = np.where(size < 0x3E200000, small, result)
    return np.where(np.isfinite(x), result, x + x)


def _one_more(x: Any, word: Any) -> tuple[Any, Any, Doubles, Doubles]:
    """1 + x as 2**k * (1 + f), with the error of the sum."""
    inexact = word < 0x43400000
    u = np.where(inexact, 1.0 + x, x)
    k = (high_word(u) >> 20) - 1023
    c = np.where(inexact, np.where(k > 0, 1.0 - (u - x), x - (u - 1.0)) / u, 0.0)
    fraction = high_word(u) & 0xFFFFF
    upper = fraction >= 0x6A09E
    u = with_high_word(u, fraction | np.where(upper, 0x3FE00000, 0x3FF00000))
    fraction = np.where(upper, (0x00100000 - fraction) >> 2, fraction)
    return (k + upper).astype(np.float64), fraction, u - 1.0, c


def log2(x: Any) -> Doubles:
    quotient: Doubles = log(x) / _LN2
    return quotient


def _above(least: float, function: Callable[[Any], Any]) -> Callable[..., Vector]:
    """A logarithm that is NULL up to a number; NaN is not below it."""

    def apply(operand: Vector) -> Vector:
        return Vector(function(operand.values), both_valid(operand.valid, _domain(operand, least)))

    return apply


def _domain(operand: Vector, least: float) -> Mask | None:
    outside = operand.values <= least
    return np.asarray(~outside) if np.any(outside) else None


def _with_base(base: Vector, operand: Vector) -> Vector:
    valid = both_valid(both_valid(base.valid, operand.valid), both_valid(_domain(base, 0.0), _domain(operand, 0.0)))
    return Vector(log(operand.values) / log(base.values), valid)


FUNCTIONS: Mapping[Function, Callable[..., Vector]] = {
    "log": _above(0.0, log),
    "log10": _above(0.0, log10),
    "log2": _above(0.0, log2),
    "log1p": _above(-1.0, log1p),
    "log_base": _with_base,
}
