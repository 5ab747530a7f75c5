"""Which blocks of the aggregate state are compacted, and which distinct rows may be forgotten.

A step's block is merged with earlier generations, newest first, while each is not much larger than all merged so far.
So a state of n rows has O(log n) blocks, and a row is written O(log n) times.
"""

from __future__ import annotations

from collections.abc import Sequence

from braid.plan.join import JoinPlan
from braid.state.manifest import AggregateState

# A generation at most twice as large as the rows merged so far is merged too: sizes then grow geometrically.
COMPACTION_RATIO = 2
# The number of parts is fixed with the state. Four per slot keep all slots busy when the cluster grows up to fourfold.
PARTS_PER_SLOT = 4
MIN_PARTS = 8


def new_aggregate(slots: int) -> AggregateState:
    """An empty state, in enough parts for a cluster that grows."""
    return AggregateState(parts=max(MIN_PARTS, PARTS_PER_SLOT * slots))


def decide_compaction(aggregate: AggregateState, fresh_rows: int) -> tuple[int, ...]:
    """The generations that a step's block is merged with, given an upper bound of its own rows."""
    rows: dict[int, int] = {}
    for block in aggregate.blocks:
        rows[block.generation] = rows.get(block.generation, 0) + block.rows
    chosen: list[int] = []
    merged_rows = max(1, fresh_rows)
    for generation in sorted(rows, reverse=True):
        if rows[generation] > COMPACTION_RATIO * merged_rows:
            break
        merged_rows += rows[generation]
        chosen.append(generation)
    return tuple(chosen)


def forgettable(plan: JoinPlan, watermarks: Sequence[int | None]) -> int | None:
    """The time below which no result can repeat a known distinct row; None if every row may be repeated.

    A row that contains its result time can repeat while some stream may still bring a row that old. A row that contains
    the event time of a stream can repeat while a row of that age may still arrive, or may still be joined.
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
    """The same for ordered results, where a known row has the result time of its first occurrence.

    Later results are not older than the frontier. A result that contains the event time of a stream's row is at most
    the retention of that row newer than it, and the row is not newer than its first result.
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
