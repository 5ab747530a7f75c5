"""What a comparison of times implies about their difference, where only the JVM can evaluate it exactly.

Days and months depend on the calendar of a time zone, and differences of local times on its clock changes: `INTERVAL 1
DAY` is 23 to 25 hours where clocks change by one hour. Both sides of a comparison are read as sums of times with a
remainder between two limits. The difference of two times is then bounded by a number that no match exceeds. The bound
limits lookups and retention; the comparison itself still runs on every candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from braid.analysis.catalyst import Node, NotConstant
from braid.analysis.offsets import FIXED, Offsets
from braid.plan.expressions import Call, Column, Constant, Expression

_DAY_US = 86_400_000_000
_TIMES = ("timestamp", "timestamp_ntz")
_INTEGERS = ("int", "bigint")
_UNITS_US = {
    "MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": _DAY_US, "DAYOFYEAR": _DAY_US, "WEEK": 7 * _DAY_US,
}  # fmt: skip
_UNITS_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_EPOCH_UNITS_US = {"UnixMicros": 1, "UnixMillis": 1_000, "UnixSeconds": 1_000_000}
_WRAPPERS = frozenset({"Between", "DatetimeSub", "Alias"})
_OPPOSITE = {"LessThan": "GreaterThan", "LessThanOrEqual": "GreaterThanOrEqual"}
_OPPOSITE |= {turned: plain for plain, turned in _OPPOSITE.items()}


@dataclass(frozen=True)
class Linear:
    """A value that, times `unit_us`, lies between `low` and `high` beyond the times `plus` less the times `minus`.

    `local`: it is a difference of clocks in the session's zone, of times that are at most about `size` apart where the
    comparison could be true. A constant number has no unit of its own.
    """

    plus: tuple[Column, ...] = ()
    minus: tuple[Column, ...] = ()
    low: int = 0
    high: int = 0
    unit_us: int | None = 1
    local: bool = False
    size: int = 0


class _Unknown(Exception):
    """A part that does not constrain times."""


def implied_bounds(node: Node, columns: Mapping[str, Column], offsets: Offsets | None) -> Expression | None:
    """Comparisons of time differences that are true wherever a resolved predicate is; None if there are none."""
    try:
        found = _Reading(columns, offsets).bounds(node) if offsets is not None else []
    except RecursionError:
        return None  # a sum this deep is no comparison of two times
    if not found:
        return None
    return found[0] if len(found) == 1 else Call("and", tuple(found), "boolean")


class _Reading:
    def __init__(self, columns: Mapping[str, Column], offsets: Offsets) -> None:
        self.columns = columns
        self.offsets = offsets
        self.shared: dict[str, Node] = {}

    def bounds(self, node: Node) -> list[Expression]:
        if node.kind in _WRAPPERS:
            return self.bounds(node.children[0])
        if node.kind == "With":
            self.shared |= {str(d.java.id().toString()): d.children[0] for d in node.children[1:]}
            return self.bounds(node.children[0])
        if node.kind == "And":
            return [found for child in node.children for found in self.bounds(child)]
        if node.kind not in (*_OPPOSITE, "EqualTo"):
            return []
        try:
            return self._comparison(node.kind, *node.children)
        except _Unknown:
            return []

    def _comparison(self, kind: str, left: Node, right: Node) -> list[Expression]:
        if right.kind == "Abs":
            kind, left, right = _OPPOSITE.get(kind, kind), right, left
        if left.kind == "Abs":
            if kind in ("GreaterThan", "GreaterThanOrEqual"):
                return []
            _require(_raises_on_overflow(left))
            inside, limit = self.linear(left.children[0]), self.linear(right)
            return [*self._at_most(_sum(inside, limit, -1)), *self._at_most(_sum(_negated(inside), limit, -1))]
        difference = _sum(self.linear(left), self.linear(right), -1)
        found = []
        if kind not in ("GreaterThan", "GreaterThanOrEqual"):
            found += self._at_most(difference)
        if kind not in ("LessThan", "LessThanOrEqual"):
            found += self._at_most(_negated(difference))
        return found

    def _at_most(self, value: Linear) -> list[Expression]:
        """`value <= 0` as a bound on the difference of its two times."""
        if len(value.plus) != 1 or len(value.minus) != 1 or value.plus == value.minus:
            return []
        bound = -value.low
        if value.local:
            bound += self._spread(value.plus[0].type, value.size)
        difference = Call("subtract", (value.plus[0], value.minus[0]), "interval")
        return [Call("le", (difference, Constant(bound, "interval")), "boolean")]

    def linear(self, node: Node) -> Linear:
        if node.kind in _WRAPPERS:
            return self.linear(node.children[0])
        if node.kind == "CommonExpressionRef":
            return self.linear(self.shared[str(node.java.id().toString())])
        if node.foldable:
            return self._constant(node)
        rule = _RULES.get(node.kind)
        if rule is None:
            raise _Unknown
        return rule(self, node)

    def _constant(self, node: Node) -> Linear:
        _require(node.type == "interval" or node.type in _INTEGERS)
        value = _whole(node)
        return Linear(low=value, high=value, unit_us=1 if node.type == "interval" else None, size=abs(value))

    def column(self, node: Node) -> Linear:
        column = self.columns.get(str(node.java.name()))
        if column is None or column.type not in _TIMES or node.type != column.type:
            raise _Unknown
        return Linear(plus=(column,))

    def shift(self, node: Node) -> Linear:
        """A time and a constant interval of days and less."""
        time, interval = node.children
        _require(interval.type == "interval")
        return self._shifted(time, _whole(interval))

    def shift_by_months(self, node: Node) -> Linear:
        time, interval = node.children
        return self._shifted_by_months(time, _whole(interval))

    def shift_by_unit(self, node: Node) -> Linear:
        quantity, time = node.children
        unit = str(node.java.unit()).upper()
        if unit in _UNITS_MONTHS:
            return self._shifted_by_months(time, _whole(quantity) * _UNITS_MONTHS[unit])
        _require(unit in _UNITS_US)
        return self._shifted(time, _whole(quantity) * _UNITS_US[unit])

    def _shifted(self, node: Node, by_us: int) -> Linear:
        slack = self._spread(node.type, abs(by_us)) if abs(by_us) >= _DAY_US else 0
        return self._moved(node, by_us - slack, by_us + slack)

    def _shifted_by_months(self, node: Node, months: int) -> Linear:
        years, rest = divmod(abs(months), 12)
        shortest, longest = (365 * years + 28 * rest) * _DAY_US, (366 * years + 31 * rest) * _DAY_US
        if months < 0:
            shortest, longest = -longest, -shortest
        slack = self._spread(node.type, max(abs(shortest), abs(longest)))
        return self._moved(node, shortest - slack, longest + slack)

    def _moved(self, node: Node, least: int, most: int) -> Linear:
        time = self.linear(node)
        size = time.size + max(abs(least), abs(most))
        return replace(time, low=time.low + least, high=time.high + most, size=size)

    def difference(self, node: Node) -> Linear:
        _require(node.type == "interval")
        left, right = node.children
        return replace(_sum(self.linear(left), self.linear(right), -1), local=left.type == "timestamp")

    def difference_in_units(self, node: Node) -> Linear:
        """`timestampdiff(unit, start, end)`: whole units, cut towards zero."""
        unit = str(node.java.unit()).upper()
        _require(unit in _UNITS_US)
        start, end = node.children
        return self._counted(end, start, _UNITS_US[unit])

    def difference_in_days(self, node: Node) -> Linear:
        """`datediff(end, start)` of times: midnights between them."""
        times = []
        for date in node.children:
            _require(date.kind == "Cast" and date.type == "date" and date.children[0].type in _TIMES)
            times.append(date.children[0])
        return self._counted(times[0], times[1], _DAY_US)

    def _counted(self, end: Node, start: Node, unit_us: int) -> Linear:
        _require(end.type == start.type and end.type in _TIMES)
        exact = _sum(self.linear(end), self.linear(start), -1)
        low, high = exact.low - unit_us + 1, exact.high + unit_us - 1
        local, size = end.type == "timestamp", exact.size + unit_us
        return replace(exact, low=low, high=high, unit_us=unit_us, local=local, size=size)

    def epoch(self, node: Node) -> Linear:
        """Whole units since 1970, cut downwards."""
        return self._floored(node.children[0], _EPOCH_UNITS_US[node.kind])

    def _floored(self, node: Node, unit_us: int) -> Linear:
        _require(node.type == "timestamp")
        time = self.linear(node)
        return replace(time, low=time.low - unit_us + 1, unit_us=unit_us, size=time.size + unit_us)

    def cast(self, node: Node) -> Linear:
        source = node.children[0]
        if source.type == "timestamp" and node.type == "bigint":
            return self._floored(source, 1_000_000)
        widened = (source.type, node.type) == ("int", "bigint")
        _require(widened or (source.type == node.type and source.type in _TIMES))
        return self.linear(source)

    def sum(self, node: Node) -> Linear:
        _require(node.type == "interval" or (node.type in _INTEGERS and node.eval_mode == "ANSI"))
        left, right = node.children
        return _sum(self.linear(left), self.linear(right), 1 if node.kind == "Add" else -1)

    def negation(self, node: Node) -> Linear:
        _require(_raises_on_overflow(node))
        return _negated(self.linear(node.children[0]))

    def _spread(self, type: str, span_us: int) -> int:
        """The most by which local clocks may differ from elapsed time over such a span."""
        offsets = self.offsets if type == "timestamp" else FIXED
        return offsets.spread_within_us(span_us + offsets.spread_us)


_RULES: dict[str, Callable[[_Reading, Node], Linear]] = {
    "AttributeReference": _Reading.column,
    "TimestampAddInterval": _Reading.shift,
    "TimestampAddYMInterval": _Reading.shift_by_months,
    "TimestampAdd": _Reading.shift_by_unit,
    "SubtractTimestamps": _Reading.difference,
    "TimestampDiff": _Reading.difference_in_units,
    "DateDiff": _Reading.difference_in_days,
    **dict.fromkeys(_EPOCH_UNITS_US, _Reading.epoch),
    "Cast": _Reading.cast,
    "Add": _Reading.sum,
    "Subtract": _Reading.sum,
    "UnaryMinus": _Reading.negation,
}


def _sum(left: Linear, right: Linear, sign: int) -> Linear:
    """Two values of one unit added, or subtracted; a constant number takes the unit of the other."""
    unit = left.unit_us if left.unit_us is not None else right.unit_us
    left, right = _in_unit(left, unit), _in_unit(right if sign > 0 else _negated(right), unit)
    _require(not (left.local and right.local))
    return Linear(
        (*left.plus, *right.plus),
        (*left.minus, *right.minus),
        left.low + right.low,
        left.high + right.high,
        unit,
        left.local or right.local,
        left.size + right.size,
    )


def _in_unit(value: Linear, unit_us: int | None) -> Linear:
    if value.unit_us is None and unit_us is not None:
        return replace(
            value, low=value.low * unit_us, high=value.high * unit_us, unit_us=unit_us, size=value.size * unit_us
        )
    _require(value.unit_us == unit_us)
    return value


def _negated(value: Linear) -> Linear:
    return replace(value, plus=value.minus, minus=value.plus, low=-value.high, high=-value.low)


def _raises_on_overflow(node: Node) -> bool:
    """Whether a sign is changed or dropped exactly: numbers that overflow silently bound nothing."""
    return node.type == "interval" or bool(node.java.failOnError())


def _whole(node: Node) -> int:
    """The value of a constant interval or number; NULL bounds nothing."""
    try:
        value = node.constant()
    except NotConstant:
        raise _Unknown from None
    if value is None:
        raise _Unknown
    try:
        return int(value)
    except (TypeError, ValueError):
        raise _Unknown from None


def _require(condition: bool) -> None:
    if not condition:
        raise _Unknown
