"""Constructors of the expressions that Spark's analyzer would make, for logical plans written without Spark."""

from __future__ import annotations

from braid.plan.expressions import Call, Constant, Expression, Function

TIMES = ("timestamp", "timestamp_ntz")


def constant(value: int | float | bool | str | None, type: str) -> Constant:
    """A literal; times and intervals in microseconds."""
    return Constant(value, type)


def equal(left: Expression, right: Expression) -> Call:
    return _compare("eq", left, right)


def equal_or_both_null(left: Expression, right: Expression) -> Call:
    """`left <=> right`."""
    return _compare("eq_null_safe", left, right)


def less(left: Expression, right: Expression) -> Call:
    return _compare("lt", left, right)


def less_or_equal(left: Expression, right: Expression) -> Call:
    return _compare("le", left, right)


def within(left: Expression, right: Expression, limit: Expression) -> Call:
    """`abs(left - right) <= limit`."""
    return less_or_equal(absolute(subtract(left, right)), limit)


def add(left: Expression, right: Expression) -> Call:
    """The sum of two numbers, or of a time and an interval."""
    if left.type in TIMES and right.type == "interval":
        return Call("add", (left, right), left.type)
    return Call("add", (left, right), _common(left, right))


def subtract(left: Expression, right: Expression) -> Call:
    """The difference of two numbers; of two times an interval, of a time and an interval a time."""
    if left.type in TIMES and right.type == "interval":
        return Call("subtract", (left, right), left.type)
    common = _common(left, right)
    return Call("subtract", (left, right), "interval" if common in TIMES else common)


def absolute(operand: Expression) -> Call:
    return Call("abs", (operand,), operand.type)


def coalesce(*operands: Expression) -> Call:
    return Call("coalesce", operands, operands[0].type)


def both(left: Expression, right: Expression) -> Call:
    return Call("and", (left, right), "boolean")


def either(left: Expression, right: Expression) -> Call:
    return Call("or", (left, right), "boolean")


def negation(operand: Expression) -> Call:
    return Call("not", (operand,), "boolean")


def _compare(function: Function, left: Expression, right: Expression) -> Call:
    _common(left, right)
    return Call(function, (left, right), "boolean")


def _common(left: Expression, right: Expression) -> str:
    if left.type != right.type:
        raise TypeError(f"operands must have one type, but have {left.type} and {right.type}: cast one of them")
    return left.type
