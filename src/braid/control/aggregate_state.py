"""Which blocks of a view to write anew, and what it may forget.

A step's own block takes in those before it while they are not much larger than all it has taken in, so a view of n
rows has O(log n) blocks and a row is written O(log n) times.
"""

from __future__ import annotations

from collections.abc import Sequence

from braid.plan.join import JoinPlan
from braid.state.manifest import AggregateState

WORTH_ABSORBING = 2
PARTS_A_SLOT = 4
FEWEST_PARTS = 8


def new_aggregate(slots: int) -> AggregateState:
    """An empty view, in enough parts for a cluster that grows a little."""
    return AggregateState(parts=max(FEWEST_PARTS, PARTS_A_SLOT * slots))


def decide_absorbed(aggregate: AggregateState, fresh_rows: int) -> tuple[int, ...]:
    """The generations that a step's block takes in, given an upper bound of its own rows."""
    rows: dict[int, int] = {}
    for block in aggregate.blocks:
        rows[block.generation] = rows.get(block.generation, 0) + block.rows
    chosen: list[int] = []
    taken = max(1, fresh_rows)
    for generation in sorted(rows, reverse=True):
        if rows[generation] > WORTH_ABSORBING * taken:
            break
        taken += rows[generation]
        chosen.append(generation)
    return tuple(chosen)


def forgettable(plan: JoinPlan, watermarks: Sequence[int | None]) -> int | None:
    """The time below which no result can repeat a distinct row that is known; None if any may.

    A row with its result time repeats only while some stream may still bring a row that old. A row with the event time
    of a stream repeats while that stream's row may come, or may still be joined.
    """
    aggregation = plan.aggregation
    if aggregation is None or aggregation.bounded_by is None:
        return None
    limits: list[int | None] = list(watermarks)
    if aggregation.bounded_by != "result":
        own = aggregation.bounded_by
        reaches = plan.retention_us[own]
        limits = [
            watermark if other == own else _earlier(watermark, reaches[other])
            for other, watermark in enumerate(watermarks)
        ]
    known = [limit for limit in limits if limit is not None]
    return min(known) if len(known) == len(limits) else None


def forgettable_in_order(plan: JoinPlan, frontier_us: int | None) -> int | None:
    """The same where results leave in order, and known rows have the result time of their first.

    Later results are not older than the frontier. Those with the event time of a stream's row are no newer than that
    may still be joined, and the row is no newer than the first result of it.
    """
    aggregation = plan.aggregation
    if aggregation is None or aggregation.bounded_by is None or frontier_us is None:
        return None
    if aggregation.bounded_by == "result":
        return frontier_us
    own = aggregation.bounded_by
    reaches = [reach for other, reach in enumerate(plan.retention_us[own]) if other != own]
    known = [reach for reach in reaches if reach is not None]
    return frontier_us - max(0, *known) if len(known) == len(reaches) else None


def _earlier(watermark: int | None, reach: int | None) -> int | None:
    return None if watermark is None or reach is None else watermark - reach
