"""The definition of the results, by nested loops, independent of the engine.

A row is a dict of Python values; event times are microseconds (None: null). Predicates are Python functions of one row
per stream they read: true, false or None for SQL's NULL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Batch = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class OracleStream:
    """A stream's settings; None: no limit."""

    name: str
    window_us: int | None
    lateness_us: int | None = 0
    idle_after_ms: int | None = None
    time: str = "ts"
    window_rows: int | None = None
    max_ahead_us: int | None = None


@dataclass(frozen=True)
class Condition:
    """A predicate over the named streams, whose rows it receives in this order."""

    streams: tuple[str, ...]
    buffered_kind: Callable[..., bool | None]


def on_time_rows(
    streams: Sequence[OracleStream],
    batches: Sequence[Batch],
    clock_ms: Sequence[int] | None = None,
    started_ms: Sequence[int] | None = None,
) -> dict[str, list[Row]]:
    """The rows that were not late when they arrived; `clock_ms` is the arrival of each batch (default: at once).

    `started_ms` is the start of the run that read each batch (default: one run, which started with the first). Every
    batch has all rows of its sources.
    """
    times = [0] * len(batches) if clock_ms is None else list(clock_ms)
    began = times[:1] * len(batches) if started_ms is None else list(started_ms)
    newest: dict[str, int | None] = {stream.name: None for stream in streams}
    reached: dict[str, int | None] = {stream.name: None for stream in streams}
    heard = {stream.name: began[0] if began else 0 for stream in streams}
    kept: dict[str, list[Row]] = {stream.name: [] for stream in streams}
    for batch, now, start in zip(batches, times, began, strict=True):
        silent = {s.name: now - max(start, heard[s.name]) for s in streams if not _timely(s, batch, now)}
        limits = {s.name: s.idle_after_ms for s in streams}
        idle = {name for name, ms in silent.items() if (limit := limits[name]) is not None and ms >= limit}
        for stream in streams:
            latest = newest[stream.name]
            if latest is not None and stream.lateness_us is not None:
                reached[stream.name] = _later(reached[stream.name], latest - stream.lateness_us)
        awake = [reached[stream.name] for stream in streams if stream.name not in idle]
        known = [mark for mark in awake if mark is not None]
        if known and len(known) == len(awake):
            for name in idle:
                reached[name] = _later(reached[name], min(known))
        for stream in streams:
            for row in _timely(stream, batch, now):
                time = row[stream.time]
                heard[stream.name] = now
                newest[stream.name] = _later(newest[stream.name], time)
                mark = reached[stream.name]
                if mark is None or time >= mark:
                    kept[stream.name].append(row)
    return kept


def answer(
    streams: Sequence[OracleStream], rows: Mapping[str, Sequence[Row]], conditions: Sequence[Condition]
) -> Counter[tuple[Any, ...]]:
    """The results of on-time rows: every column of every stream in their order, then the result time."""
    found: Counter[tuple[Any, ...]] = Counter()
    for combination in _combinations(streams, rows, conditions, {}):
        newest = max(combination[stream.name][stream.time] for stream in streams)
        in_time = all(s.window_us is None or newest - combination[s.name][s.time] <= s.window_us for s in streams)
        if in_time and all(_is_among_last(s, rows[s.name], combination[s.name], newest) for s in streams):
            values = [value for stream in streams for value in combination[stream.name].values()]
            found[(*map(comparable, values), newest)] += 1
    return found


def _is_among_last(stream: OracleStream, rows: Sequence[Row], row: Row, until: int) -> bool:
    """Whether fewer rows than the window counts follow this one, up to a time; equal rows are counted one by one."""
    if stream.window_rows is None:
        return True
    present = [other for other in rows if other[stream.time] <= until]
    ordered = sorted(present, key=lambda other: (other[stream.time], [_rank(value) for value in other.values()]))
    return any(other is row for other in ordered[-stream.window_rows :])


def _rank(value: Any) -> tuple[int, Any]:
    """A key by which values sort as Spark sorts them: NULL first, NaN above every number."""
    if value is None:
        return 0, 0
    return (2, 0) if isinstance(value, float) and value != value else (1, value)


def comparable(value: Any) -> Any:
    """A value that equals itself: NaN as text."""
    return "NaN" if isinstance(value, float) and value != value else value


def _combinations(
    streams: Sequence[OracleStream],
    rows: Mapping[str, Sequence[Row]],
    conditions: Sequence[Condition],
    chosen: dict[str, Row],
) -> Iterator[dict[str, Row]]:
    """One row from each stream; a condition is evaluated as soon as its streams are joined."""
    if len(chosen) == len(streams):
        yield chosen
        return
    name = streams[len(chosen)].name
    ready = [c for c in conditions if name in c.streams and all(s in chosen or s == name for s in c.streams)]
    for row in rows[name]:
        tried = {**chosen, name: row}
        if all(
            condition.buffered_kind(*(tried[stream] for stream in condition.streams)) is True for condition in ready
        ):
            yield from _combinations(streams, rows, conditions, tried)


def _timely(stream: OracleStream, batch: Batch, now_ms: int) -> list[Row]:
    """The rows of a stream with an event time that is not too far ahead of the clock; all others are ignored."""
    last = None if stream.max_ahead_us is None else now_ms * 1000 + stream.max_ahead_us
    times = [(row[stream.time], row) for row in batch.get(stream.name, ())]
    return [row for time, row in times if time is not None and (last is None or time <= last)]


def _later(first: int | None, second: int) -> int:
    return second if first is None else max(first, second)
