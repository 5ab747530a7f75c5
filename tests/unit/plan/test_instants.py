"""Instants at and beyond the ends of 64 bits: as text, by the clock of a zone, and shifted in arrays."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from braid.control.watermarks import latest_times
from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.expressions.vectors import Vector
from braid.kernels.times import count_up_to, shifted
from braid.optimizer.build import build_plan
from braid.plan.durations import LONGEST_US
from braid.plan.expressions import Column, Expression
from braid.plan.instants import EARLIEST_US, LATEST_US, clipped, iso_time, wall_clock_us
from braid.testing import Draft, absolute, add, constant, equal, less, less_or_equal, subtract

ENDS = (EARLIEST_US, EARLIEST_US + 1, -(1 << 53), -1, 0, 1, 1_767_200_000_000_000_000, LATEST_US - 1, LATEST_US)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_704_067_200_123_456, "2024-01-01T00:00:00.123Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000_000, "+10000-01-01T00:00:00.000Z"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00.000Z"),
        (-62_135_596_800_000_001, "0000-12-31T23:59:59.999Z"),
        (-62_201_779_200_000_000, "-0002-11-27T00:00:00.000Z"),
        (LATEST_US, "+294247-01-10T04:00:54.775Z"),
        (EARLIEST_US, "-290308-12-21T19:59:05.224Z"),
        (LATEST_US + 1, "+294247-01-10T04:00:54.775Z"),
        (EARLIEST_US - LONGEST_US, "-290308-12-21T19:59:05.224Z"),
    ],
)
def test_every_instant_has_a_text(microseconds: int | None, text: str | None) -> None:
    assert iso_time(microseconds) == text


def test_years_of_four_digits_are_written_as_python_writes_them() -> None:
    chance = random.Random(3)
    for _ in range(300):
        instant = datetime(1, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randrange(9998 * 365 * 86_400))
        microseconds = (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        assert iso_time(microseconds) == instant.isoformat().replace("+00:00", ".000Z")


@pytest.mark.parametrize(
    ("zone", "hours"),
    [("UTC", 0), ("Z", 0), ("Europe/Berlin", 1), ("+02:00", 2), ("GMT-3", -3), ("UTC+05:30", 5.5), ("-0800", -8)],
)
def test_the_clock_of_a_zone_as_spark_names_it(zone: str, hours: float) -> None:
    assert wall_clock_us(1_704_067_200_000, zone) - 1_704_067_200_000_000 == hours * 3_600_000_000


def test_times_without_a_zone_are_ahead_of_the_clock_on_the_wall() -> None:
    draft = Draft()
    for name, ahead in (("a", 5), ("b", 5), ("c", None)):
        draft.stream(name, {}, window_us=1, max_ahead_us=ahead)
    plan = replace(build_plan(draft.logical_plan()), time_zone="+01:00")
    local = replace(plan.streams[1], columns=(Column("b.ts", 1, "timestamp_ntz"),))
    plan = replace(plan, streams=(plan.streams[0], local, plan.streams[2]))
    assert latest_times(plan, 7) == (7005, 7005 + 3_600_000_000, None)


@pytest.mark.parametrize("by", [0, 1, -1, 5_000_000, -5_000_000, LONGEST_US, -LONGEST_US, LATEST_US, -LATEST_US])
def test_shifted_times_stop_at_the_ends(by: int) -> None:
    assert shifted(np.array(ENDS), by).tolist() == [clipped(time + by) for time in ENDS]


@pytest.mark.parametrize("limit", [EARLIEST_US - 1, *ENDS])
def test_times_up_to_a_limit_are_counted(limit: int) -> None:
    assert count_up_to(np.array(ENDS), limit) == sum(time <= limit for time in ENDS)


A, B = Column("a", 0, "timestamp"), Column("b", 1, "timestamp")
SPANS = (0, 1, 60_000_000, LONGEST_US)


def truths(expression: Expression) -> list[bool]:
    """The value for every pair of times at the ends."""
    columns = {"a": np.repeat(ENDS, len(ENDS)), "b": np.tile(ENDS, len(ENDS))}
    found = evaluate(expression, lambda name: Vector(columns[name]))
    assert found.valid is None
    return [bool(value) for value in found.values]


@pytest.mark.parametrize("span", SPANS)
def test_comparisons_with_shifted_times_are_those_of_numbers_without_ends(span: int) -> None:
    pairs = [(a, b) for a in ENDS for b in ENDS]
    by = constant(span, "interval")
    assert truths(less_or_equal(B, add(A, by))) == [b <= a + span for a, b in pairs]
    assert truths(less(B, add(A, by))) == [b < a + span for a, b in pairs]
    assert truths(less_or_equal(subtract(A, by), B)) == [a - span <= b for a, b in pairs]
    assert truths(less(subtract(A, by), B)) == [a - span < b for a, b in pairs]
    assert truths(less_or_equal(absolute(subtract(A, B)), by)) == [abs(a - b) <= span for a, b in pairs]
    if span:
        assert truths(equal(add(A, by), B)) == [a + span == b for a, b in pairs]


def test_long_windows_are_kept_to_the_microsecond() -> None:
    """Doubles do not hold every microsecond of such a window, nor of a chain of them."""
    window = LONGEST_US - 1
    draft = Draft()
    for name in "abc":
        draft.stream(name, {}, window_us=window)
    plan = build_plan(draft.logical_plan())
    assert plan.retention_us[0] == (0, window, window)
    assert window != int(float(window))
