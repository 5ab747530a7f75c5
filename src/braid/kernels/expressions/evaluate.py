"""Evaluates expressions over columns with exactly Spark's meaning, NULLs, NaN and errors included.

Everything follows NumPy's broadcasting: columns shaped (p, 1) for one stream and (1, q) for another give
the tile of all pairs. An error is raised only for rows where Spark would have evaluated the failing
operand: not after a false AND, a true OR, a NULL left operand, or in a branch that is not taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.expressions import arithmetic, dates, decimals, logic, numbers, strings, wide_integers, zones
from braid.kernels.expressions.raising import can_raise, floating, is_of_decimals, is_of_times
from braid.kernels.expressions.strict_math import exponentials, logarithms, powers, trigonometry
from braid.kernels.expressions.vectors import TEXT_TYPES, Mask, Vector, both_valid, constant_vector, to_vector
from braid.plan.expressions import Call, Column, Constant, Expression, Function, decimal_digits, walk

__all__ = ["Evaluator", "Vector", "can_raise", "evaluate", "is_true", "shared_calls", "tileable", "to_vector"]

_ALLOCATING = frozenset({"add", "subtract", "multiply", "divide", "remainder", "sqrt"})
_FAMILIES = (numbers, exponentials, logarithms, powers, trigonometry, dates, zones, strings)


class Evaluator:
    """An expression prepared to be evaluated many times.

    Nodes are looked up by identity: equal ones may differ in the sign of a zero. A node that occurs more than once and
    never raises is computed once per evaluation; literals are computed once.
    """

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._literals = {id(node): constant_vector(node) for node in walk(expression) if isinstance(node, Constant)}
        self._shared = shared_calls(expression)

    def __call__(self, lookup: Callable[[str], Vector]) -> Vector:
        """The value of the expression; `lookup` gives the column of a flat name. Never call it for zero pairs."""
        with np.errstate(all="ignore"):
            return _value(self._expression, _Scope(lookup, self._literals, self._shared, {}))


@dataclass(frozen=True)
class _Scope:
    """Where columns come from, the rows whose errors count (None: all), and values computed before."""

    lookup: Callable[[str], Vector]
    literals: Mapping[int, Vector]
    shared: Mapping[int, int]
    known: dict[int, Vector]
    active: Mask | None = None

    def where(self, mask: Mask | None) -> _Scope:
        return replace(self, active=both_valid(self.active, mask))


def evaluate(expression: Expression, lookup: Callable[[str], Vector]) -> Vector:
    """The value of an expression that is evaluated once."""
    return Evaluator(expression)(lookup)


def is_true(vector: Vector) -> Mask:
    """Where a boolean is true; NULL is not true. May be smaller than the tile it broadcasts to."""
    return np.asarray(logic.known_as(vector, True))


def tileable(expression: Expression) -> bool:
    """Whether an expression can be evaluated under broadcasting: it touches no text but literals."""
    return not any(node.type in TEXT_TYPES for node in walk(expression) if not isinstance(node, Constant))


def _value(expression: Expression, scope: _Scope) -> Vector:
    if isinstance(expression, Column):
        return scope.lookup(expression.name)
    if isinstance(expression, Constant):
        return scope.literals[id(expression)]
    number = scope.shared.get(id(expression))
    if number is None:
        return _FUNCTIONS[expression.function](expression, scope)
    found = scope.known.get(number)
    if found is None:
        found = scope.known[number] = _FUNCTIONS[expression.function](expression, scope)
    return found


def shared_calls(expression: Expression) -> dict[int, int]:
    """A number for every call that occurs more than once and never raises, the same for all its occurrences.

    Zeros of both signs are equal but give different results, so calls that contain a zero are excluded.
    """
    calls = [node for node in walk(expression) if isinstance(node, Call)]
    counts = Counter(calls)
    numbers = {
        call: number
        for number, (call, count) in enumerate(counts.items())
        if count > 1 and not can_raise(call) and not _has_float_zero(call)
    }
    return {id(call): numbers[call] for call in calls if call in numbers}


def _has_float_zero(expression: Expression) -> bool:
    return any(isinstance(x, Constant) and floating(x.type) and x.value == 0 for x in walk(expression))


def _operands(call: Call, scope: _Scope) -> tuple[Vector, Vector]:
    first, second = call.arguments
    left = _value(first, scope)
    return left, _value(second, _narrowed(scope, second, left.valid))


def _narrowed(scope: _Scope, expression: Expression, mask: Any) -> _Scope:
    return scope.where(mask) if mask is not None and can_raise(expression) else scope


def _compare(call: Call, scope: _Scope) -> Vector:
    return logic.compare(call.function, *_operands(call, scope))


def _equal_null_safe(call: Call, scope: _Scope) -> Vector:
    first, second = call.arguments
    return logic.equal_null_safe(_value(first, scope), _value(second, scope))


def _and(call: Call, scope: _Scope) -> Vector:
    first, second = call.arguments
    left = _value(first, scope)
    inner = scope.where(logic.unless(left, False)) if can_raise(second) else scope
    return logic.conjunction(left, _value(second, inner))


def _or(call: Call, scope: _Scope) -> Vector:
    first, second = call.arguments
    left = _value(first, scope)
    inner = scope.where(logic.unless(left, True)) if can_raise(second) else scope
    return logic.disjunction(left, _value(second, inner))


def _not(call: Call, scope: _Scope) -> Vector:
    operand = _value(call.arguments[0], scope)
    return Vector(~operand.values, operand.valid)


def _is_null(call: Call, scope: _Scope) -> Vector:
    return Vector(~_is_not_null(call, scope).values)


def _is_not_null(call: Call, scope: _Scope) -> Vector:
    operand = _value(call.arguments[0], scope)
    if operand.valid is not None:
        return Vector(operand.valid)
    shape = (len(operand.values),) if isinstance(operand.values, pa.Array) else np.shape(operand.values)
    return Vector(np.ones(shape, dtype=np.bool_))


def _is_nan(call: Call, scope: _Scope) -> Vector:
    operand = _value(call.arguments[0], scope)
    found = np.isnan(operand.values)
    # Spark's isnan(NULL) is false, not NULL.
    return Vector(found if operand.valid is None else found & operand.valid)


def _in(call: Call, scope: _Scope) -> Vector:
    value, *items = (_value(argument, scope) for argument in call.arguments)
    return logic.member(value, items)


def _arithmetic(
    operation: Callable[[Vector, Vector, bool, Mask | None, Any], Vector],
    of_decimals: Callable[[Call, Vector, Vector, Mask | None], Vector],
    of_times: Callable[[Vector, Vector, str], Vector] | None = None,
) -> _Implementation:
    def apply(call: Call, scope: _Scope) -> Vector:
        left, right = _operands(call, scope)
        if decimal_digits(call.type):
            return of_decimals(call, left, right, scope.active)
        if of_times is not None and is_of_times(call):
            return of_times(left, right, call.type)
        return operation(left, right, call.ansi, scope.active, _spare(call, left, right, scope))

    return apply


def _spare(call: Call, left: Vector, right: Vector, scope: _Scope) -> Any:
    """The array of an operand that is not read again and has the result's shape; it is still in the CPU cache."""
    for argument, own, other in zip(
        call.arguments, (left.values, right.values), (right.values, left.values), strict=True
    ):
        if _is_fresh(argument, scope) and own.dtype.kind == "f" and own.ndim > 0 and other.shape in ((), own.shape):
            return own
    return None


