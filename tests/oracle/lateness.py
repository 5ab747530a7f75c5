"""Which rows are late, by the rule alone: no engine, no Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tests.oracle.cases import Input, Query, duration_us


def late_flags(batches: Sequence[Sequence[int | None]], lateness_us: int | None) -> list[list[bool]]:
    """Per batch of event times (microseconds): is the row late? `lateness_us` None is no limit."""
    newest: int | None = None
    flags = []
    for times in batches:
        watermark = None if newest is None or lateness_us is None else newest - lateness_us
        flags.append([time is None or (watermark is not None and time < watermark) for time in times])
        newest = max((time for time in (newest, *times) if time is not None), default=None)
    return flags


def lateness_of(query: Query, position: int) -> int | None:
    """The lateness in force: as given, else none when every window is unbounded, else zero."""
    given = query.latenesses[position]
    if given is None:
        return None if all(window == "unbounded" for window in query.windows) else 0
    return None if given == "unbounded" else duration_us(given)


def on_time_rows(entry: Input, lateness_us: int | None) -> pa.Table:
    """The rows of a stream that are joined when it arrives in its batches."""
    cut = entry.cut()
    flags = late_flags([_microseconds(batch, entry.time) for batch in cut], lateness_us)
    kept = [not late for batch in flags for late in batch]
    return entry.rows.filter(pa.array(kept, pa.bool_()))


def timed_rows(entry: Input) -> pa.Table:
    """The rows of a static input that are joined: those with an event time."""
    return entry.rows.filter(entry.rows.column(entry.time).is_valid())


def _microseconds(rows: pa.Table, time: str) -> list[int | None]:
    return rows.column(time).cast(pa.int64()).to_pylist()
