"""The rows of a unit that a step stores: those it has read, those that move from another layout, and merged blocks."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from braid.engine.commands import SiteCommand
from braid.engine.reports import MergeReport
from braid.engine.tasks.merging.blocks import gather_placed, merge_blocks
from braid.engine.tasks.merging.slot_merge import SlotMerge, merge_order, rewritten_rows
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.task import SlotTask
from braid.placement.sites import site_of
from braid.placement.units import is_primary
from braid.plan.layout import Layout
from braid.state.manifest import Block, Merge


@dataclass(frozen=True)
class Stores:
    """The open blocks of a unit's site, and those in storage that all sites share."""

    own: SegmentStore
    shared: SegmentStore


def gather(task: SlotTask, command: SiteCommand, unit: int, name: str, stores: Stores) -> tuple[Block, ...]:
    """The rows of this unit's streams in ingest files and in blocks of other layouts, sorted and stored.

    Those are in storage that all sites share. Only blocks of earlier sites are in the storage of their site.
    """
    layouts, site = {layout.epoch: layout for layout in command.common.layouts}, site_of(command.layout, unit)
    found = []
    for number, gather in enumerate(command.gathers):
        if command.layout.homes[gather.stream] != site:
            continue
        inputs = [block for block in (*command.starting, *command.blocks) if block.file in gather.files]
        place = task.block_path(f"{name}-g{number}.block", command.layout.sites[site].name)
        order, old = merge_order(gather, command.common.sort_order(gather.stream)), layouts[gather.epoch]
        if gather.into is None:
            block = merge_blocks(SlotMerge(gather, order, {unit}, inputs, stores.shared, place), command.layout)
        else:
            store = stores.own if old.kind == "sites" else stores.shared
            gather, inputs = _primary(gather, old, inputs)
            block = gather_placed(SlotMerge(gather, order, {unit}, inputs, store, place), old, command.layout)
        if block is not None:
            found.append(block)
    return tuple(found)


def _primary(gather: Merge, old: Layout, inputs: list[Block]) -> tuple[Merge, list[Block]]:
    """What is gathered without the blocks that have copies alone: they may be where this site cannot read them."""
    own = [b for b in inputs if b.units is None or any(is_primary(old, b.stream, unit, unit) for unit in b.units)]
    if old.kind != "sites":
        return gather, inputs
    return replace(gather, files=tuple(block.file for block in own)), own


def merge_own(
    task: SlotTask, command: SiteCommand, unit: int, name: str, store: SegmentStore
) -> tuple[MergeReport, ...]:
    """Carry out the merges of this unit's blocks."""
    found = []
    units = {block.file: block.units for block in command.blocks}
    own = (merge for merge in command.merges if units[merge.files[0]] == (unit,))
    for position, merge in enumerate(own):
        store.use([part.file for part in merge.copied], command.step)
        began = time.monotonic()
        inputs = [block for block in command.blocks if block.file in merge.files]
        place = task.block_path(f"{name}-m{position}.block", command.layout.sites[site_of(command.layout, unit)].name)
        order = merge_order(merge, command.common.sort_order(merge.stream))
        block = merge_blocks(SlotMerge(merge, order, {unit}, inputs, store, place), command.layout)
        rows, seconds = rewritten_rows(merge, block), time.monotonic() - began
        found.append(MergeReport(merge.number, merge.stream, rows, seconds, block))
    return tuple(found)
