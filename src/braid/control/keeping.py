"""Which stored blocks a step keeps, which it drops, and which it writes anew."""

from __future__ import annotations

from collections.abc import Sequence

from braid.control.merging import Merge, decide_merges, decide_moves
from braid.control.watermarks import is_expired, lookup_marks
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, Manifest

MERGE_ROWS_A_STEP = 1_000_000

Marks = tuple[int | None, ...]


def split_expired(
    plan: JoinPlan, manifest: Manifest, watermarks: Sequence[int | None]
) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The blocks that may still be needed under these watermarks, and those that are not."""
    marks, counted = useful_marks(manifest, watermarks), outnumbered(manifest)
    live: list[Block] = []
    gone: list[Block] = []
    for block in manifest.blocks:
        old = is_expired(plan, block.stream, block.max_time, marks)
        few = block.max_time < counted.get(block.stream, block.max_time)
        (gone if not block.buffered and (old or few) else live).append(block)
    return tuple(live), tuple(gone)


def decide_rewrites(
    plan: JoinPlan,
    manifest: Manifest,
    live: Sequence[Block],
    layouts: Sequence[Layout],
    watermarks: Sequence[int | None],
) -> tuple[Merge, ...]:
    """Blocks to be written anew: those that move to another layout, and small ones that become one."""
    marks = useful_marks(manifest, watermarks)
    moves = decide_moves(plan, live, layouts, marks, MERGE_ROWS_A_STEP)
    moving = {file for move in moves for file in move.files}
    resting = [block for block in live if block.file not in moving]
    archive, counted = layouts[-1].archive_us, outnumbered(manifest)
    return (*moves, *decide_merges(plan, resting, marks, MERGE_ROWS_A_STEP, archive, counted))


def useful_marks(manifest: Manifest, watermarks: Sequence[int | None]) -> Marks:
    """The time below which no row of each stream is still to be looked up."""
    order_state = manifest.order_state
    return lookup_marks(watermarks, manifest.blocks, None if order_state is None else order_state.frontier_us)


def outnumbered(manifest: Manifest) -> dict[int, int]:
    """Of streams whose windows count rows, the time below which no row can be among the last any more."""
    rank_indexes = () if manifest.order_state is None else manifest.order_state.rank_indexes
    return {rank_index.stream: rank_index.first_us for rank_index in rank_indexes if rank_index.first_us is not None}
