"""Merges and moves of blocks by their units and routes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from braid.engine.tasks.lookup.row_ranges import Part
from braid.engine.tasks.merging.slices import sliced_parts
from braid.engine.tasks.merging.slot_merge import Pieces, SlotMerge, at_places
from braid.engine.tasks.storing import placed_rows
from braid.kernels.rows import Rows, row_groups
from braid.placement.units import is_primary
from braid.plan.join import step_column
from braid.plan.layout import Layout
from braid.state.manifest import Block


def merge_blocks(slot_merge: SlotMerge, layout: Layout) -> Block | None:
    """The merged block of this slot's units; None if none of their rows is still needed.

    The last slice of a merge copies the segments of the slices before it.
    """
    by_place: dict[tuple[int, int], list[Part]] = defaultdict(list)
    for part in sliced_parts(slot_merge, slot_merge.owned):
        by_place[part.segment.unit, part.segment.route].append(part)
    writer = slot_merge.open_writer()
    for block in slot_merge.merge.copied:
        reader = slot_merge.store.reader(block.file)
        for segment in reader.segments_of(slot_merge.owned):
            writer.copy(segment, reader)
    together = {place: slot_merge.useful_rows(parts) for place, parts in by_place.items()}
    return slot_merge.write(writer, layout, slot_merge.units, at_places(together))


def move_blocks(slot_merge: SlotMerge, old: Layout, new: Layout) -> Block | None:
    """The rows of this slot's units in the old layout, placed by the new layout; of several copies one is moved."""
    merge, inputs = slot_merge.merge, slot_merge.inputs
    primary = _primary(sliced_parts(slot_merge, slot_merge.owned), old, slot_merge.stream)

    def pieces() -> Pieces:
        salt = inputs[0].last_step + merge.first if inputs else 0
        for rows in slot_merge.useful_rows(primary):
            yield rows, placed_rows(slot_merge.plan, new, slot_merge.stream, rows, salt)
            salt += rows.length

    return slot_merge.write(slot_merge.open_writer(), new, None, pieces())


def gather_placed(slot_merge: SlotMerge, old: Layout, new: Layout) -> Block | None:
    """The block of this slot's units in the new layout, with rows that were stored under the old one.

    Every slot places all rows, in the same order, so that each row is in the block of one slot; of several copies one
    counts.
    """
    by_place: dict[tuple[int, int], list[Rows]] = defaultdict(list)
    salt = slot_merge.inputs[0].last_step if slot_merge.inputs else 0
    primary = _primary(sliced_parts(slot_merge, None), old, slot_merge.stream)
    for found_rows in slot_merge.useful_rows(primary):
        rows = _with_step(slot_merge, found_rows)
        placed = placed_rows(slot_merge.plan, new, slot_merge.stream, rows, salt)
        salt += rows.length
        own = np.isin(placed.units, list(slot_merge.owned))
        for unit, route in set(zip(placed.units[own].tolist(), placed.routes[own].tolist(), strict=True)):
            chosen = np.flatnonzero((placed.units == unit) & (placed.routes == route))
            by_place[unit, route].append(rows.take(chosen))
    together = {place: row_groups(parts) for place, parts in by_place.items()}
    return slot_merge.write(slot_merge.open_writer(), new, slot_merge.units, at_places(together))


def _primary(parts: Iterator[Part], layout: Layout, stream: int) -> Iterator[Part]:
    """Of several copies of a row one."""
    return (part for part in parts if is_primary(layout, stream, part.segment.unit, part.segment.route))


def _with_step(slot_merge: SlotMerge, rows: Rows) -> Rows:
    """Rows that were stored without their step, where the plan asks for it: buffered ones count as of the newest.

    All others were admitted in some step before.
    """
    plan, stream = slot_merge.plan, slot_merge.stream
    name = step_column(stream)
    if not plan.stamped or name in rows.columns or stream >= len(plan.streams):
        return rows
    step = max(block.last_step for block in slot_merge.inputs) if slot_merge.merge.buffered else 0
    return Rows({**rows.columns, name: pa.array(np.full(rows.length, step, np.int64))}, rows.types, rows.length)
