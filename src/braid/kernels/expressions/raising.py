"""Which expressions can raise, by the functions and types in them."""

from __future__ import annotations

from braid.kernels.expressions.decimal_types import ROUNDINGS, never_overflows
from braid.kernels.expressions.vectors import TIME_TYPES
from braid.plan.expressions import Call, Constant, Expression, decimal_digits, walk

_RAISING = frozenset({"add", "subtract", "multiply", "negate", "abs", "floor", "ceil"})
_OF_NUMBERS = _RAISING | ROUNDINGS | {"divide", "remainder", "cast"}


def can_raise(expression: Expression) -> bool:
    """Whether some value of the columns makes the evaluation raise."""
    return any(_raises(node) for node in walk(expression) if isinstance(node, Call))


def is_of_times(call: Call) -> bool:
    """Whether it is a sum or difference with a time, which is clipped to its range instead of raising."""
    return call.function in ("add", "subtract") and any(argument.type in TIME_TYPES for argument in call.arguments)


def is_of_decimals(call: Call) -> bool:
    """Whether it computes with decimals."""
    types = (call.type, call.arguments[0].type)
    return call.function in _OF_NUMBERS and any(decimal_digits(type) for type in types)


def floating(type: str) -> bool:
    return type in ("float", "double")


def _raises(call: Call) -> bool:
    if is_of_decimals(call) and call.function in ("negate", "abs"):
        return not never_overflows(call)
    if is_of_decimals(call) and not never_overflows(call):
        return call.ansi
    if call.function in ("divide", "remainder"):
        divisor = call.arguments[1]
        return call.ansi and not (isinstance(divisor, Constant) and divisor.value != 0)
    if call.function == "cast":
        return call.arguments[0].type == "date"
    if is_of_times(call) or is_of_decimals(call):
        return False
    return call.ansi and call.function in _RAISING and not floating(call.type)
