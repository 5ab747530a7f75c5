"""How long rings are: the length with the least latency or the most output, for one sequence and for all streams.

Latency (equation 5) is a convex function of the length: comparing gets faster with every unit, hops get more. Output
(equation 4) grows with every unit, so its ring has all of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from braid.optimizer.ring_costs import (
    RingWork,
    central_seconds,
    latency_seconds,
    output_ratio,
    probing_rows,
    ring_seconds,
    service_rate,
)
from braid.plan.layout import Goal


def crossing_length(work: RingWork) -> float:
    """N_1: where a unit's work takes as long as the hops of all rounds; infinite without hops."""
    hop, sending = work.streams * work.hop_seconds, work.send_seconds * sum(probing_rows(work))
    if hop == 0:
        return math.inf
    return (sending + math.sqrt(sending**2 + 4 * hop * central_seconds(work))) / (2 * hop)


def turning_length(work: RingWork) -> float:
    """N_2: where another unit saves as much work as its hop costs, if hops are hidden: sqrt(2 L_C / T_n)."""
    return math.inf if work.hop_seconds == 0 else math.sqrt(2 * central_seconds(work) / work.hop_seconds)


def best_length(work: RingWork, most: int, goal: Goal = "latency") -> int:
    """The best length of at most `most` units, in closed form: the better whole number beside min(N_1, N_2)."""
    if goal == "throughput":
        return most
    exact = min(crossing_length(work), turning_length(work))
    if exact >= most:
        return most
    candidates = (max(1, math.floor(exact)), min(most, max(1, math.ceil(exact))))
    return min(candidates, key=lambda units: latency_seconds(work, units))


def searched_length(work: RingWork, most: int, goal: Goal = "latency") -> int:
    """The same by trying every length."""
    lengths = range(1, most + 1)
    if goal == "throughput":
        return max(lengths, key=lambda units: output_ratio(work, units))
    return min(lengths, key=lambda units: latency_seconds(work, units))


def waiting_seconds(work: RingWork, units: int, rows_per_second: float) -> float:
    """How long a row waits on average for those before it, if rows come at random; infinite where they are too many.

    Equation 5 has no queue. Here a ring serves a row in L_PSP / N seconds, one after another (equation 3), and rows
    come in a Poisson process: the mean wait of a queue with constant service.
    """
    service = 1 / service_rate(work, units)
    load = rows_per_second * service
    return math.inf if load >= 1 else service * load / (2 * (1 - load))


def queued_latency(work: RingWork, units: int, rows_per_second: float) -> float:
    """The mean time from a new row to its results, if rows come at random; infinite where they are too many.

    Unlike equation 5 it has queues, and hops that comparing does not hide: in every round a result is found half-way
    round the ring on average, after so many hops, and its row waited for others.
    """
    rounds, half = len(work.lookups), units / 2 if units > 1 else 0.0
    moving = half * (work.hop_seconds + work.send_seconds)
    return rounds * (moving + waiting_seconds(work, units, rows_per_second)) + ring_seconds(work, units) / units


def queued_length(work: RingWork, most: int, rows_per_second: float) -> int:
    """The length with the least latency, queues included; all units where no length keeps up."""
    best = min(range(1, most + 1), key=lambda units: queued_latency(work, units, rows_per_second))
    return best if math.isfinite(queued_latency(work, best, rows_per_second)) else most


def mean_latency(works: Sequence[RingWork], lengths: Sequence[int]) -> float:
    """The latency of all streams' new rows, on rings of these lengths, weighted by their rates."""
    total = sum(work.rows_per_second for work in works)
    return sum(work.rows_per_second * latency_seconds(work, lengths) for work in works) / total


def initial_lengths(works: Sequence[RingWork], most: int, goal: Goal = "latency") -> tuple[int, ...]:
    """A length for each stream's ring where streams differ (section 5.4); `works` has one sequence for each head.

    Streams are taken by what a probing row finds in them, the fewest first. Each gets the best length, if those after
    it had the same: what has the most weight is decided when most is known. Then each is changed, with all others
    known, as long as that makes the latency shorter.
    """
    streams = len(works)
    if goal == "throughput":
        return (most,) * streams
    ascending = sorted(range(streams), key=lambda stream: _mean_matches(works, stream))
    lengths = (most,) * streams
    for place in range(streams):
        lengths = _best_for(works, lengths, ascending[place:], most)
    while True:
        better = lengths
        for stream in ascending:
            better = _best_for(works, better, (stream,), most)
        if mean_latency(works, better) >= mean_latency(works, lengths):
            return lengths
        lengths = better


def _best_for(works: Sequence[RingWork], lengths: tuple[int, ...], open_: Sequence[int], most: int) -> tuple[int, ...]:
    """The best of the lengths that give the open streams the same one.

    The latency is convex in it: the best is the first that one unit more does not improve.
    """

    def with_length(length: int) -> tuple[int, ...]:
        return tuple(length if stream in open_ else lengths[stream] for stream in range(len(works)))

    def improves(length: int) -> bool:
        return mean_latency(works, with_length(length + 1)) < mean_latency(works, with_length(length))

    return with_length(1 + bisect_left(range(1, most), True, key=lambda length: not improves(length)))


def _mean_matches(works: Sequence[RingWork], stream: int) -> float:
    """The rows of a stream times its mean selectivity over all sequences."""
    found = [lookup for work in works for lookup in work.lookups if lookup.stream == stream]
    rows = sum(lookup.stored_rows for lookup in found) / len(found)
    return rows * sum(lookup.selectivity for lookup in found) / len(found)
