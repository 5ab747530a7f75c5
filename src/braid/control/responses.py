"""Response times: how long rows and results waited from their arrival to the step that let their time out.

Rows are known by a sample of their event times, so the figures are estimates once a task brings more rows than the
sample holds. Few arrivals are remembered: neighbours become one, at their mean.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from braid.state.order_state import Arrival

SAMPLE = 128
MOST_ARRIVALS = 32

Waits = list[tuple[float, float]]
"""Waiting times in milliseconds, each with the number of rows that waited so long."""


def respond(arrivals: Sequence[Arrival], until_us: int, now_ms: int) -> tuple[tuple[Arrival, ...], Waits]:
    """The arrivals that go on waiting when event times up to `until_us` have left, and how long the others did."""
    waits: Waits = []
    staying = []
    for arrival in arrivals:
        gone = bisect_right(arrival.times, until_us)
        share = gone / len(arrival.times)
        if gone:
            waits.append((max(0, now_ms - arrival.arrived_ms), arrival.rows * share))
        if gone < len(arrival.times):
            left = round(arrival.rows * (1 - share))
            staying.append(replace(arrival, rows=max(1, left), times=arrival.times[gone:]))
    return tuple(staying), waits


def spread(count: float, waits: Waits) -> Waits:
    """So many results as late as the rows that found them, where it is not known which row found which."""
    rows = sum(order_state for _, order_state in waits)
    return [(wait, count * order_state / rows) for wait, order_state in waits]


def remember(arrivals: Sequence[Arrival]) -> tuple[Arrival, ...]:
    """The arrivals of each stream, neighbours put together where there are too many."""
    kept: list[Arrival] = []
    for stream in sorted({arrival.stream for arrival in arrivals}):
        own = sorted((a for a in arrivals if a.stream == stream), key=lambda arrival: arrival.arrived_ms)
        while len(own) > MOST_ARRIVALS:
            own = [_together(own[n : n + 2]) for n in range(0, len(own), 2)]
        kept += own
    return tuple(kept)


def describe_waits(waits: Iterable[tuple[float, float]]) -> dict[str, float] | None:
    """Average, median and 99th percentile in milliseconds; None if nothing waited."""
    known = sorted(waits)
    total = sum(rows for _, rows in known)
    if not total:
        return None
    average = sum(wait * rows for wait, rows in known) / total
    return {
        "rows": round(total),
        "averageMs": round(average, 1),
        "p50Ms": round(_percentile(known, total * 0.5), 1),
        "p99Ms": round(_percentile(known, total * 0.99), 1),
    }


def thinned(times: Sequence[int], most: int = SAMPLE) -> tuple[int, ...]:
    """At most so many of sorted times, evenly."""
    return tuple(times[:: max(1, -(-len(times) // most))])


def _percentile(waits: Sequence[tuple[float, float]], rows: float) -> float:
    passed = 0.0
    for wait, count in waits:
        passed += count
        if passed >= rows:
            return wait
    return waits[-1][0]


def _together(arrivals: Sequence[Arrival]) -> Arrival:
    rows = sum(arrival.rows for arrival in arrivals)
    mean = sum(arrival.arrived_ms * arrival.rows for arrival in arrivals) // rows
    times = sorted(time for arrival in arrivals for time in arrival.times)
    return Arrival(mean, rows, thinned(times), arrivals[0].stream)
