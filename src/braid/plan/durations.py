"""Durations: `"10 minutes"`, `"1 hour 30 minutes"`, `timedelta`; always exact microseconds."""

from __future__ import annotations

import re
from datetime import timedelta

from braid.errors import DurationError

UNITS_US = {
    "microsecond": 1,
    "us": 1,
    "millisecond": 1_000,
    "ms": 1_000,
    "second": 1_000_000,
    "sec": 1_000_000,
    "s": 1_000_000,
    "minute": 60_000_000,
    "min": 60_000_000,
    "m": 60_000_000,
    "hour": 3_600_000_000,
    "h": 3_600_000_000,
    "day": 86_400_000_000,
    "d": 86_400_000_000,
    "week": 604_800_000_000,
    "w": 604_800_000_000,
}
BRIEF_UNITS_US = {
    "day": 86_400_000_000,
    "h": 3_600_000_000,
    "min": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
# Added to any event time with a year of four digits, it stays far inside 64 bits.
LONGEST_US = 100_000 * 366 * UNITS_US["day"]
PIECE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*(?:,|and\b)?\s*", re.ASCII)


def duration_us(what: str, value: str | timedelta) -> int:
    """The duration in microseconds; `what` names the argument in the error."""
    if isinstance(value, timedelta):
        microseconds = round(value / timedelta(microseconds=1))
    elif isinstance(value, str):
        microseconds = _parse(what, value)
    else:
        raise _refuse(what, value)
    if microseconds < 0:
        raise DurationError(f"{what} must not be negative, but is {value!r}.", hint="Give a duration of zero or more.")
    if microseconds > LONGEST_US:
        raise DurationError(
            f"{what} must be at most 100,000 years, but is {value!r}.",
            hint="Use braid.unbounded for no limit.",
        )
    return microseconds


def format_us(microseconds: int) -> str:
    """A duration as a user would write it."""
    for name in ("week", "day", "hour", "minute", "second", "millisecond"):
        size = UNITS_US[name]
        if microseconds and microseconds % size == 0:
            count = microseconds // size
            return f"{count} {name}{'' if count == 1 else 's'}"
    return f"{microseconds} microseconds" if microseconds else "0 seconds"


def brief_us(microseconds: int) -> str:
    """A duration in short form: `1 day 1 h`, `5 s`, `1.5 ms` as `1 ms 500 us`; negative ones with their sign."""
    rest, pieces = abs(microseconds), []
    for name, size in BRIEF_UNITS_US.items():
        count, rest = divmod(rest, size)
        if count:
            pieces.append(f"{count} {name}{'s' if name == 'day' and count > 1 else ''}")
    return ("-" if microseconds < 0 else "") + (" ".join(pieces) or "0 s")


def _parse(what: str, text: str) -> int:
    body = re.sub(r"^\s*interval\s+", "", text, flags=re.IGNORECASE)
    total, position = 0.0, 0
    while position < len(body):
        piece = PIECE.match(body, position)
        unit = None if piece is None else _unit_us(piece[2])
        if piece is None or unit is None:
            raise _refuse(what, text)
        total += float(piece[1]) * unit
        position = piece.end()
    if not body.strip():
        raise _refuse(what, text)
    return round(total)


def _unit_us(name: str) -> int | None:
    lowered = name.lower()
    return UNITS_US.get(lowered, UNITS_US.get(lowered.removesuffix("s")))


def _refuse(what: str, value: object) -> DurationError:
    return DurationError(
        f"{what} must be a duration, but is {value!r}.",
        hint='Write a number and a unit, such as "10 minutes", "1 hour 30 minutes" or "500 ms", or pass a timedelta. '
        "Units: microseconds, milliseconds, seconds, minutes, hours, days, weeks.",
    )
