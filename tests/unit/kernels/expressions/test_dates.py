"""Dates, clocks and time zones against Python's own calendar."""

from __future__ import annotations

import calendar
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.expressions.vectors import Vector
from braid.plan.expressions import Call, Column, Constant, Expression, Function
from braid.plan.instants import EARLIEST_US

EPOCH = date(1970, 1, 1)
START = datetime(1970, 1, 1, tzinfo=UTC)
DATES = st.dates()
TIMES = st.datetimes(timezones=st.just(UTC))


def value_of(function: Function, type: str, value: int, *more: Expression) -> int:
    column = Column("x", 0, type)
    width = np.int32 if type == "date" else np.int64
    found = evaluate(Call(function, (column, *more), "int"), {"x": Vector(np.array([value], width))}.__getitem__)
    return int(found.values[0])


@settings(deadline=None)
@given(DATES)
def test_parts_of_dates(day: date) -> None:
    days = (day - EPOCH).days
    expected: dict[Function, Any] = {
        "year": day.year,
        "month": day.month,
        "day": day.day,
        "quarter": (day.month + 2) // 3,
        "day_of_year": day.timetuple().tm_yday,
        "day_of_week": day.isoweekday() % 7 + 1,
        "weekday": day.weekday(),
        "week_of_year": day.isocalendar().week,
        "last_day": days - day.day + calendar.monthrange(day.year, day.month)[1],
    }
    assert {name: value_of(name, "date", days) for name in expected} == expected
    starts = {"month": day.replace(day=1), "year": day.replace(month=1, day=1)}
    starts["quarter"] = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    for unit, start in starts.items():
        assert value_of("truncate_date", "date", days, Constant(unit, "string")) == (start - EPOCH).days


@settings(deadline=None)
@given(TIMES, st.integers(-18 * 3600, 18 * 3600))
def test_units_of_times_by_a_constant_offset(time: datetime, offset: int) -> None:
    micros = (time - START) // timedelta(microseconds=1)
    local = micros + offset * 1_000_000
    more = (Constant(offset * 1_000_000, "bigint"),)
    for unit, size in (("second", 10**6), ("minute", 60 * 10**6), ("hour", 3600 * 10**6), ("day", 86_400 * 10**6)):
        found = value_of("truncate_time", "timestamp", micros, Constant(unit, "string"), *more)
        assert found == micros - local % size
    week = value_of("truncate_time", "timestamp", micros, Constant("week", "string"), *more)
    assert week == micros - (local + 3 * 86_400 * 10**6) % (7 * 86_400 * 10**6)


def test_the_first_instant_has_no_earlier_start() -> None:
    more = (Constant("year", "string"), Constant(0, "bigint"))
    assert value_of("truncate_time", "timestamp", EARLIEST_US + 5, *more) == EARLIEST_US


@settings(deadline=None)
@given(st.integers(-(10**15), 10**15))
def test_units_since_1970(micros: int) -> None:
    assert value_of("unix_millis", "timestamp", micros) == micros // 1000
    assert value_of("unix_seconds", "timestamp", micros) == micros // 10**6
    assert value_of("unix_timestamp", "timestamp", micros) == int(abs(micros) // 10**6) * (1 if micros >= 0 else -1)


@pytest.mark.parametrize("year", [2021, 2021 + 400, 2021 + 40 * 100])
def test_rules_of_a_zone_repeat_after_400_years(year: int) -> None:
    zone = ZoneInfo("Europe/Vienna")
    changes = [datetime(2021, 3, 28, 1, tzinfo=UTC), datetime(2021, 10, 31, 1, tzinfo=UTC)]
    seconds = [int(change.timestamp()) for change in changes]
    rules = json.dumps({
        "first": 3600, "instants": seconds, "offsets": [7200, 3600], "repeated_from": seconds[0] - 86_400
    })  # fmt: skip
    for change in changes:
        for hours in (-2, 0, 1):
            time = change + timedelta(hours=hours)
            local = time.astimezone(zone)
            shifted = (time - START) // timedelta(microseconds=1) + (year - 2021) // 400 * 146_097 * 86_400 * 10**6
            clock = value_of("local_clock", "timestamp", shifted, Constant(rules, "string"))
            day = value_of("local_date", "timestamp", shifted, Constant(rules, "string"))
            assert clock == (local.hour * 3600 + local.minute * 60) * 10**6
            assert day == (local.date() - EPOCH).days + (year - 2021) // 400 * 146_097
