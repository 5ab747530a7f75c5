"""In-order results: how far they may leave, and whether rows or results wait for it.

A result leaves once every stream that is not idle has reached its time. Sync-Filter holds rows until then and looks
them up afterwards; Filter-Order looks them up at once and holds what they give. Adaptive starts as the first and
becomes the second while lookups take so much of the time that overlapping them with the waiting pays.

For two streams with λ1 <= λ2 rows a second, a window of |w| seconds and c seconds to compare two rows, the lookups of
the faster stream, which waits, take c·|w|·λ1·λ2 of the time; holding results instead saves x / (1 + x) of the average
response time. Of more streams all wait but the slowest, so x is the share of time that the lookups of all others
take. With indexes a lookup does not compare all rows: x is measured, as busy seconds a second and core.
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
RETURNING = 0.7
"""Adaptive goes back to holding rows only below this share of alpha, so that it does not flutter around it."""
ENOUGH_SECONDS = 0.5
# While rows are held, lookups come in bursts, one whenever the frontier moves: what is remembered must hold several.
MEMORY_SECONDS = 10.0
MEMORY_TURNS = 5.0


@dataclass(frozen=True)
class Ordering:
    """How a query keeps its results in order."""

    policy: Policy
    alpha: float


@dataclass(frozen=True)
class OrderDecision:
    """What a step does for the order: what is held, how far results may leave, or that everything does."""

    buffered_kind: Buffered
    frontier_us: int | None
    flush: bool
    adaptations: tuple[str, ...] = ()


def nothing_buffered(streams: int) -> OrderState:
    """The order before the first step."""
    return OrderState(None, "rows", (), (), Pace(0.0, (0.0,) * streams, (0.0,) * streams, 0.0, 0.0))


def decide_order(
    plan: JoinPlan,
    ordering: Ordering,
    order_state: OrderState,
    marks: Sequence[Mark],
    idle: tuple[bool, ...],
    slots: int,
) -> OrderDecision:
    """The turn of a step after which the streams have reached `marks`. When all are idle nothing waits for them.

    Results that leave by whole times wait until every stream has passed them. Which rows are the last at a time is
    known only then: so long rows wait, whatever the policy.
    """
    buffered_kind: Buffered
    said: tuple[str, ...]
    times = decide_times(plan, marks, idle)
    reached = [mark for mark in times.watermarks if mark is not None]
    frontier = min(reached) if len(reached) == len(times.watermarks) else None
    if plan.per_timestamp and frontier is not None:
        frontier -= 1
    buffered_kind, said = ("rows", ()) if plan.row_based else choose_buffered(ordering, order_state, slots)
    return OrderDecision(buffered_kind, later(order_state.frontier_us, frontier), all(times.idle), said)


def choose_buffered(ordering: Ordering, order_state: OrderState, slots: int) -> tuple[Buffered, tuple[str, ...]]:
    """What the policy holds, and what it says if that changed."""
    if ordering.policy != "adaptive":
        return ("rows" if ordering.policy == "sync-filter" else "results"), ()
    share = lookup_share(order_state.pace, slots)
    if share is None:
        return order_state.buffered_kind, ()
    if order_state.buffered_kind == "rows" and share >= ordering.alpha:
        return "results", (f"holds results: lookups take {share:.2f} of the time, alpha is {ordering.alpha:g}",)
    if order_state.buffered_kind == "results" and share < RETURNING * ordering.alpha:
        limit = f"{RETURNING:g} of alpha {ordering.alpha:g}"
        return "rows", (f"holds rows: lookups take {share:.2f} of the time, less than {limit}",)
    return order_state.buffered_kind, ()


def lookup_share(pace: Pace, slots: int) -> float | None:
    """The share of time that lookups of all streams but the slowest take; None before enough was seen."""
    if pace.seconds < ENOUGH_SECONDS:
        return None
    slowest = min(range(len(pace.rows)), key=lambda stream: pace.rows[stream])
    busy = sum(seconds for stream, seconds in enumerate(pace.busy) if stream != slowest)
    return busy / (pace.seconds * slots)


def modelled_share(pace: Pace, window_us: int | None, slots: int) -> float | None:
    """c·|w|·λ1·λ2 of two streams, c being what comparing two rows took, slots sharing it; None if it has no meaning."""
    if window_us is None or len(pace.rows) != 2 or not pace.compared or pace.seconds < ENOUGH_SECONDS:
        return None
    cost = sum(pace.busy) / pace.compared
    first, second = (rows / pace.seconds for rows in pace.rows)
    return cost * window_us / 1e6 * first * second / slots


def blend(
    pace: Pace, *, seconds: float, rows: Sequence[int], busy: Sequence[float], compared: int, moved: bool
) -> Pace:
    """A step is added; if it has moved the frontier all that was seen fades, for the time since it moved last.

    So what is remembered between two moves has one weight, bursts and the quiet before them alike.
    """
    unmoved = pace.unmoved_seconds + seconds
    kept = exp(-min(unmoved / MEMORY_SECONDS, 1 / MEMORY_TURNS)) if moved else 1.0
    return Pace(
        seconds=(pace.seconds + seconds) * kept,
        rows=tuple((old + new) * kept for old, new in zip(pace.rows, rows, strict=True)),
        busy=tuple((old + new) * kept for old, new in zip(pace.busy, busy, strict=True)),
        compared=(pace.compared + compared) * kept,
        unmoved_seconds=0.0 if moved else unmoved,
    )
