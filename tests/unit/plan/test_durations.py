"""Durations, as users write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from braid.errors import DurationError
from braid.plan.durations import brief_us, duration_us, format_us


@pytest.mark.parametrize(
    ("value", "microseconds"),
    [
        ("10 minutes", 600_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        ("1 hour, 30 minutes", 5_400_000_000),
        ("1 hour and 30 min", 5_400_000_000),
        ("INTERVAL 5 SECONDS", 5_000_000),
        ("interval 5 seconds", 5_000_000),
        ("500 ms", 500_000),
        ("500ms", 500_000),
        ("0.5 s", 500_000),
        ("3 microseconds", 3),
        ("1 us", 1),
        ("2 weeks", 1_209_600_000_000),
        ("1d", 86_400_000_000),
        ("0 seconds", 0),
        ("  7   days ", 604_800_000_000),
        (timedelta(milliseconds=1.5), 1_500),
        (timedelta(0), 0),
    ],
)
def test_a_duration_is_exact_microseconds(value: str | timedelta, microseconds: int) -> None:
    assert duration_us("window", value) == microseconds


WRONG = ["", "  ", "ten minutes", "10", "10 parsecs", "5 months", "minutes 10", "-5 seconds", "5 seconds x", 10, None]
WRONG += ["٣ seconds", "５ minutes", "१ h", "1\u00a0second"]  # digits and spaces that are not ASCII


@pytest.mark.parametrize("value", [*WRONG, "10 minutes 3"])
def test_anything_else_is_refused_with_an_example(value: Any) -> None:
    with pytest.raises(DurationError, match="The window must be a duration") as caught:
        duration_us("The window", value)
    assert "10 minutes" in str(caught.value)


def test_a_negative_timedelta_is_refused() -> None:
    with pytest.raises(DurationError, match="must not be negative"):
        duration_us("lateness", timedelta(seconds=-1))


@pytest.mark.parametrize(
    "text", ["10 minutes", "1 second", "90 minutes", "1 week", "1500 milliseconds", "0 seconds", "7 microseconds"]
)
def test_a_formatted_duration_reads_back(text: str) -> None:
    assert format_us(duration_us("x", text)) == text
    assert duration_us("x", format_us(duration_us("x", text))) == duration_us("x", text)


def test_a_duration_that_would_overflow_is_refused() -> None:
    assert duration_us("window", "50000 weeks") == 30_240_000_000_000_000
    with pytest.raises(DurationError, match="at most 100,000 years"):
        duration_us("window", "20000000 weeks")


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (5_000_000, "5 s"),
        (90_000_000_000, "1 day 1 h"),
        (2 * 86_400_000_000, "2 days"),
        (60_000_000, "1 min"),
        (1_500, "1 ms 500 us"),
        (0, "0 s"),
        (-4_000_000, "-4 s"),
    ],
)
def test_a_duration_in_short(microseconds: int, text: str) -> None:
    assert brief_us(microseconds) == text
    if microseconds >= 0:
        assert duration_us("window", text) == microseconds, "what explain prints can be given back"
