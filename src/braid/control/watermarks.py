"""Watermarks and expiry, decided from the records of earlier steps.

A watermark never falls, so expired rows stay expired. None means minus infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from braid.plan.instants import wall_clock_us
from braid.plan.join import JoinPlan, StreamPlan
from braid.state.manifest import Block, Mark


@dataclass(frozen=True)
class StepTimes:
    """The watermarks a step runs under, and which streams are idle in it."""

    watermarks: tuple[int | None, ...]
    idle: tuple[bool, ...]


def decide_times(plan: JoinPlan, marks: Sequence[Mark], idle: tuple[bool, ...]) -> StepTimes:
    """The watermarks of the next step. An idle stream takes the smallest watermark of the others."""
    own = [_own_watermark(stream, mark) for stream, mark in zip(plan.streams, marks, strict=True)]
    active = [watermark for watermark, is_idle in zip(own, idle, strict=True) if not is_idle]
    if active and None not in active:
        lowest = min(watermark for watermark in active if watermark is not None)
        own = [later(mark, lowest) if is_idle else mark for mark, is_idle in zip(own, idle, strict=True)]
    return StepTimes(tuple(own), idle)


def latest_times(plan: JoinPlan, now_ms: int) -> tuple[int | None, ...]:
    """The newest event time that an on-time row of each stream may have at `now_ms` of the clock; None: any.

    Event times without a zone are compared with the local time of the session's time zone.
    """
    return tuple(
        None
        if stream.max_ahead_us is None
        else stream.max_ahead_us
        + (wall_clock_us(now_ms, plan.time_zone) if stream.time_column.type == "timestamp_ntz" else now_ms * 1000)
        for stream in plan.streams
    )


def advance_marks(
    marks: Sequence[Mark], times: StepTimes, newest: Sequence[int | None], now_ms: int, blocks: Sequence[Block] = ()
) -> tuple[Mark, ...]:
    """The marks after a step in which stream i's largest event time was `newest[i]` (None: no rows).

    `blocks` are those that the step stored.
    """
    return tuple(
        Mark(
            newest_us=later(mark.newest_us, seen),
            watermark_us=watermark,
            active_ms=mark.active_ms if seen is None else now_ms,
            oldest_us=_oldest(mark, [block for block in blocks if block.stream == stream]),
        )
        for stream, (mark, watermark, seen) in enumerate(zip(marks, times.watermarks, newest, strict=True))
    )


def has_filled(plan: JoinPlan, stream: int, mark: Mark) -> bool:
    """Whether a stream has been stored for as long as its rows are retained, so that its state no longer grows.

    State with unbounded retention always grows.
    """
    reaches = [reach for _, reach in plan.reaches(stream)]
    if mark.newest_us is None or mark.oldest_us is None:
        return False
    return all(reach is not None and mark.newest_us - mark.oldest_us >= reach for reach in reaches)


def lookup_marks(
    watermarks: Sequence[int | None], blocks: Sequence[Block], frontier_us: int | None
) -> tuple[int | None, ...]:
    """The event time below which no row of each stream still has to probe; buffered rows are after the frontier."""
    buffering = {block.stream for block in blocks if block.buffered}
    return tuple(
        _earlier(watermark, frontier_us) if stream in buffering else watermark
        for stream, watermark in enumerate(watermarks)
    )


def is_expired(plan: JoinPlan, stream: int, newest_us: int, watermarks: Sequence[int | None]) -> bool:
    """Whether rows of a stream or intermediate result up to `newest_us` can join no future on-time row."""
    for other, reach in plan.reaches(stream):
        watermark = watermarks[other]
        if watermark is None or reach is None or watermark <= newest_us + reach:
            return False
    return True


def _own_watermark(stream: StreamPlan, mark: Mark) -> int | None:
    if stream.lateness_us is None or mark.newest_us is None:
        return mark.watermark_us
    return later(mark.watermark_us, mark.newest_us - stream.lateness_us)


def later(first: int | None, second: int | None) -> int | None:
    """The later of two times; None is before every time."""
    if first is None or second is None:
        return second if first is None else first
    return max(first, second)


def _oldest(mark: Mark, blocks: Sequence[Block]) -> int | None:
    times = [block.min_time for block in blocks] + ([] if mark.oldest_us is None else [mark.oldest_us])
    return min(times, default=None)


def _earlier(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else min(first, second)