def _is_fresh(argument: Expression, scope: _Scope) -> bool:
    """Whether the argument's value was computed for this call alone."""
    return isinstance(argument, Call) and argument.function in _ALLOCATING and id(argument) not in scope.shared


def _division(
    operation: Callable[[Vector, Vector, bool, Mask | None], Vector],
    of_decimals: Callable[[Call, Vector, Vector, Mask | None], Vector],
) -> _Implementation:
    def apply(call: Call, scope: _Scope) -> Vector:
        dividend, divisor = call.arguments
        right = _value(divisor, scope)  # Spark evaluates the divisor first
        wanted = right.valid if call.ansi else both_valid(right.valid, np.asarray(right.values != 0))
        left = _value(dividend, _narrowed(scope, dividend, wanted))
        if decimal_digits(call.type):
            return of_decimals(call, left, right, scope.active)
        return operation(left, right, call.ansi, scope.active)

    return apply


def _sign(
    operation: Callable[[Vector, bool, Mask | None, bool], Vector],
    of_decimals: Callable[[Call, Vector, Mask | None, bool], Vector],
) -> _Implementation:
    def apply(call: Call, scope: _Scope) -> Vector:
        (argument,) = call.arguments
        if decimal_digits(call.type):
            return of_decimals(call, _value(argument, scope), scope.active, _is_fresh(argument, scope))
        return operation(_value(argument, scope), call.ansi, scope.active, _is_fresh(argument, scope))

    return apply


