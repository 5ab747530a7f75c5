"""Where a comparison of numbers may be true, although the numbers themselves are known only approximately.

Java allows `Math.sin`, `cos` and `tan` an error of one unit in the last place, and JVMs use it differently: no other
implementation has the same bits. So such a number is enclosed in an interval that has Spark's value, whatever the JVM.
Pairs whose intervals cannot make a predicate true are excluded here; the JVM decides on the others, which are the
results and almost nothing else.

Sums, products, quotients and square roots of bounds need no widening: Spark rounds the same operations in the same way,
and rounding is monotonic. All other functions are widened by more than the errors of Java and NumPy together. A bound
that is NaN means that nothing is known, and every comparison with it may be true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from braid.kernels.expressions.evaluate import Evaluator, shared_calls
from braid.kernels.expressions.numbers import DEGREES_PER_RADIAN, RADIANS_PER_DEGREE
from braid.kernels.expressions.vectors import Array, Mask, Vector, both_valid
from braid.plan.expressions import APPROXIMATE, Call, Expression, walk

# Java documents at most 2.5 units in the last place (2**-52 relative), NumPy at most 4; this is 128.
_ERROR = 2.0**-45
# Results near the smallest number have no such relative precision.
_LEAST = 2.0**-1060
# NumPy and Java reduce larger arguments too, but nobody joins by them, and nothing is gained by relying on it.
_LARGEST_ANGLE = 2.0**10

_INCREASING: dict[str, Callable[..., Any]] = {
    "asin": np.arcsin, "atan": np.arctan, "sinh": np.sinh, "tanh": np.tanh, "exp": np.exp, "expm1": np.expm1,
    "cbrt": np.cbrt, "log": np.log, "log10": np.log10, "log2": np.log2, "log1p": np.log1p,
}  # fmt: skip
_COMPARISONS = frozenset({"eq", "lt", "le", "gt", "ge"})


@dataclass(frozen=True)
class Enclosure:
    """Intervals that contain Spark's values; `low is high` where the values are exact."""

    low: Array
    high: Array
    valid: Mask | None = None

    @property
    def exact(self) -> bool:
        return self.low is self.high


class PossibleEvaluator:
    """A predicate of approximate numbers, prepared to say many times where it may be true."""

    def __init__(self, predicate: Expression) -> None:
        self._predicate = predicate
        self._shared = shared_calls(predicate)
        self._exact = {id(node): Evaluator(node) for node in _exact_parts(predicate)}

    def __call__(self, lookup: Callable[[str], Vector]) -> Vector:
        """True wherever the predicate is true for Spark; `lookup` gives the column of a flat name."""
        with np.errstate(all="ignore"):
            return Vector(_Evaluation(lookup, self._exact, self._shared).possible(self._predicate, True))


def can_enclose(predicate: Expression) -> bool:
    """Whether a predicate has approximate numbers and only parts that can be enclosed."""
    calls = [node for node in walk(predicate) if isinstance(node, Call)]
    return any(call.function in APPROXIMATE for call in calls) and _is_condition(predicate)


def _is_condition(node: Expression) -> bool:
    if not has_approximate(node):
        return node.type == "boolean"
    if not isinstance(node, Call):
        return False
    if node.function in ("and", "or", "not"):
        return all(_is_condition(argument) for argument in node.arguments)
    return node.function in _COMPARISONS and all(_is_number(argument) for argument in node.arguments)


def _is_number(node: Expression) -> bool:
    if node.type != "double":
        return False
    if not has_approximate(node):
        return True
    if not isinstance(node, Call) or node.function not in _RULES:
        return False
    return all(_is_number(argument) for argument in node.arguments)


def has_approximate(expression: Expression) -> bool:
    """Whether a function in it has other bits in every JVM."""
    return any(isinstance(node, Call) and node.function in APPROXIMATE for node in walk(expression))


def _exact_parts(node: Expression) -> list[Expression]:
    """The largest parts that are evaluated exactly, in order of appearance."""
    if isinstance(node, Call) and (_is_slow(node) or has_approximate(node)):
        return [part for argument in node.arguments for part in _exact_parts(argument)]
    return [node]


def _is_slow(node: Call) -> bool:
    """Whether it has functions whose exact evaluation costs more than their enclosure."""
    return node.type == "double" and node.function in _RULES and node.function not in _ARITHMETIC


