"""Expressions as deep and as wide as plans may hold: walked, printed, compared, pickled and evaluated."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from pyspark import cloudpickle

from braid.kernels.expressions.evaluate import can_raise, evaluate, tileable
from braid.kernels.expressions.vectors import Vector
from braid.plan.explain import render
from braid.plan.expressions import MAX_DEPTH, Call, Column, Constant, Expression, columns_of, depth_of, walk

X = Column("o.x", 0, "double")


def total(terms: int) -> Expression:
    expression: Expression = X
    for _ in range(terms - 1):
        expression = Call("add", (expression, X), "double")
    return expression


def branches(count: int) -> Expression:
    result: Expression = Constant(-1.0, "double")
    for number in reversed(range(count)):
        condition = Call("eq", (X, Constant(float(number), "double")), "boolean")
        result = Call("if", (condition, Constant(float(number * 2), "double"), result), "double")
    return result


@pytest.mark.parametrize("make", [lambda: total(MAX_DEPTH), lambda: branches(MAX_DEPTH - 2)], ids=["sum", "case"])
def test_the_deepest_expression_is_used_like_any(make: Callable[[], Expression]) -> None:
    expression = make()
    assert depth_of(expression) == MAX_DEPTH
    assert pickle.loads(pickle.dumps(expression)) == expression
    assert cloudpickle.loads(cloudpickle.dumps(expression)) == expression
    assert hash(expression) == hash(make())
    assert len(render(expression)) > MAX_DEPTH
    assert columns_of(expression) == (X,)
    assert tileable(expression)
    assert not can_raise(expression)
    values = np.array([0.0, 3.0, 1e6])
    found = evaluate(expression, lambda _: Vector(values)).values
    expected = values * MAX_DEPTH if expression == total(MAX_DEPTH) else [0.0, 6.0, -1.0]
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("size", [50, 250, 1_000, 5_000])
def test_deeper_ones_are_measured_without_a_stack(size: int) -> None:
    assert depth_of(total(size)) == size
    assert sum(1 for _ in walk(total(size))) == 2 * size - 1
    assert depth_of(branches(size)) == size + 2


@pytest.mark.parametrize("size", [50, 250, 1_000, 5_000])
def test_lists_of_any_length_are_flat(size: int) -> None:
    listed = Call("in", (X, *(Constant(float(n), "double") for n in range(size))), "boolean")
    assert depth_of(listed) == 2
    assert pickle.loads(pickle.dumps(listed)) == listed
    values = np.array([0.0, size - 1.0, float(size)])
    assert list(evaluate(listed, lambda _: Vector(values)).values) == [True, True, False]