def _to_whole(operation: Callable[[Vector, bool, Mask | None], Vector]) -> _Implementation:
    return lambda call, scope: operation(_value(call.arguments[0], scope), call.ansi, scope.active)


def _sqrt(call: Call, scope: _Scope) -> Vector:
    return arithmetic.square_root(_value(call.arguments[0], scope))


def _plain(operation: Callable[..., Vector]) -> _Implementation:
    """A function of all its arguments. Analysis gives it no argument that can raise but the first."""

    def apply(call: Call, scope: _Scope) -> Vector:
        return operation(*(_value(argument, scope) for argument in call.arguments))

    return apply


def _round(call: Call, scope: _Scope) -> Vector:
    return decimals.rounded(call, _value(call.arguments[0], scope), scope.active)


def _cast(call: Call, scope: _Scope) -> Vector:
    (argument,) = call.arguments
    if is_of_decimals(call):
        return decimals.cast(call, _value(argument, scope), scope.active)
    return arithmetic.cast(_value(argument, scope), argument.type, call.type, scope.active)


def _if(call: Call, scope: _Scope) -> Vector:
    condition, then, otherwise = call.arguments
    taken = np.asarray(logic.known_as(_value(condition, scope), True))
    left = _value(then, _narrowed(scope, then, taken))
    right = _value(otherwise, _narrowed(scope, otherwise, ~taken))
    return logic.chosen(taken, left, right)


def _coalesce(call: Call, scope: _Scope) -> Vector:
    result = _value(call.arguments[0], scope)
    for argument in call.arguments[1:]:
        if result.valid is None:
            return result
        other = _value(argument, _narrowed(scope, argument, ~result.valid))
        result = _filled(result, result.valid, other)
    return result


def _filled(vector: Vector, valid: Mask, other: Vector) -> Vector:
    if logic.is_text(vector) or logic.is_text(other):
        return logic.text_vector(pc.coalesce(vector.values, other.values))
    filled = None if other.valid is None else valid | other.valid
    return Vector(np.where(valid, *wide_integers.alike(vector, other)), filled)


_Implementation = Callable[[Call, _Scope], Vector]

_FUNCTIONS: dict[Function, _Implementation] = {
    "eq": _compare,
    "lt": _compare,
    "le": _compare,
    "gt": _compare,
    "ge": _compare,
    "eq_null_safe": _equal_null_safe,
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "is_not_null": _is_not_null,
    "is_nan": _is_nan,
    "in": _in,
    "add": _arithmetic(arithmetic.add, decimals.add_or_subtract, arithmetic.add_to_time),
    "subtract": _arithmetic(arithmetic.subtract, decimals.add_or_subtract, arithmetic.subtract_from_time),
    "multiply": _arithmetic(arithmetic.multiply, decimals.multiply),
    "divide": _division(arithmetic.divide, decimals.divide),
    "remainder": _division(arithmetic.remainder, decimals.remainder),
    "negate": _sign(arithmetic.negate, decimals.negate),
    "abs": _sign(arithmetic.absolute, decimals.absolute),
    "sqrt": _sqrt,
    "floor": _to_whole(arithmetic.floor),
    "ceil": _to_whole(arithmetic.ceil),
    **dict.fromkeys(decimals.ROUNDINGS, _round),
    "cast": _cast,
    "if": _if,
    "coalesce": _coalesce,
    **{name: _plain(operation) for family in _FAMILIES for name, operation in family.FUNCTIONS.items()},
}