class _Evaluation:
    def __init__(
        self, lookup: Callable[[str], Vector], exact: Mapping[int, Evaluator], shared: Mapping[int, int]
    ) -> None:
        self._lookup = lookup
        self._exact = exact
        self._shared = shared
        self._known: dict[int, Enclosure] = {}

    def possible(self, node: Expression, truth: bool) -> Any:
        """Where a condition may be true, or may be false; NULL is neither."""
        if id(node) in self._exact:
            known = self._exact[id(node)](self._lookup)
            hit = known.values if truth else ~known.values
            return hit if known.valid is None else hit & known.valid
        assert isinstance(node, Call)
        if node.function == "not":
            return self.possible(node.arguments[0], not truth)
        if node.function in ("and", "or"):
            both = (node.function == "and") == truth
            found = [self.possible(argument, truth) for argument in node.arguments]
            return reduce(np.logical_and if both else np.logical_or, found)
        left, right = (self.number(argument) for argument in node.arguments)
        valid = both_valid(left.valid, right.valid)
        found = _may_compare(node.function, left, right) if truth else _may_not_compare(node.function, left, right)
        return found if valid is None else found & valid

    def number(self, node: Expression) -> Enclosure:
        place = self._shared.get(id(node))
        if place is not None and place in self._known:
            return self._known[place]
        found = self._enclosed(node)
        if place is not None:
            self._known[place] = found
        return found

    def _enclosed(self, node: Expression) -> Enclosure:
        evaluator = self._exact.get(id(node))
        if evaluator is not None:
            vector = evaluator(self._lookup)
            return Enclosure(vector.values, vector.values, vector.valid)
        assert isinstance(node, Call)
        return _RULES[node.function](*(self.number(argument) for argument in node.arguments))


def _may_compare(function: str, left: Enclosure, right: Enclosure) -> Any:
    """Where a comparison may be true. A NaN bound makes each of these negations true."""
    if function in ("lt", "le"):
        return ~_surely_above(left.low, right.high, or_equal=function == "lt")
    if function in ("gt", "ge"):
        return ~_surely_above(right.low, left.high, or_equal=function == "gt")
    return ~((left.low > right.high) | (right.low > left.high))


def _may_not_compare(function: str, left: Enclosure, right: Enclosure) -> Any:
    opposite = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
    if function in opposite:
        return _may_compare(opposite[function], left, right)
    return ~((left.low == right.high) & (right.low == left.high))


def _surely_above(low: Array, high: Array, or_equal: bool) -> Any:
    return low >= high if or_equal else low > high


def _widened(low: Array, high: Array, valid: Mask | None) -> Enclosure:
    return Enclosure(low - (np.abs(low) * _ERROR + _LEAST), high + (np.abs(high) * _ERROR + _LEAST), valid)


def _add(left: Enclosure, right: Enclosure) -> Enclosure:
    valid = both_valid(left.valid, right.valid)
    return Enclosure(left.low + right.low, left.high + right.high, valid)


def _subtract(left: Enclosure, right: Enclosure) -> Enclosure:
    valid = both_valid(left.valid, right.valid)
    return Enclosure(left.low - right.high, left.high - right.low, valid)


def _multiply(left: Enclosure, right: Enclosure) -> Enclosure:
    return _corners(np.multiply, left, right)


def _divide(left: Enclosure, right: Enclosure) -> Enclosure:
    found = _corners(np.divide, left, right)
    unknown = ~((right.low > 0) | (right.high < 0))
    return Enclosure(np.where(unknown, np.nan, found.low), np.where(unknown, np.nan, found.high), found.valid)


def _corners(operation: Callable[..., Any], left: Enclosure, right: Enclosure) -> Enclosure:
    """An operation that is monotonic in each operand: its extremes are at the ends of the intervals."""
    valid = both_valid(left.valid, right.valid)
    firsts = (left.low,) if left.exact else (left.low, left.high)
    seconds = (right.low,) if right.exact else (right.low, right.high)
    values = [operation(first, second) for first in firsts for second in seconds]
    return Enclosure(reduce(np.minimum, values), reduce(np.maximum, values), valid)


def _negate(operand: Enclosure) -> Enclosure:
    return Enclosure(-operand.high, -operand.low, operand.valid)


def _absolute(operand: Enclosure) -> Enclosure:
    low, high = np.abs(operand.low), np.abs(operand.high)
    astride = (operand.low < 0) & (operand.high > 0)
    return Enclosure(np.where(astride, 0.0, np.minimum(low, high)), np.maximum(low, high), operand.valid)


def _square_root(operand: Enclosure) -> Enclosure:
    return Enclosure(np.sqrt(operand.low), np.sqrt(operand.high), operand.valid)


def _increasing(function: Callable[..., Any]) -> Callable[..., Enclosure]:
    def apply(operand: Enclosure) -> Enclosure:
        low = function(operand.low)
        return _widened(low, low if operand.exact else function(operand.high), operand.valid)

    return apply


