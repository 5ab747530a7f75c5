"""Instants in microseconds: all values of a 64-bit timestamp, from the year -290308 to 294247.

On the driver they are Python integers, which do not overflow. Before they are used with arrays they are clipped: no row
is beyond the ends of the range, so a limit at an end has the same effect as one beyond it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

EARLIEST_US = -(1 << 63)
LATEST_US = (1 << 63) - 1
LAST_YEAR_OF_FOUR_DIGITS = 9999
OFFSET = re.compile(r"(?:UTC?|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?", re.ASCII)


def clipped(microseconds: int) -> int:
    """The instant, limited to the range of 64-bit timestamps."""
    return max(EARLIEST_US, min(microseconds, LATEST_US))


def iso_time(microseconds: int | None) -> str | None:
    """An instant as Spark prints it in progress, years beyond four digits with their sign; None for minus infinity."""
    if microseconds is None:
        return None
    text = f"{np.datetime64(clipped(microseconds) // 1000, 'ms')}Z"
    place = text.index("-", 1)
    year = int(text[:place])
    sign = "-" if year < 0 else "+" if year > LAST_YEAR_OF_FOUR_DIGITS else ""
    return f"{sign}{abs(year):04d}{text[place:]}"


def wall_clock_us(now_ms: int, time_zone: str) -> int:
    """The local time of a time zone, by Spark's name, at an instant: the value of a timestamp without a zone."""
    zone = _zone(time_zone)
    offset = datetime.fromtimestamp(now_ms // 1000, UTC).astimezone(zone).utcoffset()
    return now_ms * 1000 + (0 if offset is None else round(offset / timedelta(microseconds=1)))


def _zone(name: str) -> tzinfo:
    offset = OFFSET.fullmatch(name)
    if offset is None:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):
            return UTC
    hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
    sign = -1 if offset[1] == "-" else 1
    return timezone(sign * timedelta(hours=hours, minutes=minutes, seconds=seconds))
