"""Where predicates of approximate numbers may be true: never less than where they are, and little more."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.kernels.expressions.enclosures import PossibleEvaluator, can_enclose, has_approximate
from braid.kernels.expressions.evaluate import is_true
from braid.kernels.expressions.vectors import Vector
from braid.plan.expressions import Call, Column, Constant, Expression, Function

X, Y, Z = (Column(name, 0, "double") for name in "xyz")
ANOTHER_LIBRARY: dict[Function, Callable[..., float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "radians": lambda x: x * 0.017453292519943295, "abs": abs, "negate": lambda x: -x, "sqrt": math.sqrt,
}  # fmt: skip
DOUBLES = st.one_of(st.floats(-10, 10), st.floats(allow_nan=False, allow_infinity=False))


def number(function: Function, *arguments: Expression) -> Call:
    return Call(function, arguments, "double")


def condition(function: Function, *arguments: Expression) -> Call:
    return Call(function, arguments, "boolean")


def possible(predicate: Expression, **columns: list[float | None]) -> list[bool]:
    vectors = {
        name: Vector(
            np.array([0.0 if value is None else value for value in values]),
            np.array([value is not None for value in values]) if None in values else None,
        )
        for name, values in columns.items()
    }
    rows = len(next(iter(columns.values())))
    found = PossibleEvaluator(predicate)(vectors.__getitem__)
    return np.broadcast_to(is_true(found), (rows,)).tolist()


@settings(deadline=None)
@given(st.sampled_from(sorted(ANOTHER_LIBRARY)), st.sampled_from(("sin", "cos")), DOUBLES)
def test_the_value_of_another_library_is_possible(outer: Function, inner: Function, value: float) -> None:
    composed = number(outer, number(inner, X))
    try:
        known = ANOTHER_LIBRARY[outer](ANOTHER_LIBRARY[inner](value))
    except ValueError:
        return
    for function in ("eq", "le", "ge"):
        assert possible(condition(function, composed, Y), x=[value], y=[known]) == [True]
    for function in ("lt", "gt"):
        assert possible(condition("not", condition(function, composed, Y)), x=[value], y=[known]) == [True]


@settings(deadline=None)
@given(st.floats(-1000, 1000))
def test_an_interval_is_narrow(value: float) -> None:
    sine = math.sin(value)
    apart = abs(sine) * 2.0**-44
    for limit, expected in ((sine - apart, False), (sine + apart, True)):
        if abs(sine) > 1e-300:
            assert possible(condition("le", number("sin", X), Y), x=[value], y=[limit]) == [expected]


def test_what_is_unknown_is_possible() -> None:
    below = condition("lt", number("sin", X), Constant(-2.0, "double"))
    assert possible(below, x=[math.nan, math.inf, 1.0, 1e300, None]) == [True, True, False, False, False]
    above = condition("gt", number("sin", X), Constant(2.0, "double"))
    assert possible(above, x=[math.nan, -math.inf, 1.0, 1e300, None]) == [True, True, False, False, False]
    pole = condition("gt", number("tan", number("sin", X)), Constant(1e6, "double"))
    assert possible(pole, x=[0.1]) == [True]
    ratio = Call("divide", (Y, number("sin", X)), "double", False)
    assert possible(condition("gt", ratio, Constant(1.0, "double")), x=[0.0, 0.5], y=[0.0, 0.1]) == [True, False]


def test_conditions_follow_three_valued_logic() -> None:
    small, large = (condition(name, number("sin", X), Y) for name in ("lt", "gt"))
    rows: dict[str, list[float | None]] = {"x": [0.5, 0.5, None], "y": [0.9, 0.1, 0.1]}
    assert possible(small, **rows) == [True, False, False]
    assert possible(condition("not", small), **rows) == [False, True, False]
    assert possible(condition("and", small, large), **rows) == [False, False, False]
    assert possible(condition("or", small, large), **rows) == [True, True, False]
    assert possible(condition("not", condition("and", small, large)), **rows) == [True, True, False]
    guarded = condition("and", condition("lt", Y, Constant(0.5, "double")), large)
    assert possible(guarded, **rows) == [False, True, False]


def test_extremes_skip_nulls() -> None:
    least = number("least", Y, number("sin", X))
    at_most = condition("le", least, Constant(0.2, "double"))
    assert possible(at_most, x=[0.5, None, 0.1, None], y=[0.1, 0.1, None, None]) == [True, True, True, False]
    greatest = number("greatest", Y, number("sin", X))
    assert possible(condition("ge", greatest, Constant(0.9, "double")), x=[0.5, 1.5], y=[0.1, 0.1]) == [False, True]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (condition("le", number("sin", X), Y), True),
        (condition("le", X, Y), False),
        (condition("is_null", number("sin", X)), False),
        (condition("le", Call("if", (condition("lt", X, Y), number("sin", X), Y), "double"), Z), False),
        (condition("and", condition("le", number("cos", X), Y), condition("is_null", Y)), True),
    ],
)
def test_which_predicates_can_be_enclosed(predicate: Expression, expected: bool) -> None:
    assert can_enclose(predicate) is expected
    assert has_approximate(predicate) is (predicate != condition("le", X, Y))


def test_a_tile_equals_its_pairs() -> None:
    generator = np.random.default_rng(5)
    left, right = generator.uniform(-3, 3, 7), generator.uniform(-3, 3, 9)
    predicate = condition("le", number("multiply", number("sin", X), number("cos", Y)), Constant(0.3, "double"))
    evaluator = PossibleEvaluator(predicate)
    tile = {"x": Vector(left.reshape(-1, 1)), "y": Vector(right.reshape(1, -1))}
    pairs = {"x": Vector(np.repeat(left, 9)), "y": Vector(np.tile(right, 7))}
    assert evaluator(tile.__getitem__).values.ravel().tolist() == evaluator(pairs.__getitem__).values.tolist()
