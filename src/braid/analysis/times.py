"""Functions of dates and times in Catalyst trees, with the rules of the session's time zone where they matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from braid.analysis.catalyst import Node
from braid.analysis.offsets import rules_text
from braid.analysis.rules import Translation, require
from braid.kernels.expressions.evaluate import can_raise
from braid.plan.expressions import Call, Constant, Expression, Function, walk

_PARTS_OF_DATES: Mapping[str, Function] = {
    "Year": "year", "Month": "month", "DayOfMonth": "day", "Quarter": "quarter", "DayOfYear": "day_of_year",
    "DayOfWeek": "day_of_week", "WeekDay": "weekday", "WeekOfYear": "week_of_year", "LastDay": "last_day",
    "UnixDate": "unix_date",
}  # fmt: skip
_PARTS_OF_CLOCKS: Mapping[str, Function] = {
    "Hour": "hour", "Minute": "minute", "Second": "second", "SecondWithFraction": "second_with_fraction",
}  # fmt: skip
_OF_INSTANTS: Mapping[str, Function] = {
    "UnixMicros": "unix_micros", "UnixMillis": "unix_millis", "UnixSeconds": "unix_seconds",
    "UnixTimestamp": "unix_timestamp", "ToUnixTimestamp": "unix_timestamp",
}  # fmt: skip
_SHIFTS: Mapping[str, Function] = {"DateAdd": "add_days", "DateSub": "subtract_days"}
_DATE_UNITS = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MON": "month", "MM": "month",
    "WEEK": "week",
}  # fmt: skip
_TIME_UNITS = {
    **_DATE_UNITS, "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
    "MILLISECOND": "millisecond",
}  # fmt: skip
# Offsets of zones are whole seconds, so these units begin at the same instants everywhere.
_ZONELESS_UNITS = ("second", "millisecond")


def to_date(translation: Translation, node: Node) -> Expression:
    """A time as the date that it has in the session's time zone."""
    require(len(node.children) == 1)
    time = translation.of(node.children[0])
    if time.type == "date":
        return time
    require(time.type in ("timestamp", "timestamp_ntz"))
    if time.type == "timestamp_ntz" or translation.platform.zone.utc:
        return Call("date", (time,), "date")
    return Call("local_date", (time, _rules(translation)), "date")


def _part_of_date(translation: Translation, node: Node) -> Expression:
    (date,) = translation.all(node)
    require(date.type == "date")
    return Call(_PARTS_OF_DATES[node.kind], (date,), node.type)


def _part_of_clock(translation: Translation, node: Node) -> Expression:
    time = translation.of(node.children[0])
    require(time.type in ("timestamp", "timestamp_ntz"))
    if time.type == "timestamp" and not translation.platform.zone.utc:
        time = Call("local_clock", (time, _rules(translation)), "timestamp_ntz")
    return Call(_PARTS_OF_CLOCKS[node.kind], (time,), node.type)


def _of_instant(translation: Translation, node: Node) -> Expression:
    time = translation.of(node.children[0])
    require(time.type == "timestamp")
    return Call(_OF_INSTANTS[node.kind], (time,), node.type)


def _days_between(translation: Translation, node: Node) -> Expression:
    end, start = translation.all(node)
    require(end.type == start.type == "date" and not can_raise(start))
    return Call("days_between", (end, start), node.type)


def _shift(translation: Translation, node: Node) -> Expression:
    start, days = translation.all(node)
    require(start.type == "date" and days.type in ("tinyint", "smallint", "int") and not can_raise(days))
    return Call(_SHIFTS[node.kind], (start, days), node.type)


def _truncate_date(translation: Translation, node: Node) -> Expression:
    date, unit = translation.all(node)
    require(date.type == "date")
    return Call("truncate_date", (date, _unit(unit, _DATE_UNITS)), node.type)


def _truncate_time(translation: Translation, node: Node) -> Expression:
    unit, time = translation.all(node)
    require(time.type == "timestamp")
    name, zone = _unit(unit, _TIME_UNITS), translation.platform.zone
    require(zone.fixed or name.value in _ZONELESS_UNITS)
    offset = Constant(zone.offset_us if zone.fixed else 0, "bigint")
    return Call("truncate_time", (time, name, offset), node.type)


def _unit(unit: Expression, known: Mapping[str, str]) -> Constant:
    require(isinstance(unit, Constant) and str(unit.value).upper() in known)
    assert isinstance(unit, Constant)
    return Constant(known[str(unit.value).upper()], "string")


def _rules(translation: Translation) -> Constant:
    platform = translation.platform
    text = rules_text(platform.zone.offset_us, [], None) if platform.zone.fixed else platform.local_rules()
    require(text is not None)
    return Constant(text, "string")


def counts_time(expression: Expression) -> bool:
    """Whether it counts units of time; what a comparison of such numbers says about times, Catalyst's tree shows."""
    counting = {*_OF_INSTANTS.values(), "days_between"}
    return any(isinstance(node, Call) and node.function in counting for node in walk(expression))


TIME_RULES: Mapping[str, Callable[[Translation, Node], Expression]] = {
    **dict.fromkeys(_PARTS_OF_DATES, _part_of_date),
    **dict.fromkeys(_PARTS_OF_CLOCKS, _part_of_clock),
    **dict.fromkeys(_OF_INSTANTS, _of_instant),
    **dict.fromkeys(_SHIFTS, _shift),
    "DateDiff": _days_between,
    "TruncDate": _truncate_date,
    "TruncTimestamp": _truncate_time,
    "ParseToDate": to_date,
}
