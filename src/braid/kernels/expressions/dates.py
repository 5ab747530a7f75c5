"""Parts, sums and units of dates and local times, in whole numbers: the proleptic Gregorian calendar of java.time.

Dates are days since 1970-01-01, times are microseconds. Times of a zone come here as local times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from braid.kernels.expressions.vectors import Array, Vector, both_valid
from braid.plan.expressions import Function
from braid.plan.instants import EARLIEST_US

DAY_US = 86_400_000_000
_DAYS_OF_400_YEARS = 146_097
_DAYS_TO_1970 = 719_468
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def civil(days: Array) -> tuple[Array, Array, Array]:
    """Year, month and day of dates: in years that begin with March, the leap day is the last."""
    shifted = days.astype(np.int64) + _DAYS_TO_1970
    era = shifted // _DAYS_OF_400_YEARS
    day_of_era = shifted - era * _DAYS_OF_400_YEARS
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + np.where(shifted_month < 10, 3, -9)
    return year_of_era + era * 400 + (month <= 2), month, day


def days_of(year: Array, month: Any) -> Array:
    """The first day of a month."""
    shifted_year = year - (month <= 2)
    era = shifted_year // 400
    year_of_era = shifted_year - era * 400
    day_of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    first: Array = era * _DAYS_OF_400_YEARS + day_of_era - _DAYS_TO_1970
    return first


def _day_of_year(days: Array) -> Array:
    year, _, _ = civil(days)
    return days - days_of(year, np.int64(1)) + 1


def _week_of_year(days: Array) -> Array:
    """ISO weeks: a week belongs to the year of its Thursday."""
    thursday = days - _weekday(days) + 3
    return (_day_of_year(thursday) - 1) // 7 + 1


def _weekday(days: Array) -> Array:
    """0 for Monday; 1970-01-01 was a Thursday."""
    return (days + 3) % 7


def _last_day(days: Array) -> Array:
    year, month, _ = civil(days)
    return days_of(year + month // 12, month % 12 + 1) - 1


def _of_days(function: Callable[[Array], Array]) -> Callable[..., Vector]:
    def apply(operand: Vector) -> Vector:
        return Vector(function(np.asarray(operand.values, np.int64)).astype(np.int32), operand.valid)

    return apply


def _of_time(unit_us: int, modulus: int) -> Callable[..., Vector]:
    """A part of a local time of day."""
    return lambda operand: Vector((operand.values // unit_us % modulus).astype(np.int32), operand.valid)


def _units(unit_us: int) -> Callable[..., Vector]:
    """Whole units since 1970, rounded down."""
    return lambda operand: Vector(operand.values // unit_us, operand.valid)


def _unix_timestamp(operand: Vector) -> Vector:
    """Whole seconds since 1970, cut towards zero."""
    values = operand.values
    return Vector(values // 1_000_000 + ((values < 0) & (values % 1_000_000 != 0)), operand.valid)


def _date(operand: Vector) -> Vector:
    return Vector((operand.values // DAY_US).astype(np.int32), operand.valid)


def _days_between(end: Vector, start: Vector) -> Vector:
    return Vector(end.values - start.values, both_valid(end.valid, start.valid))


def _add_days(start: Vector, days: Vector) -> Vector:
    return Vector(start.values + days.values.astype(np.int32), both_valid(start.valid, days.valid))


def _subtract_days(start: Vector, days: Vector) -> Vector:
    return Vector(start.values - days.values.astype(np.int32), both_valid(start.valid, days.valid))


def _start_of(months: int) -> Callable[[Array], Array]:
    """The first day of a unit of months."""

    def apply(days: Array) -> Array:
        year, month, _ = civil(days)
        return days_of(year, (month - 1) // months * months + 1)

    return apply


def _truncate_date(operand: Vector, unit: Vector) -> Vector:
    return _of_days(_STARTS[text_of(unit)])(operand)


def _truncate_time(operand: Vector, unit: Vector, offset: Vector) -> Vector:
    """The start of a unit, by clocks that are always `offset` ahead; before the first instant it is the first."""
    name, ahead = text_of(unit), int(offset.values)
    values = np.asarray(operand.values, np.int64)
    if name in _UNITS_US:
        since = (values % _UNITS_US[name] + ahead) % _UNITS_US[name]
    else:
        days, clock = local_days(values, ahead)
        since = (days - _STARTS[name](days)) * DAY_US + clock
    return Vector(np.where(values < EARLIEST_US + since, EARLIEST_US, values - since), operand.valid)


def local_days(values: Array, ahead: Any) -> tuple[Array, Array]:
    """Local dates and the time since local midnight; sums of whole instants and offsets might overflow."""
    clock = values % DAY_US + ahead
    return values // DAY_US + clock // DAY_US, clock % DAY_US


def text_of(unit: Vector) -> str:
    """A text that analysis gives as a literal."""
    return str(unit.values.as_py())


_UNITS_US = {"millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": DAY_US}
_STARTS: dict[str, Callable[[Array], Array]] = {
    "week": lambda days: days - _weekday(days),
    **{unit: _start_of(months) for unit, months in _MONTHS.items()},
}
FUNCTIONS: Mapping[Function, Callable[..., Vector]] = {
    "year": _of_days(lambda days: civil(days)[0]),
    "month": _of_days(lambda days: civil(days)[1]),
    "day": _of_days(lambda days: civil(days)[2]),
    "quarter": _of_days(lambda days: (civil(days)[1] + 2) // 3),
    "day_of_year": _of_days(_day_of_year),
    "day_of_week": _of_days(lambda days: (days + 4) % 7 + 1),
    "weekday": _of_days(_weekday),
    "week_of_year": _of_days(_week_of_year),
    "last_day": _of_days(_last_day),
    "hour": _of_time(3_600_000_000, 24),
    "minute": _of_time(60_000_000, 60),
    "second": _of_time(1_000_000, 60),
    "second_with_fraction": lambda operand: Vector(operand.values % 60_000_000, operand.valid),
    "unix_micros": _units(1),
    "unix_millis": _units(1_000),
    "unix_seconds": _units(1_000_000),
    "unix_timestamp": _unix_timestamp,
    "unix_double": lambda operand: Vector(operand.values / 1e6, operand.valid),
    "unix_date": lambda operand: operand,
    "date": _date,
    "days_between": _days_between,
    "add_days": _add_days,
    "subtract_days": _subtract_days,
    "truncate_date": _truncate_date,
    "truncate_time": _truncate_time,
}
