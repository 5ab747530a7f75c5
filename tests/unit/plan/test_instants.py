"""Instants at and beyond the ends of 64 bits: as text, and by the clock of a zone."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from braid.plan.durations import LONGEST_US
from braid.plan.instants import EARLIEST_US, LATEST_US, iso_time, wall_clock_us


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
