"""Functions of numbers that IEEE arithmetic gives exactly: scaling, signs, rounding, extremes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from braid.kernels.expressions import logic
from braid.kernels.expressions.vectors import Vector, both_valid
from braid.plan.expressions import Function

# The constants of java.lang.Math.toRadians and toDegrees, which multiply by them.
RADIANS_PER_DEGREE = 0.017453292519943295
DEGREES_PER_RADIAN = 57.29577951308232


def _radians(operand: Vector) -> Vector:
    return Vector(operand.values * RADIANS_PER_DEGREE, operand.valid)


def _degrees(operand: Vector) -> Vector:
    return Vector(operand.values * DEGREES_PER_RADIAN, operand.valid)


def _sign(operand: Vector) -> Vector:
    """The sign of a double; zeros and NaN are their own."""
    values = operand.values
    return Vector(np.where(values > 0, 1.0, np.where(values < 0, -1.0, values)), operand.valid)


def _rint(operand: Vector) -> Vector:
    return Vector(np.rint(operand.values), operand.valid)


def _bitwise(operation: Callable[..., Any]) -> Callable[..., Vector]:
    return lambda left, right: Vector(operation(left.values, right.values), both_valid(left.valid, right.valid))


def _extreme(comparison: str) -> Callable[..., Vector]:
    """The first of the operands that no other exceeds, or falls below; NULLs are skipped, and NaN is the greatest."""

    def apply(*operands: Vector) -> Vector:
        return reduce(better, operands)

    def better(best: Vector, other: Vector) -> Vector:
        compared = logic.compare(comparison, other, best)
        replaced = logic.known_as(compared, True)
        if best.valid is not None:
            replaced = replaced | (~best.valid & logic.mask_of(other))
        return logic.chosen(np.asarray(replaced), other, best)

    return apply


FUNCTIONS: Mapping[Function, Callable[..., Vector]] = {
    "radians": _radians,
    "degrees": _degrees,
    "sign": _sign,
    "rint": _rint,
    "bit_and": _bitwise(np.bitwise_and),
    "bit_or": _bitwise(np.bitwise_or),
    "bit_xor": _bitwise(np.bitwise_xor),
    "bit_not": lambda operand: Vector(~operand.values, operand.valid),
    "greatest": _extreme("gt"),
    "least": _extreme("lt"),
}
