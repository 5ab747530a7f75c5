"""Constructors of the expressions that Spark's analyzer would make, for logical plans written without Spark."""

from __future__ import annotations

from braid.plan.expressions import Call, Constant, Expression, Function, decimal_digits

MAX_DIGITS = 38
KEPT_SCALE = 6
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
    return Call("add", (left, right), _sum_type(left, right) or _common(left, right))


def subtract(left: Expression, right: Expression) -> Call:
    """The difference of two numbers; of two times an interval, of a time and an interval a time."""
    if left.type in TIMES and right.type == "interval":
        return Call("subtract", (left, right), left.type)
    if decimals := _sum_type(left, right):
        return Call("subtract", (left, right), decimals)
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
    left, right = _widened(left, right)
    _common(left, right)
    return Call(function, (left, right), "boolean")


def _common(left: Expression, right: Expression) -> str:
    if left.type != right.type:
        raise TypeError(f"operands must have one type, but have {left.type} and {right.type}: cast one of them")
    return left.type


def _sum_type(left: Expression, right: Expression) -> str | None:
    """Spark's type of a sum or difference of decimals, None for other types; a long one has fewer fractional digits."""
    one, two = decimal_digits(left.type), decimal_digits(right.type)
    if one is None or two is None:
        return None
    scale = max(one[1], two[1])
    before = max(one[0] - one[1], two[0] - two[1]) + 1
    if before + scale > MAX_DIGITS:
        scale = max(MAX_DIGITS - before, min(scale, KEPT_SCALE))
    return f"decimal({min(before + scale, MAX_DIGITS)},{scale})"


def _widened(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Decimals cast to the type that Spark compares them in, which keeps digits before the point; others unchanged."""
    one, two = decimal_digits(left.type), decimal_digits(right.type)
    if one is None or two is None:
        return left, right
    scale = max(one[1], two[1])
    before = max(one[0] - one[1], two[0] - two[1])
    scale = max(0, min(scale, MAX_DIGITS - before))
    wide = f"decimal({before + scale},{scale})"
    return _cast(left, wide), _cast(right, wide)


def _cast(operand: Expression, type: str) -> Expression:
    return operand if operand.type == type else Call("cast", (operand,), type)
