"""Ranges: the bounds that a comparison implies for one number of a stream, given rows of the others.

A comparison is rewritten as `sum of terms <= 0`. When exactly one term belongs to the looked-up stream, the others
bound it. Sums are computed in double precision and widened by the possible rounding errors of both this computation and
Spark's, so a range never loses a match. The exact comparison still runs on every candidate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from braid.kernels.expressions.decimal_types import is_exact, never_overflows
from braid.kernels.expressions.raising import can_raise, is_of_decimals
from braid.plan.expressions import Call, Column, Constant, Expression, decimal_digits, streams_of, walk
from braid.plan.join import Bound
from braid.plan.predicate import Conjunct

DOUBLE_EPSILON = 2.0**-52
FLOAT_EPSILON = 2.0**-23
# Operations of the range search itself that may round, in addition to those of the comparison.
ROUNDING_STEPS = 8
RANGE_TYPES = frozenset(
    {"tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz", "interval"}
)
INTEGER_CAPACITY = {"tinyint": 2**7 - 1, "smallint": 2**15 - 1, "int": 2**31 - 1, "bigint": 2**63 - 1}
WHOLE_TYPES = frozenset({"tinyint", "smallint", "int", "bigint"})
# Of the range of a decimal type, so that rounding cannot hide an overflow.
SAFE_SHARE = 1 - 2.0**-40
SAFE_FLOATING = frozenset({"add", "subtract", "multiply", "negate", "abs", "sqrt", "cast"})
FLIPPED: dict[str, Literal["lt", "le", "gt", "ge", "eq"]] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


@dataclass(frozen=True)
class Term:
    sign: int
    expression: Expression


@dataclass(frozen=True)
class Range:
    """Bounds of one conjunct on `number`, an expression of the looked-up stream alone."""

    number: Expression
    bounds: tuple[Bound, ...]


def ranges_of(conjunct: Conjunct, position: int, stream: int) -> tuple[Range, ...]:
    """The ranges that the conjunct implies for numbers of `stream`; none if no comparison can be solved for one."""
    known = [expression for expression in (conjunct.expression, conjunct.implied) if expression is not None]
    return tuple(_merge([found for expression in known for found in _ranges(expression, position, stream)]))


def _ranges(expression: Expression, position: int, stream: int) -> list[Range]:
    if not isinstance(expression, Call):
        return []
    if expression.function == "and":
        return [found for argument in expression.arguments for found in _ranges(argument, position, stream)]
    if expression.function not in FLIPPED:
        return []
    left, right = expression.arguments
    magnitude = _absolute(left, right, expression.function)
    if magnitude is not None:
        inside, limit = magnitude
        return [
            *_solve(inside, limit, "le", position, stream),
            *_solve(inside, _negated(limit), "ge", position, stream),
        ]
    return _solve(left, right, expression.function, position, stream)


def _absolute(left: Expression, right: Expression, function: str) -> tuple[Expression, Expression] | None:
    """`abs(x) <= c` or `c >= abs(x)` as (x, c)."""
    if function in ("gt", "ge"):
        left, right = right, left
    elif function not in ("lt", "le"):
        return None
    left = _peeled(left)
    if isinstance(left, Call) and left.function == "abs" and not _may_wrap(left):
        return left.arguments[0], right
    return None


def _negated(limit: Expression) -> Expression:
    if isinstance(limit, Constant) and isinstance(limit.value, int | float):
        return replace(limit, value=-limit.value)
    return Call("negate", (limit,), limit.type)


def _solve(left: Expression, right: Expression, function: str, position: int, stream: int) -> list[Range]:
    """`left function right`, solved for the only term of `stream`; empty if there is not exactly one."""
    terms = _terms(left, 1)
    others = _terms(right, -1)
    if terms is None or others is None:
        return []
    terms = [*terms, *others]
    own = [term for term in terms if streams_of(term.expression) == {stream}]
    constants = [term for term in terms if isinstance(term.expression, Constant)]
    rest = [term for term in terms if term not in own and term not in constants]
    if len(own) != 1 or not rest or any(stream in streams_of(term.expression) for term in rest):
        return []
    offset = _sum(constants)
    if offset is None:
        return []
    found = _bound(own[0], rest, offset, function, position, _epsilon(left, right))
    capacity, rounding = _capacity(left, right), _rounding(left, right)
    bounds = (replace(bound, capacity=capacity, rounding=rounding) for bound in found.bounds)
    return [Range(found.number, tuple(bounds))]


def _bound(own: Term, rest: list[Term], offset: float, function: str, position: int, epsilon: float) -> Range:
    """`sign·own + rest + offset  function  0`, solved for own."""
    flip = -own.sign
    plus = tuple(term.expression for term in rest if term.sign * flip > 0)
    minus = tuple(term.expression for term in rest if term.sign * flip < 0)
    sides: tuple[Literal["lower", "upper"], ...]
    if function == "eq":
        sides = ("lower", "upper")
    elif (function in ("lt", "le")) == (own.sign > 0):
        sides = ("upper",)
    else:
        sides = ("lower",)
    bounds = tuple(Bound(side, plus, minus, offset * flip, epsilon, position) for side in sides)
    return Range(own.expression, bounds)


def _terms(expression: Expression, sign: int) -> list[Term] | None:
    """The expression as a sum of signed terms; None if a part of it cannot be used in ranges."""
    expression = _peeled(expression)
    if isinstance(expression, Call) and expression.function in ("add", "subtract"):
        if _may_wrap(expression):
            return None
        left = _terms(expression.arguments[0], sign)
        right = _terms(expression.arguments[1], sign if expression.function == "add" else -sign)
        return None if left is None or right is None else left + right
    if isinstance(expression, Call) and expression.function == "negate" and not _may_wrap(expression):
        return _terms(expression.arguments[0], -sign)
    return [Term(sign, expression)] if _usable(expression) else None


def _usable(expression: Expression) -> bool:
    if isinstance(expression, Constant):
        return isinstance(expression.value, int | float) and not isinstance(expression.value, bool)
    if not _is_range_type(expression.type):
        return False
    if isinstance(expression, Column):
        return True
    if is_of_decimals(expression):
        return _is_number_alone(expression)
    if expression.function == "cast" and isinstance(expression.arguments[0], Column):
        return expression.arguments[0].type in RANGE_TYPES
    floating = all(node.type in ("float", "double") or not isinstance(node, Call) for node in walk(expression))
    safe = all(node.function in SAFE_FLOATING for node in walk(expression) if isinstance(node, Call))
    return floating and safe


def _is_range_type(type: str) -> bool:
    return type in RANGE_TYPES or decimal_digits(type) is not None


def _is_number_alone(call: Call) -> bool:
    """Whether an operation on decimals is a number of its own: all its parts are numbers, and it cannot raise."""
    kinds = all(node.type in WHOLE_TYPES or decimal_digits(node.type) for node in walk(call) if node is not call)
    return kinds and not can_raise(call)


def _peeled(expression: Expression) -> Expression:
    """The expression without casts to decimals that cannot raise; they keep its value, or round it."""
    while isinstance(expression, Call) and expression.function == "cast" and decimal_digits(expression.type):
        if expression.ansi and not never_overflows(expression):
            break
        expression = expression.arguments[0]
    return expression


def _may_wrap(call: Call) -> bool:
    """Whether integer overflow would wrap around silently, which a range cannot represent; decimals become NULL."""
    if decimal_digits(call.type):
        return False
    return not call.ansi and call.type not in ("float", "double", "timestamp", "timestamp_ntz", "interval")


def _sum(constants: list[Term]) -> float | None:
    total = 0.0
    for term in constants:
        if not isinstance(term.expression, Constant) or not isinstance(term.expression.value, int | float):
            return None
        digits = decimal_digits(term.expression.type)
        total += term.sign * (term.expression.value / 10 ** (digits[1] if digits else 0))
    return total


def _capacity(left: Expression, right: Expression) -> float | None:
    """The largest value that fits every operation of the comparison that can overflow; None if there is none."""
    sums = _calls(left, right, ("add", "subtract", "negate", "abs"))
    whole = [INTEGER_CAPACITY[call.type] for call in sums if call.type in INTEGER_CAPACITY]
    long = [decimal_digits(call.type) for call in sums if is_of_decimals(call) and can_raise(call)]
    ends = [SAFE_SHARE * 10 ** (digits[0] - digits[1]) for digits in long if digits]
    return min((*whole, *ends), default=None)


def _rounding(left: Expression, right: Expression) -> float:
    """How far sums and casts to fewer digits may be rounded, together: each by half a unit of its last digit."""
    calls = [call for call in _calls(left, right, ("add", "subtract", "cast")) if decimal_digits(call.type)]
    lossy = [decimal_digits(call.type) for call in calls if not is_exact(call)]
    return sum(10.0 ** -digits[1] for digits in lossy if digits)


def _calls(left: Expression, right: Expression, functions: tuple[str, ...]) -> list[Call]:
    nodes = [node for side in (left, right) for node in walk(side)]
    return [node for node in nodes if isinstance(node, Call) and node.function in functions]


def _epsilon(left: Expression, right: Expression) -> float:
    """A bound on the rounding errors of Spark and of the range, relative to the sum of magnitudes."""
    nodes = [node for side in (left, right) for node in walk(side)]
    steps = ROUNDING_STEPS + len(nodes)
    return steps * (FLOAT_EPSILON if any(node.type == "float" for node in nodes) else DOUBLE_EPSILON)


def _merge(ranges: list[Range]) -> list[Range]:
    """Combines the bounds on the same number."""
    merged: dict[Expression, Range] = {}
    for found in ranges:
        earlier = merged.get(found.number)
        bounds = found.bounds if earlier is None else earlier.bounds + found.bounds
        merged[found.number] = Range(found.number, bounds)
    return list(merged.values())
