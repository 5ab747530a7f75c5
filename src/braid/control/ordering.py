"""Ordered results: up to which time they are emitted, and whether rows or results are buffered until then.

A result is emitted once every stream that is not idle has reached its time. Sync-Filter buffers rows until then and
looks them up afterwards. Filter-Order looks them up at once and buffers the results. Adaptive starts with Sync-Filter
and switches to Filter-Order while lookups take so much time that running them during the wait pays.

For two streams with λ1 <= λ2 rows a second, a row of the faster one waits for the slower one for half of 1/λ1 seconds
on average. Lookups that begin only then delay it further, by x of that wait; buffering results instead saves
x / (1 + x) of the average response time. Where rows are looked up and emitted one at a time, a row is delayed by half
of the lookups that begin with it, so x is the share of time that the faster stream's lookups take: c·|w|·λ1·λ2 for a
window of |w| seconds and c seconds to compare two rows. A step emits its results at its end, so all of its lookups
delay every row, by the time of the slot that takes longest: x is twice that. With more streams all but the slowest
wait. With indexes a lookup does not compare all rows, so the delay is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal

from braid.control.watermarks import decide_times, later
from braid.plan.join import JoinPlan
from braid.state.manifest import Mark
from braid.state.order_state import Buffered, OrderState, Pace

Policy = Literal["sync-filter", "filter-order", "adaptive"]
RETURN_FACTOR = 0.7
"""Adaptive returns to buffering rows only below this share of alpha, so that it does not oscillate around alpha."""
# A share measured over less time is too noisy to act on.
MIN_OBSERVED_SECONDS = 0.5
# Rows wait for the slower stream for half of the time between two of its rows, on average.
MEAN_WAIT = 0.5
# While rows are buffered, lookups come in bursts, one per move of the frontier: the memory must cover several bursts.
MEMORY_SECONDS = 10.0
MEMORY_MOVES = 5.0


@dataclass(frozen=True)
class Ordering:
    """The ordering policy of a query; `alpha` is the delay by lookups from which on adaptive buffers results."""

    policy: Policy
    alpha: float


@dataclass(frozen=True)
class OrderDecision:
    """The decision of a step: what is buffered, up to which time results are emitted, or that all are (`flush`)."""

    buffered_kind: Buffered
    frontier_us: int | None
    flush: bool
    adaptations: tuple[str, ...] = ()


def nothing_buffered(streams: int) -> OrderState:
    """The order state before the first step."""
    return OrderState(None, "rows", (), (), Pace(0.0, (0.0,) * streams, (0.0,) * streams, (0.0,) * streams, 0.0, 0.0))


def decide_order(
    plan: JoinPlan,
    ordering: Ordering,
    order_state: OrderState,
    marks: Sequence[Mark],
    idle: tuple[bool, ...],
) -> OrderDecision:
    """The decision of a step after which the streams have reached `marks`. When all are idle, everything is emitted.

    Results that are emitted per timestamp wait until every stream has passed it. For a row-based window, the rows in
    the window at a time are known only then, so rows are buffered whatever the policy.
    """
    buffered_kind: Buffered
    adaptations: tuple[str, ...]
    times = decide_times(plan, marks, idle)
    reached = [mark for mark in times.watermarks if mark is not None]
    frontier = min(reached) if len(reached) == len(times.watermarks) else None
    if plan.per_timestamp and frontier is not None:
        frontier -= 1
    buffered_kind, adaptations = ("rows", ()) if plan.row_based else choose_buffered(ordering, order_state)
    return OrderDecision(buffered_kind, later(order_state.frontier_us, frontier), all(times.idle), adaptations)


def choose_buffered(ordering: Ordering, order_state: OrderState) -> tuple[Buffered, tuple[str, ...]]:
    """What the policy buffers, and the reason if that changed."""
    if ordering.policy != "adaptive":
        return ("rows" if ordering.policy == "sync-filter" else "results"), ()
    delay = lookup_delay(order_state.pace)
    if delay is None:
        return order_state.buffered_kind, ()
    if order_state.buffered_kind == "rows" and delay >= ordering.alpha:
        return "results", (f"buffers results: {_explain(delay)}, alpha is {ordering.alpha:g}",)
    if order_state.buffered_kind == "results" and delay < RETURN_FACTOR * ordering.alpha:
        limit = f"{RETURN_FACTOR:g} of alpha {ordering.alpha:g}"
        return "rows", (f"buffers rows: {_explain(delay)}, less than {limit}",)
    return order_state.buffered_kind, ()


def lookup_delay(pace: Pace) -> float | None:
    """By how much of their wait rows are delayed if they are looked up after it; None before enough was observed."""
    if pace.seconds < MIN_OBSERVED_SECONDS:
        return None
    slowest = min(range(len(pace.rows)), key=lambda stream: pace.rows[stream])
    delays = sum(seconds for stream, seconds in enumerate(pace.delays) if stream != slowest)
    return delays / (MEAN_WAIT * pace.seconds)


def modelled_delay(pace: Pace, window_us: int | None, slots: int) -> float | None:
    """The same of two streams whose pairs are all compared, by slots that share them evenly: 2·c·|w|·λ1·λ2 / slots.

    c is measured. None where the model does not apply.
    """
    if window_us is None or len(pace.rows) != 2 or not pace.compared or pace.seconds < MIN_OBSERVED_SECONDS:
        return None
    cost = sum(pace.busy) / pace.compared
    first, second = (rows / pace.seconds for rows in pace.rows)
    return cost * window_us / 1e6 * first * second / (MEAN_WAIT * slots)


def _explain(delay: float) -> str:
    return f"lookups would delay rows by {delay:.2f} of their wait"


def blend(
    pace: Pace,
    *,
    seconds: float,
    rows: Sequence[int],
    busy: Sequence[float],
    delays: Sequence[float],
    compared: int,
    moved: bool,
) -> Pace:
    """The pace after one more step. If it moved the frontier, all observations decay by the time since the last move.

    So everything observed between two moves has the same weight: the burst of lookups and the quiet time before it.
    """
    unmoved = pace.unmoved_seconds + seconds
    decay = exp(-min(unmoved / MEMORY_SECONDS, 1 / MEMORY_MOVES)) if moved else 1.0
    return Pace(
        seconds=(pace.seconds + seconds) * decay,
        rows=tuple((old + new) * decay for old, new in zip(pace.rows, rows, strict=True)),
        busy=tuple((old + new) * decay for old, new in zip(pace.busy, busy, strict=True)),
        delays=tuple((old + new) * decay for old, new in zip(pace.delays, delays, strict=True)),
        compared=(pace.compared + compared) * decay,
        unmoved_seconds=0.0 if moved else unmoved,
    )
