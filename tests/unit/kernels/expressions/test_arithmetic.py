"""Comparisons of shifted times at the ends of 64 bits: those of numbers without ends."""

from __future__ import annotations

import numpy as np
import pytest

from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.expressions.vectors import Vector
from braid.plan.durations import LONGEST_US
from braid.plan.expressions import Column, Expression
from braid.testing import absolute, add, constant, equal, less, less_or_equal, subtract
from tests.unit.kernels.extreme_times import ENDS

A, B = Column("a", 0, "timestamp"), Column("b", 1, "timestamp")
SPANS = (0, 1, 60_000_000, LONGEST_US)


def truths(expression: Expression) -> list[bool]:
    """The value for every pair of times at the ends."""
    columns = {"a": np.repeat(ENDS, len(ENDS)), "b": np.tile(ENDS, len(ENDS))}
    found = evaluate(expression, lambda name: Vector(columns[name]))
    assert found.valid is None
    return [bool(value) for value in found.values]


@pytest.mark.parametrize("span", SPANS)
def test_comparisons_with_shifted_times_are_those_of_numbers_without_ends(span: int) -> None:
    pairs = [(a, b) for a in ENDS for b in ENDS]
    by = constant(span, "interval")
    assert truths(less_or_equal(B, add(A, by))) == [b <= a + span for a, b in pairs]
    assert truths(less(B, add(A, by))) == [b < a + span for a, b in pairs]
    assert truths(less_or_equal(subtract(A, by), B)) == [a - span <= b for a, b in pairs]
    assert truths(less(subtract(A, by), B)) == [a - span < b for a, b in pairs]
    assert truths(less_or_equal(absolute(subtract(A, B)), by)) == [abs(a - b) <= span for a, b in pairs]
    if span:
        assert truths(equal(add(A, by), B)) == [a + span == b for a, b in pairs]
