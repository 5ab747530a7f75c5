"""Inverse trigonometric functions, bit by bit as StrictMath has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from braid.kernels.expressions.strict_math.words import Doubles, polynomial, size_word, without_low_word
from braid.kernels.expressions.vectors import Vector, both_valid
from braid.plan.expressions import Function

_PI, _PI_LOW = 3.14159265358979311600e00, 1.2246467991473531772e-16
_HALF_PI, _HALF_PI_LOW = 1.57079632679489655800e00, 6.12323399573676603587e-17
_QUARTER_PI = 7.85398163397448278999e-01
_NUMERATOR = (
    1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01, -4.00555345006794114027e-02,
    7.91534994289814532176e-04, 3.47933107596021167570e-05,
)  # fmt: skip
_DENOMINATOR = (
    1.0, -2.40339491173441421878e00, 2.02094576023350569471e00, -6.88283971605453293030e-01, 7.70381505559019352791e-02,
)  # fmt: skip
_ATAN = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02,
)  # fmt: skip
# atan(1/2), atan(1), atan(3/2), atan(infinity), each in two parts; the first is for small arguments.
_HIGH_PARTS = np.array([0.0, 4.63647609000806093515e-01, _QUARTER_PI, 9.82793723247329054082e-01, _HALF_PI])
_LOW_PARTS = np.array([
    0.0, 2.26987774529616870924e-17, 3.06161699786838301793e-17, 1.39033110312309984516e-17, _HALF_PI_LOW,
])  # fmt: skip
_ONE, _HALF = 0x3FF00000, 0x3FE00000


def _ratio(t: Any) -> Any:
    return (t * polynomial(t, *_NUMERATOR)) / polynomial(t, *_DENOMINATOR)


def asin(x: Any) -> Doubles:
    size, absolute = size_word(x), np.abs(x)
    small = x + x * _ratio(x * x)
    small = np.where(size < 0x3E400000, x, small)
    t = (1 - absolute) * 0.5
    ratio, s = _ratio(t), np.sqrt(t)
    near_one = _HALF_PI - (2.0 * (s + s * ratio) - _HALF_PI_LOW)
    w = without_low_word(s)
    c = (t - w * w) / (s + w)
    p = 2.0 * s * ratio - (_HALF_PI_LOW - 2.0 * c)
    q = _QUARTER_PI - 2.0 * w
    large = np.where(size >= 0x3FEF3333, near_one, _QUARTER_PI - (p - q))
    result = np.where(size < _HALF, small, np.where(x > 0, large, -large))
    result = np.where(absolute == 1, x * _HALF_PI + x * _HALF_PI_LOW, result)
    return np.where(absolute <= 1, result, np.nan)


def acos(x: Any) -> Doubles:
    size, absolute = size_word(x), np.abs(x)
    small = _HALF_PI - (x - (_HALF_PI_LOW - x * _ratio(x * x)))
    small = np.where(size <= 0x3C600000, _HALF_PI + _HALF_PI_LOW, small)
    z = (1 - absolute) * 0.5
    s, r = np.sqrt(z), _ratio(z)
    negative = _PI - 2.0 * (s + (r * s - _HALF_PI_LOW))
    df = without_low_word(s)
    c = (z - df * df) / (s + df)
    positive = 2.0 * (df + (r * s + c))
    result = np.where(size < _HALF, small, np.where(x < 0, negative, positive))
    result = np.where(absolute == 1, np.where(x > 0, 0.0, _PI + 2.0 * _HALF_PI_LOW), result)
    return np.where(absolute <= 1, result, np.nan)


def atan(x: Any) -> Doubles:
    size, absolute = size_word(x), np.abs(x)
    limits = [size < 0x3FDC0000, size < 0x3FE60000, size < 0x3FF30000, size < 0x40038000]
    part = np.select(limits, [0, 1, 2, 3], 4)
    reduced = np.select(
        limits,
        [
            x,
            (2.0 * absolute - 1) / (2.0 + absolute),
            (absolute - 1) / (absolute + 1),
            (absolute - 1.5) / (1 + 1.5 * absolute),
        ],
        -1.0 / absolute,
    )
    z = reduced * reduced
    w = z * z
    s1 = z * polynomial(w, *_ATAN[0::2])
    s2 = w * polynomial(w, *_ATAN[1::2])
    small = reduced - reduced * (s1 + s2)
    large = _HIGH_PARTS[part] - ((reduced * (s1 + s2) - _LOW_PARTS[part]) - reduced)
    large = np.where(size >= 0x44100000, _HALF_PI + _HALF_PI_LOW, large)
    result = np.where(part == 0, small, np.where(x < 0, -large, large))
    result = np.where(size < 0x3E200000, x, result)
    return np.where(np.isnan(x), np.nan, result)


def atan2(y: Any, x: Any) -> Doubles:
    """The angle of a point. Spark adds 0.0 to both, so that zeros are positive."""
    y, x = y + 0.0, x + 0.0
    exponents = (size_word(y) - size_word(x)) >> 20
    z = atan(np.abs(y / x))
    z = np.where((x < 0) & (exponents < -60), 0.0, z)
    z = np.where(exponents > 60, _HALF_PI + 0.5 * _PI_LOW, z)
    right = np.where(y < 0, -z, z)
    left = np.where(y < 0, (z - _PI_LOW) - _PI, _PI - (z - _PI_LOW))
    result = np.where(x < 0, left, right)
    sign = np.where(y < 0, -1.0, 1.0)
    result = np.where(np.isinf(y), sign * _HALF_PI, result)
    both = sign * np.where(x < 0, 3.0 * _QUARTER_PI, _QUARTER_PI)
    one = np.where(x < 0, sign * _PI, sign * 0.0)
    result = np.where(np.isinf(x), np.where(np.isinf(y), both, one), result)
    result = np.where(x == 0, sign * _HALF_PI, result)
    result = np.where(y == 0, np.where(x < 0, _PI, 0.0), result)
    result = np.where(x == 1, atan(y), result)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, result)


def _of(function: Callable[[Any], Any]) -> Callable[..., Vector]:
    return lambda operand: Vector(function(operand.values), operand.valid)


def _atan2(y: Vector, x: Vector) -> Vector:
    return Vector(atan2(y.values, x.values), both_valid(y.valid, x.valid))


FUNCTIONS: Mapping[Function, Callable[..., Vector]] = {
    "asin": _of(asin),
    "acos": _of(acos),
    "atan": _of(atan),
    "atan2": _atan2,
}
