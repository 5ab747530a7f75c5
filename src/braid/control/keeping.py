"""Which stored blocks a step keeps, which it drops, and which it rewrites."""

from __future__ import annotations

from collections.abc import Sequence

from braid.control.compaction import Compaction
from braid.control.merging import due_merges, due_moves, latest, oldest_useful, reassignments
from braid.control.slicing.terms import interval_of, oldest_watermarks
from braid.control.watermarks import lookup_marks
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, Manifest, Merge

Marks = tuple[int | None, ...]


def split_expired(plan: JoinPlan, manifest: Manifest, watermarks: Marks) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The blocks that may still be needed under these watermarks, and those that are not."""
    marks, outranked = useful_marks(manifest, watermarks), outranked_below(manifest)
    limits: dict[int, int | None] = {}
    live: list[Block] = []
    expired: list[Block] = []
    for block in manifest.blocks:
        if block.stream not in limits:
            limits[block.stream] = latest(oldest_useful(plan, block.stream, marks), outranked.get(block.stream))
        limit = limits[block.stream]
        (live if block.buffered or limit is None or block.max_time >= limit else expired).append(block)
    return tuple(live), tuple(expired)


def decide_rewrites(
    plan: JoinPlan,
    manifest: Manifest,
    live: Sequence[Block],
    layouts: Sequence[Layout],
    watermarks: Marks,
    slots: int,
) -> tuple[Merge, ...]:
    """The blocks to rewrite: those that move to another layout, and small ones that are merged.

    Rows that were stored for other keys or sort orders are not merged: their layout says how they are sorted. Nor are
    blocks that an unfinished term separates.
    """
    marks = useful_marks(manifest, watermarks)
    unfinished = continued_merges(manifest, live, layouts)
    being_rewritten = {file for begun in unfinished for file in begun.files}
    moves = due_moves(plan, [block for block in live if block.file not in being_rewritten], layouts, marks)
    being_rewritten |= {file for move in moves for file in move.files}
    alike = _alike(layouts)
    others = [block for block in live if block.file not in being_rewritten and block.epoch in alike]
    interval = interval_of(manifest.terms, manifest.pushes)
    compaction = Compaction(manifest, live, layouts, len(plan.streams), slots, interval)
    archive, outranked = layouts[-1].archive_us, outranked_below(manifest)
    reassigned = reassignments(layouts)
    merges = due_merges(plan, others, marks, compaction.largest, archive, outranked, interval, reassigned)
    return compaction.choose(unfinished, moves, merges)


def continued_merges(manifest: Manifest, live: Sequence[Block], layouts: Sequence[Layout]) -> tuple[Merge, ...]:
    """The unfinished merges that can be continued; the others are given up, and their parts dropped.

    A merge ends without result if one of its blocks expires, if the stored order changes, if the layout that its
    rows move to is replaced, or if other units own its partition groups.
    """
    files, newest = {block.file for block in live}, layouts[-1].epoch
    alike = _alike(layouts) - reassignments(layouts).keys()
    return tuple(
        begun
        for begun in manifest.unfinished
        if files.issuperset(begun.files) and (begun.epoch in alike if begun.into is None else begun.into == newest)
    )


def _alike(layouts: Sequence[Layout]) -> set[int]:
    """The epochs whose rows are stored in the same order as those of the newest."""
    return {layout.epoch for layout in layouts if layout.stored_as == layouts[-1].stored_as}


def useful_marks(manifest: Manifest, watermarks: Marks) -> Marks:
    """The time below which no row of each stream is still to be looked up."""
    order_state = manifest.order_state
    watermarks = oldest_watermarks(manifest.terms, watermarks, manifest.pushes)
    return lookup_marks(watermarks, manifest.blocks, None if order_state is None else order_state.frontier_us)


def outranked_below(manifest: Manifest) -> dict[int, int]:
    """For each stream with a row-based window, the time below which rows are outside every future window."""
    rank_indexes = () if manifest.order_state is None else manifest.order_state.rank_indexes
    return {rank_index.stream: rank_index.first_us for rank_index in rank_indexes if rank_index.first_us is not None}
