"""Resolved Catalyst trees as Braid expressions, for a whitelist proven to have Spark's results.

Everything else stays SQL for the JVM: then the translation is None, never an approximation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from braid.analysis.catalyst import Node, NotConstant, operands
from braid.analysis.decimals import ROUNDINGS, proven, rounds_after_the_point, unscaled
from braid.analysis.functions import FUNCTION_RULES, round_number
from braid.analysis.platform import Platform, Zone
from braid.analysis.rules import Untranslatable, require
from braid.analysis.times import to_date
from braid.kernels.expressions.decimal_types import never_overflows
from braid.kernels.expressions.evaluate import can_raise
from braid.plan.expressions import MAX_DEPTH, Call, Column, Constant, Expression, Function, decimal_digits, depth_of

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_TIMES = ("timestamp", "timestamp_ntz")
_TYPES = frozenset({"boolean", *_INTEGERS, *_FLOATS, *_TIMES, "date", "interval", "string", "binary", "void"})
_MICROSECONDS_PER_DAY = 86_400_000_000
# Spark turns a longer list into a hash set, which distinguishes -0.0 from 0.0.
_LONGEST_FLOAT_LIST = 10

_COMPARISONS: dict[str, Function] = {
    "EqualTo": "eq",
    "EqualNullSafe": "eq_null_safe",
    "LessThan": "lt",
    "LessThanOrEqual": "le",
    "GreaterThan": "gt",
    "GreaterThanOrEqual": "ge",
}
_BOOLEANS: dict[str, Function] = {
    "And": "and",
    "Or": "or",
    "Not": "not",
    "IsNull": "is_null",
    "IsNotNull": "is_not_null",
    "IsNaN": "is_nan",
    "If": "if",
    "Coalesce": "coalesce",
}
_ARITHMETIC: dict[str, Function] = {"Add": "add", "Subtract": "subtract", "Multiply": "multiply"}
_SIGNS: dict[str, Function] = {"UnaryMinus": "negate", "Abs": "abs"}
_FROM_INSTANTS: dict[str, Function] = {"bigint": "unix_seconds", "double": "unix_double"}
_WRAPPERS = frozenset({
    "Between", "DatetimeSub", "Nvl", "Nvl2", "EqualNull", "NullIf", "UnaryPositive", "Alias", "Extract",
    "StringTrimBoth",
})  # fmt: skip


class TooDeep(Exception):
    """A node whose expression would be nested deeper than tasks allow."""


def translate(node: Node, columns: Mapping[str, Column], platform: Platform) -> Expression | None:
    """The expression that equals a resolved node, None if it must stay in the JVM.

    TooDeep if it is nested too deep, Unproven if only the digits of a decimal are in the way.
    """
    try:
        return _Translation(columns, platform).of(node)
    except Untranslatable:
        return None


def widens_exactly(node: Node, inner: Node) -> bool:
    """Whether a node is only casts around another, each between integers or decimals and losing nothing."""
    while node.kind == "Cast":
        source, target = node.children[0].type, node.type
        whole_or_decimal = all(type in _INTEGERS or decimal_digits(type) for type in (source, target))
        if not (whole_or_decimal and node.java.canUpCast(*_java_types(node))):
            return False
        node = node.children[0]
        if node.java.semanticEquals(inner.java):
            return True
    return False


def _java_types(cast: Node) -> tuple[Any, Any]:
    return cast.children[0].java.dataType(), cast.java.dataType()


class _Translation:
    def __init__(self, columns: Mapping[str, Column], platform: Platform) -> None:
        self.columns = columns
        self.platform = platform
        self.zone = platform.zone
        self.shared: dict[str, Node] = {}
        self.depth = 0

    def of(self, node: Node) -> Expression:
        if self.depth > MAX_DEPTH:
            raise TooDeep
        self.depth += 1
        found = self._translated(node)
        self.depth -= 1
        if self.depth == 0 and depth_of(found) > MAX_DEPTH:
            raise TooDeep
        return found

    def _translated(self, node: Node) -> Expression:
        if node.kind in _WRAPPERS:
            return self.of(node.children[0])
        require(_supported(node.type))
        if node.kind == "AttributeReference":
            return self._column(node)
        if node.foldable:
            try:
                return _constant(node)
            except NotConstant:
                pass  # it raises, or only its parts can be evaluated: the rules below apply
        return _RULES.get(node.kind, _refuse)(self, node)

    def all(self, node: Node) -> tuple[Expression, ...]:
        return tuple(self.of(child) for child in node.children)

    def _column(self, node: Node) -> Expression:
        column = self.columns.get(str(node.java.name()))
        require(column is not None and column.type == node.type)
        assert column is not None
        return column

    def with_shared(self, node: Node) -> Expression:
        body, *definitions = node.children
        for definition in definitions:
            self.shared[_shared_id(definition)] = definition.children[0]
        return self.of(body)

    def shared_reference(self, node: Node) -> Expression:
        return self.of(self.shared[_shared_id(node)])

    def comparison(self, node: Node) -> Expression:
        left, right = self.all(node)
        require(left.type == right.type)
        return Call(_COMPARISONS[node.kind], (left, right), "boolean")

    def chain(self, node: Node) -> Expression:
        """ANDs or ORs as a balanced tree, in order: evaluated from the left, it skips what the chain skips."""
        parts = [self.of(part) for part in operands(node, node.kind)]
        while len(parts) > 1:
            pairs = [parts[place : place + 2] for place in range(0, len(parts), 2)]
            parts = [Call(_BOOLEANS[node.kind], tuple(pair), "boolean") if len(pair) > 1 else pair[0] for pair in pairs]
        return parts[0]

    def boolean(self, node: Node) -> Expression:
        return Call(_BOOLEANS[node.kind], self.all(node), node.type)

    def membership(self, node: Node) -> Expression:
        value, *items = self.all(node)
        require(value.type not in _FLOATS or len(items) <= _LONGEST_FLOAT_LIST)
        require(all(item.type == value.type and not can_raise(item) for item in items))
        return Call("in", (value, *items), "boolean")

    def null_if(self, node: Node) -> Expression:
        condition, value = self.all(node)
        return Call("if", (condition, Constant(None, node.type), value), node.type)

    def case(self, node: Node) -> Expression:
        parts = self.all(node)
        result: Expression = parts[-1] if len(parts) % 2 else Constant(None, node.type)
        for index in range(len(parts) - len(parts) % 2 - 2, -1, -2):
            result = Call("if", (parts[index], parts[index + 1], result), node.type)
        return result

    def arithmetic(self, node: Node) -> Expression:
        if decimal_digits(node.type):
            return self.of_decimals(node, _ARITHMETIC[node.kind], self.all(node))
        require(node.type in (*_INTEGERS, *_FLOATS, "interval") and node.eval_mode != "TRY")
        ansi = node.eval_mode == "ANSI" or node.type == "interval"
        arguments = self.all(node)
        require(all(argument.type == node.type for argument in arguments))
        return Call(_ARITHMETIC[node.kind], arguments, node.type, ansi)

    def of_decimals(self, node: Node, function: Function, arguments: tuple[Expression, ...]) -> Expression:
        require(node.eval_mode != "TRY" and all(decimal_digits(argument.type) for argument in arguments))
        return proven(Call(function, arguments, node.type, node.eval_mode == "ANSI"))

    def rounding(self, node: Node) -> Expression:
        if decimal_digits(node.children[0].type) is None:
            return round_number(self, node)
        require(rounds_after_the_point(node))
        argument = self.of(node.children[0])
        return argument if argument.type == node.type else proven(Call(ROUNDINGS[node.kind], (argument,), node.type))

    def sign(self, node: Node) -> Expression:
        if decimal_digits(node.type):
            return Call(_SIGNS[node.kind], self.all(node), node.type)
        require(node.type in (*_INTEGERS, *_FLOATS, "interval"))
        ansi = bool(node.java.failOnError()) or node.type == "interval"
        return Call(_SIGNS[node.kind], self.all(node), node.type, ansi)

    def divide(self, node: Node) -> Expression:
        if decimal_digits(node.type):
            return self.of_decimals(node, "divide", self.all(node))
        require(node.type == "double" and node.eval_mode != "TRY")
        return Call("divide", self.all(node), node.type, node.eval_mode == "ANSI")

    def remainder(self, node: Node) -> Expression:
        if decimal_digits(node.type):
            return self.of_decimals(node, "remainder", self.all(node))
        require(node.type in (*_INTEGERS, *_FLOATS) and node.eval_mode != "TRY")
        return Call("remainder", self.all(node), node.type, node.eval_mode == "ANSI")

    def square_root(self, node: Node) -> Expression:
        return Call("sqrt", self.all(node), node.type)

    def cast(self, node: Node) -> Expression:
        argument = self.of(node.children[0])
        source, target = argument.type, node.type
        if source in _TIMES and target == "date":
            return to_date(self, node)
        if source == "timestamp" and target in _FROM_INSTANTS:
            return Call(_FROM_INSTANTS[target], (argument,), target)
        if source == target:
            require(source != "interval" or _keeps_interval(node))
            return argument
        if decimal_digits(source) or decimal_digits(target):
            call = proven(Call("cast", (argument,), target, node.eval_mode == "ANSI"))
            require(node.eval_mode != "TRY" or never_overflows(call))
            return call
        require(_exact_cast(source, target, self.zone))
        return Call("cast", (argument,), target)

    def shift_time(self, node: Node) -> Expression:
        time, interval = node.children
        require(node.type in _TIMES and interval.type == "interval")
        shift = self.of(interval)
        short = isinstance(shift, Constant) and _under_a_day(shift)
        require(short or node.type == "timestamp_ntz" or self.zone.fixed)
        return Call("add", (self.of(time), shift), node.type)

    def time_difference(self, node: Node) -> Expression:
        left, right = self.all(node)
        require(node.type == "interval" and left.type == right.type)
        require(left.type == "timestamp_ntz" or self.zone.fixed)
        return Call("subtract", (left, right), "interval")


def _refuse(translation: _Translation, node: Node) -> Expression:
    raise Untranslatable(node.kind)


_RULES: dict[str, Callable[[_Translation, Node], Expression]] = {
    **dict.fromkeys(_COMPARISONS, _Translation.comparison),
    **dict.fromkeys(_BOOLEANS, _Translation.boolean),
    "And": _Translation.chain,
    "Or": _Translation.chain,
    **dict.fromkeys(_ARITHMETIC, _Translation.arithmetic),
    **dict.fromkeys(_SIGNS, _Translation.sign),
    "With": _Translation.with_shared,
    "CommonExpressionRef": _Translation.shared_reference,
    "In": _Translation.membership,
    "NullIfResult": _Translation.null_if,
    "CaseWhen": _Translation.case,
    "Divide": _Translation.divide,
    "Remainder": _Translation.remainder,
    "Sqrt": _Translation.square_root,
    **dict.fromkeys(ROUNDINGS, _Translation.rounding),
    "Cast": _Translation.cast,
    **FUNCTION_RULES,
    "TimestampAddInterval": _Translation.shift_time,
    "SubtractTimestamps": _Translation.time_difference,
}


def _supported(type: str) -> bool:
    return type in _TYPES or decimal_digits(type) is not None


def _constant(node: Node) -> Constant:
    value = node.constant()
    require(value is None or node.type not in ("binary", "void"))
    return Constant(None if value is None else _plain(value, node.type), node.type)


def _plain(value: Any, type: str) -> int | float | bool | str:
    if digits := decimal_digits(type):
        return unscaled(value.toJavaBigDecimal(), digits[1])
    if type == "string":
        text = str(value.toString())
        # The JVM replaces bytes that are no UTF-8; a literal with such bytes stays with it.
        require(text.encode() == bytes(value.getBytes()))
        return text
    if type == "boolean":
        return bool(value)
    return float(value) if type in _FLOATS else int(value)


def _shared_id(node: Node) -> str:
    return str(node.java.id().toString())


def _keeps_interval(node: Node) -> bool:
    """A cast to an interval with finer or equal fields changes nothing; to coarser ones it truncates."""
    source, target = _java_types(node)
    return int(target.endField()) >= int(source.endField())


def _under_a_day(interval: Constant) -> bool:
    return interval.value is None or abs(int(interval.value)) < _MICROSECONDS_PER_DAY


def _exact_cast(source: str, target: str, zone: Zone) -> bool:
    if source in _INTEGERS:
        return _exact_from_integer(source, target)
    if source == "date":
        return target == "timestamp_ntz" or (target == "timestamp" and zone.utc)
    if source in _TIMES:
        return target in _TIMES and zone.utc
    return source == "float" and target == "double"


def _exact_from_integer(source: str, target: str) -> bool:
    wider = _INTEGERS[_INTEGERS.index(source) + 1 :]
    return target in (*wider, *_FLOATS)