def _arc_cosine(operand: Enclosure) -> Enclosure:
    low = np.arccos(operand.high)
    return _widened(low, low if operand.exact else np.arccos(operand.low), operand.valid)


def _sine(function: Callable[..., Any]) -> Callable[..., Enclosure]:
    """The sine or cosine, which changes by no more than its argument does."""

    def apply(operand: Enclosure) -> Enclosure:
        width = 0.0 if operand.exact else operand.high - operand.low
        middle = operand.low if operand.exact else operand.low + width / 2
        value = function(middle)
        size = np.abs(value)
        # The sine of zero is exact in Java, so that the interval of a square root of a square does not begin below 0.
        error = width + (size * _ERROR + np.minimum(size, _LEAST))
        low, high = value - error, value + error
        large = (np.abs(middle) > _LARGEST_ANGLE) & np.isfinite(middle)
        if large.any():
            low, high = np.where(large, -1 - _ERROR, low), np.where(large, 1 + _ERROR, high)
        return Enclosure(low, high, operand.valid)

    return apply


def _tangent(operand: Enclosure) -> Enclosure:
    """The tangent of an exact angle; of an interval nothing is known, since it may contain a pole."""
    value = np.tan(operand.low)
    known = np.abs(operand.low) <= _LARGEST_ANGLE
    if not operand.exact:
        known = np.zeros_like(known)
    return _widened(np.where(known, value, np.nan), np.where(known, value, np.nan), operand.valid)


def _arc_tangent_of_two(y: Enclosure, x: Enclosure) -> Enclosure:
    """The angle of a point right of the axis, where it is monotonic; elsewhere only of exact numbers."""
    # Spark adds 0.0, so that zeros are positive.
    y, x = _add(y, _ZERO), _add(x, _ZERO)
    found = _corners(np.arctan2, y, x)
    known = np.True_ if y.exact and x.exact else x.low > 0
    low, high = (np.where(known, bound, np.nan) for bound in (found.low, found.high))
    return _widened(low, high, found.valid)


def _power(base: Enclosure, exponent: Enclosure) -> Enclosure:
    """A power of a positive number, or a square: both are monotonic. Of other numbers only exact ones are known."""
    if exponent.exact and np.ndim(exponent.low) == 0 and exponent.low == 2:
        positive = _absolute(base)
        valid = both_valid(base.valid, exponent.valid)
        return Enclosure(positive.low * positive.low, positive.high * positive.high, valid)
    found = _corners(np.power, base, exponent)
    known = np.True_ if base.exact and exponent.exact else base.low > 0
    low, high = (np.where(known, bound, np.nan) for bound in (found.low, found.high))
    return _widened(low, high, found.valid)


def _extreme(function: Callable[..., Any]) -> Callable[..., Enclosure]:
    """The least or greatest operand that is not NULL."""

    def apply(*operands: Enclosure) -> Enclosure:
        return reduce(_of_two, operands)

    def _of_two(left: Enclosure, right: Enclosure) -> Enclosure:
        low, high = function(left.low, right.low), function(left.high, right.high)
        if left.valid is None and right.valid is None:
            return Enclosure(low, high)
        mine, theirs = (np.asarray(True) if side.valid is None else side.valid for side in (left, right))
        only = [mine & ~theirs, theirs & ~mine]
        low, high = np.select(only, [left.low, right.low], low), np.select(only, [left.high, right.high], high)
        return Enclosure(low, high, mine | theirs)

    return apply


def _scaled(factor: float) -> Callable[..., Enclosure]:
    def apply(operand: Enclosure) -> Enclosure:
        low = operand.low * factor
        return Enclosure(low, low if operand.exact else operand.high * factor, operand.valid)

    return apply


_ZERO = Enclosure(_zero := np.asarray(0.0), _zero)
# Cheap, and without widening: exact operands give exact results.
_ARITHMETIC: dict[str, Callable[..., Enclosure]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negate": _negate,
    "abs": _absolute,
    "sqrt": _square_root,
    "radians": _scaled(RADIANS_PER_DEGREE),
    "degrees": _scaled(DEGREES_PER_RADIAN),
}
_RULES: dict[str, Callable[..., Enclosure]] = {
    **_ARITHMETIC,
    **{name: _increasing(function) for name, function in _INCREASING.items()},
    "sin": _sine(np.sin),
    "cos": _sine(np.cos),
    "tan": _tangent,
    "acos": _arc_cosine,
    "atan2": _arc_tangent_of_two,
    "power": _power,
    "greatest": _extreme(np.maximum),
    "least": _extreme(np.minimum),
}
