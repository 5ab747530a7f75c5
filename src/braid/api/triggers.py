"""`writer.trigger(...)`: its arguments, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from braid.errors import SinkError
from braid.plan.durations import duration_us

EXAMPLE = 'For example .trigger(processingTime="1 second") or .trigger(availableNow=True).'


def read_trigger(
    processing_time: str | timedelta | None, once: object, available_now: object, others: Mapping[str, Any]
) -> tuple[tuple[str, Any], ...]:
    """The one argument that was given, as Spark takes it."""
    if others:
        raise SinkError(
            f"A trigger has no argument {', '.join(others)}: steps run as micro-batches only.",
            hint=f"Use processingTime, once or availableNow. {EXAMPLE}",
        )
    for name, value in (("once", once), ("availableNow", available_now)):
        if not (value is None or isinstance(value, bool)):
            raise SinkError(f"The trigger {name} is true or left out, but got {value!r}.", hint=EXAMPLE)
    given = {"processingTime": processing_time, "once": once, "availableNow": available_now}
    chosen = {name: value for name, value in given.items() if value is not None and value is not False}
    if len(chosen) != 1:
        raise SinkError(
            f"A trigger needs exactly one of processingTime, once and availableNow, but got {len(chosen)}.",
            hint=EXAMPLE,
        )
    if processing_time is not None:
        # In one unit of Spark's durations, which accept fewer spellings than Braid's.
        microseconds = duration_us("processingTime", processing_time)
        chosen = {"processingTime": f"{-(-microseconds // 1000)} milliseconds"}
    return tuple(chosen.items())
