"""Windows and lateness as the user writes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from braid.errors import DurationError, WindowError
from braid.plan.durations import duration_us, format_us


class Unbounded:
    """No limit. The only instance is `braid.unbounded`."""

    def __repr__(self) -> str:
        return "braid.unbounded"

    def __reduce__(self) -> str:
        return "unbounded"


unbounded: Final = Unbounded()
AUTO = "auto"


@dataclass(frozen=True)
class LastRows:
    """A number of newest rows of a stream. Made by `braid.rows`."""

    count: int

    def __repr__(self) -> str:
        return f"braid.rows({self.count})"


def rows(count: int) -> LastRows:
    """A window of the last `count` on-time rows of a stream at the time of a result, in the order of event time."""
    given: object = count
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise WindowError(
            f"braid.rows(...) needs a whole number of at least 1, not {count!r}.", hint="For example braid.rows(100)."
        )
    return LastRows(count)


@dataclass(frozen=True)
class Window:
    """How long a row may be joined: for a duration, unbounded, as predicates allow, or while it is among the last."""

    kind: str
    duration_us: int | None
    count: int | None = None

    def describe(self) -> str:
        if self.count is not None:
            return f"rows({self.count})"
        return self.kind if self.duration_us is None else format_us(self.duration_us)


def read_window(stream: str, value: object) -> Window:
    """The window of a stream as data."""
    if value is unbounded:
        return Window("unbounded", None)
    if isinstance(value, LastRows):
        return Window("rows", None, value.count)
    if value == AUTO:
        return Window("auto", None)
    if isinstance(value, str | timedelta):
        return Window("time", duration_us(f"The window of stream {stream!r}", value))
    raise WindowError(
        f"The window of stream {stream!r} cannot be {value!r}.",
        hint='Give a duration such as "10 minutes", a timedelta, braid.rows(n), braid.unbounded, or "auto".',
    )


def read_limit(stream: str, what: str, value: object) -> int | None:
    """The lateness of a stream, or how far ahead its rows may be, in microseconds; None for no limit."""
    if value is unbounded:
        return None
    if isinstance(value, str | timedelta):
        return duration_us(f"The {what} of stream {stream!r}", value)
    raise DurationError(
        f"The {what} of stream {stream!r} cannot be {value!r}.",
        hint='Give a duration such as "5 seconds", a timedelta, or braid.unbounded.',
    )
