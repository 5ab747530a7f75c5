"""The status of a query between two steps: what waits, and for which streams.

Ordered rows and results wait until every stream that is not idle has reached their time, so they wait for the streams
with the lowest watermark. Stored rows are kept until no future row can join them. Rows that would have expired if every
stream had the highest watermark wait for the streams that are behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from braid.control.watermarks import StepTimes, decide_times, is_expired
from braid.plan.join import JoinPlan
from braid.state.manifest import Block, Manifest
from braid.state.order_state import OrderState

What = Literal["rows", "results", "state"]
"""`rows` wait to probe and `results` to be emitted, both for the order of results; `state` waits to expire."""


@dataclass(frozen=True)
class Wait:
    """A number of rows that wait for some `streams`; `stream` is the one they belong to, None for results."""

    what: What
    stream: int | None
    rows: int
    streams: tuple[int, ...]


@dataclass(frozen=True)
class Standing:
    """A query after `step`: per stream the watermark it runs under now, whether it is idle, and its rows.

    `frontier_us` is the result time up to which ordered results were emitted.
    """

    step: int
    watermarks: tuple[int | None, ...]
    newest_us: tuple[int | None, ...]
    idle: tuple[bool, ...]
    stored_rows: tuple[int, ...]
    buffered_rows: tuple[int, ...]
    buffered_results: int
    late_rows: tuple[int, ...]
    frontier_us: int | None
    waits: tuple[Wait, ...]


def standing_of(plan: JoinPlan, manifest: Manifest, idle: tuple[bool, ...]) -> Standing:
    """The status of a query while these streams are idle."""
    numbers = range(len(plan.streams))
    times = decide_times(plan, manifest.marks, idle)
    order_state = manifest.order_state if plan.ordered else None
    buffered = tuple(0 if order_state is None else rows_waiting(order_state, number) for number in numbers)
    results = 0 if order_state is None else sum(block.rows for block in order_state.results)
    return Standing(
        step=manifest.step,
        watermarks=times.watermarks,
        newest_us=tuple(mark.newest_us for mark in manifest.marks),
        idle=times.idle,
        stored_rows=tuple(sum(b.rows for b in manifest.blocks if b.stream == number) for number in numbers),
        buffered_rows=buffered,
        buffered_results=results,
        late_rows=manifest.late_rows or (0,) * len(plan.streams),
        frontier_us=None if order_state is None else order_state.frontier_us,
        waits=(*_order_waits(times, buffered, results), *_expiry_waits(plan, manifest, times)),
    )


def rows_waiting(order_state: OrderState, stream: int) -> int:
    """Rows of a stream that wait to probe, approximately."""
    if order_state.buffered_kind == "results":
        return 0
    return sum(arrival.rows for arrival in order_state.arrivals if arrival.stream == stream)


def _order_waits(times: StepTimes, buffered: tuple[int, ...], results: int) -> tuple[Wait, ...]:
    """What waits for the order of results; nothing does when all streams are idle."""
    behind = _behind(times)
    if not behind:
        return ()
    waits = [Wait("rows", stream, rows, behind) for stream, rows in enumerate(buffered) if rows]
    return (*waits, *([Wait("results", None, results, behind)] if results else []))


def _behind(times: StepTimes) -> tuple[int, ...]:
    """The streams with the lowest watermark among those not idle; no watermark (no rows yet) is the lowest of all."""
    active = [(stream, mark) for stream, mark in enumerate(times.watermarks) if not times.idle[stream]]
    without_rows = tuple(stream for stream, mark in active if mark is None)
    lowest = min((mark for _, mark in active if mark is not None), default=None)
    return without_rows or tuple(stream for stream, mark in active if mark == lowest)


def _expiry_waits(plan: JoinPlan, manifest: Manifest, times: StepTimes) -> tuple[Wait, ...]:
    furthest = max((mark for mark in times.watermarks if mark is not None), default=None)
    if furthest is None:
        return ()
    waits = []
    for stream in range(len(plan.streams)):
        overdue = [
            block
            for block in manifest.blocks
            if block.stream == stream
            and is_expired(plan, stream, block.max_time, [furthest] * len(plan.streams))
            and not is_expired(plan, stream, block.max_time, times.watermarks)
        ]
        behind = _keepers(plan, stream, overdue, times)
        # The watermark of a stream with unbounded lateness never moves: rows kept for it never expire, so do not wait.
        if overdue and all(plan.streams[keeper].lateness_us is not None for keeper in behind):
            waits.append(Wait("state", stream, sum(block.rows for block in overdue), behind))
    return tuple(waits)


def _keepers(plan: JoinPlan, stream: int, blocks: list[Block], times: StepTimes) -> tuple[int, ...]:
    """The streams whose future rows may join rows of these blocks."""
    found = set()
    for other, reach in plan.reaches(stream):
        mark = times.watermarks[other]
        if reach is not None and any(mark is None or mark <= block.max_time + reach for block in blocks):
            found.add(other)
    return tuple(sorted(found))
