"""Limits: the numbers of stored rows that each probing row may join, from the bounds of a comparison.

They are widened by the possible rounding errors, so no match is outside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.kernels.expressions.decimals import to_numbers
from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.rows import Positions, Rows
from braid.plan.expressions import Expression
from braid.plan.join import Bound

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """The numbers that each probing row accepts, both ends included; NaN means no limit."""

    lower: Doubles
    upper: Doubles

    def of(self, rows: Positions | None) -> Limits:
        """The limits of some rows only."""
        return self if rows is None else Limits(self.lower[rows], self.upper[rows])


def limits_of(bounds: Sequence[Bound], rows: Rows) -> tuple[Limits, Doubles]:
    """The tightest limits of all bounds for each row, and its headroom.

    The headroom is how large a stored number may be before the integer arithmetic of a bound may overflow.
    """
    headroom = np.full(rows.length, math.inf)
    lower, upper = np.full(rows.length, np.nan), np.full(rows.length, np.nan)
    for bound in bounds:
        values, magnitude = _sum(bound, rows)
        with np.errstate(all="ignore"):
            slack = bound.epsilon * magnitude + bound.rounding
            if bound.capacity is not None:
                headroom = np.minimum(headroom, bound.capacity - (magnitude + slack))
            end = values - slack if bound.side == "lower" else values + slack
        end = np.where(np.isfinite(end), end, np.nan)
        lower, upper = (np.fmax(lower, end), upper) if bound.side == "lower" else (lower, np.fmin(upper, end))
    return Limits(lower, upper), headroom


def number_values(expression: Expression, rows: Rows) -> Doubles:
    """The numbers as doubles, for sums and comparisons that may be rounded."""
    return to_numbers(evaluate(expression, rows.vector).values, expression.type).astype(np.float64)


def _sum(bound: Bound, rows: Rows) -> tuple[Doubles, Doubles]:
    """The sum of a bound's terms for each row, and the sum of their magnitudes."""
    values, magnitude = np.full(rows.length, bound.offset), np.full(rows.length, abs(bound.offset))
    with np.errstate(all="ignore"):
        for sign, expression in [(1.0, e) for e in bound.plus] + [(-1.0, e) for e in bound.minus]:
            term = number_values(expression, rows)
            values = values + sign * term
            magnitude = magnitude + np.abs(term)
    return values, magnitude
