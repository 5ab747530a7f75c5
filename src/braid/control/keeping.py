"""Which stored blocks a step keeps, which it drops, and which it rewrites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from braid.control.compaction import Compaction
from braid.control.memory.separating import Hidden, returns, separations
from braid.control.merging import due_merges, due_moves, latest, oldest_useful, reassignments
from braid.control.slicing.terms import interval_of, oldest_watermarks
from braid.control.watermarks import lookup_marks
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, DeltaRecord, Manifest, Merge
from braid.state.paging.payload_files import PayloadFile
from braid.state.terms import Term

Marks = tuple[int | None, ...]
# A payload file is an entry in every manifest and a file to map; reading a payload once more costs less than these do
# for ever. Tests lower it.
MOST_PAYLOAD_STEPS = 64


def split_expired(plan: JoinPlan, manifest: Manifest, watermarks: Marks) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The blocks that may still be needed under these watermarks, and those that are not."""
    limits: dict[int, int | None] = {}
    live: list[Block] = []
    expired: list[Block] = []
    for block in manifest.blocks:
        if block.stream not in limits:
            limits[block.stream] = departed_below(plan, manifest, watermarks, block.stream)
        limit = limits[block.stream]
        (live if block.buffered or limit is None or block.max_time >= limit else expired).append(block)
    return tuple(live), tuple(expired)


def departed_below(plan: JoinPlan, manifest: Manifest, watermarks: Marks, stream: int) -> int | None:
    """The time below which no row of a stream or intermediate result is needed; None if every row may be."""
    useful = oldest_useful(plan, stream, useful_marks(manifest, watermarks))
    return latest(useful, outranked_below(manifest).get(stream))


def decide_rewrites(
    plan: JoinPlan,
    manifest: Manifest,
    live: Sequence[Block],
    layouts: Sequence[Layout],
    watermarks: Marks,
    slots: int,
    hidden: Hidden | None = None,
) -> tuple[Merge, ...]:
    """The blocks to rewrite: those that move to another layout, or are no longer apart, and small ones that are merged.

    Rows that were stored for other keys or sort orders are not merged: their layout says how they are sorted. Nor are
    blocks that an unfinished term separates. `hidden` rows are those of the manifest's pushes, unless given.
    """
    marks, hidden = useful_marks(manifest, watermarks), hidden or Hidden(manifest.pushes)
    unfinished = continued_merges(manifest, live, layouts, hidden)
    being_rewritten = {file for begun in unfinished for file in begun.files}
    free = [block for block in live if block.file not in being_rewritten]
    moves = returns(hidden, free, layouts, partial(oldest_useful, plan, watermarks=marks))
    being_rewritten |= {file for move in moves for file in move.files}
    apart = {block.file: hidden.groups(block) for block in live}
    for move in due_moves(plan, [block for block in free if block.file not in being_rewritten], layouts, marks):
        moves.append(replace(move, apart=apart[move.files[0]]))
    being_rewritten |= {file for move in moves for file in move.files}
    alike = _alike(layouts)
    others = [b for b in live if b.file not in being_rewritten and b.epoch in alike and not b.apart]
    interval = interval_of(manifest.terms)
    compaction = Compaction(manifest, live, layouts, len(plan.streams), slots, interval)
    archive, outranked = layouts[-1].archive_us, outranked_below(manifest)
    reassigned = reassignments(layouts)
    merges = due_merges(plan, others, marks, compaction.largest, archive, outranked, interval, reassigned)
    return compaction.choose(unfinished, moves, merges)


def taking_payloads(merges: Sequence[Merge], blocks: Sequence[Block]) -> tuple[Merge, ...]:
    """Merges that span many steps store rows with their payloads.

    So the number of payload files does not grow with the window, and payloads of rows that are gone do not stay.
    """
    addressed = {block.file: block for block in blocks if block.addressed}
    found = []
    for merge in merges:
        own = [addressed[file] for file in merge.files if file in addressed]
        steps = max(b.last_step for b in own) - min(b.first_step for b in own) + 1 if own else 0
        found.append(replace(merge, whole=steps > MOST_PAYLOAD_STEPS))
    return tuple(found)


def needed_payloads(
    payloads: Sequence[PayloadFile], blocks: Sequence[Block], terms: Sequence[Term], step: int
) -> tuple[tuple[PayloadFile, ...], tuple[str, ...]]:
    """The payload files that rows still have addresses in after a step, and the names of the others.

    An addressed block may have rows of all its steps. Rows under way in a term were stored when it began.
    """
    covered: dict[int, set[int]] = {}
    for block in blocks:
        if block.addressed:
            covered.setdefault(block.stream, set()).update(range(block.first_step, block.last_step + 1))
    oldest = min((term.step for term in terms), default=None)
    kept, gone = list[PayloadFile](), list[str]()
    for payload in payloads:
        if payload.step in covered.get(payload.stream, ()):
            kept.append(payload)
            continue
        since = payload.unneeded_since if payload.unneeded_since is not None else step
        if oldest is not None and oldest <= since:
            kept.append(payload if payload.unneeded_since == since else replace(payload, unneeded_since=since))
        else:
            gone.append(payload.file)
    return tuple(kept), tuple(gone)


def put_apart(
    plan: JoinPlan, manifest: Manifest, delta: DeltaRecord, live: Sequence[Block], layouts: Sequence[Layout]
) -> tuple[Merge, ...]:
    """The merges that put the rows of the groups apart that a step pushes, before its lookups."""
    marks = useful_marks(manifest, delta.watermarks)
    return separations(delta.pushed, live, layouts, partial(oldest_useful, plan, watermarks=marks))


def continued_merges(
    manifest: Manifest, live: Sequence[Block], layouts: Sequence[Layout], hidden: Hidden | None = None
) -> tuple[Merge, ...]:
    """The unfinished merges that can be continued; the others are given up, and their parts dropped.

    A merge ends without result if one of its blocks expires or is rewritten otherwise, if the stored order changes, if
    the layout that its rows move to is replaced, if other units own its partition groups, or if what is `hidden` of its
    blocks has changed.
    """
    blocks, newest = {block.file: block for block in live}, layouts[-1].epoch
    alike, hidden = _alike(layouts) - reassignments(layouts).keys(), hidden or Hidden(manifest.pushes)
    return tuple(
        begun
        for begun in manifest.unfinished
        if blocks.keys() >= set(begun.files)
        and (begun.epoch in alike if begun.into is None else begun.into == newest)
        and all(hidden.groups(blocks[file]) == begun.apart for file in begun.files)
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
