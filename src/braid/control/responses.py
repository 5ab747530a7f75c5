"""Response times: how long rows and results waited from their arrival to the step that emitted their time.

Rows are represented by a sample of their event times, so the figures are estimates once a task reads more rows than
the sample has. The number of arrivals is bounded: adjacent ones are combined at their mean.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from braid.state.order_state import Arrival

# Both bound what a manifest records per stream.
SAMPLE = 128
MAX_ARRIVALS = 32

Waits = list[tuple[float, float]]
"""Waiting times in milliseconds, each with the number of rows that waited that long."""


def respond(arrivals: Sequence[Arrival], until_us: int, now_ms: int) -> tuple[tuple[Arrival, ...], Waits]:
    """The arrivals that still wait once event times up to `until_us` were emitted, and how long the others waited."""
    waits: Waits = []
    remaining = []
    for arrival in arrivals:
        emitted = bisect_right(arrival.times, until_us)
        share = emitted / len(arrival.times)
        if emitted:
            waits.append((max(0, now_ms - arrival.arrived_ms), arrival.rows * share))
        if emitted < len(arrival.times):
            rows = round(arrival.rows * (1 - share))
            remaining.append(replace(arrival, rows=max(1, rows), times=arrival.times[emitted:]))
    return tuple(remaining), waits


def spread(count: float, waits: Waits) -> Waits:
    """The waits of `count` results, distributed like those of the rows: which row found which result is unknown."""
    total = sum(rows for _, rows in waits)
    return [(wait, count * rows / total) for wait, rows in waits]


def remember(arrivals: Sequence[Arrival]) -> tuple[Arrival, ...]:
    """The arrivals of each stream; adjacent ones are combined where there are too many."""
    kept: list[Arrival] = []
    for stream in sorted({arrival.stream for arrival in arrivals}):
        own = sorted((a for a in arrivals if a.stream == stream), key=lambda arrival: arrival.arrived_ms)
        while len(own) > MAX_ARRIVALS:
            own = [_combine(own[n : n + 2]) for n in range(0, len(own), 2)]
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
    """At most `most` of the sorted times, evenly chosen."""
    return tuple(times[:: max(1, -(-len(times) // most))])


def _percentile(waits: Sequence[tuple[float, float]], rows: float) -> float:
    passed = 0.0
    for wait, count in waits:
        passed += count
        if passed >= rows:
            return wait
    return waits[-1][0]


def _combine(arrivals: Sequence[Arrival]) -> Arrival:
    rows = sum(arrival.rows for arrival in arrivals)
    mean = sum(arrival.arrived_ms * arrival.rows for arrival in arrivals) // rows
    times = sorted(time for arrival in arrivals for time in arrival.times)
    return Arrival(mean, rows, thinned(times), arrivals[0].stream)
