"""Windows and lateness as the user writes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from braid.errors import DurationError, WindowError
from braid.plan.durations import duration_us, format_us


class Unbounded:
    """No limit. There is one, `braid.unbounded`."""

    def __repr__(self) -> str:
        return "braid.unbounded"

    def __reduce__(self) -> str:
        return "unbounded"


unbounded: Final = Unbounded()
AUTO = "auto"


@dataclass(frozen=True)
class Window:
    """How long a row of a stream may be joined: a duration, for ever, or as long as the predicates allow."""

    kind: str
    duration_us: int | None

    def describe(self) -> str:
        return self.kind if self.duration_us is None else format_us(self.duration_us)


def read_window(stream: str, value: object) -> Window:
    """The window of a stream as data."""
    if value is unbounded:
        return Window("unbounded", None)
    if value == AUTO:
        return Window("auto", None)
    if isinstance(value, str | timedelta):
        return Window("time", duration_us(f"The window of stream {stream!r}", value))
    raise WindowError(
        f"The window of stream {stream!r} cannot be {value!r}.",
        hint='Give a duration such as "10 minutes", a timedelta, braid.unbounded, or "auto".',
    )


def read_lateness(stream: str, value: object) -> int | None:
    """The lateness in microseconds; None for no limit."""
    if value is unbounded:
        return None
    if isinstance(value, str | timedelta):
        return duration_us(f"The lateness of stream {stream!r}", value)
    raise DurationError(
        f"The lateness of stream {stream!r} cannot be {value!r}.",
        hint='Give a duration such as "5 seconds", a timedelta, or braid.unbounded.',
    )
