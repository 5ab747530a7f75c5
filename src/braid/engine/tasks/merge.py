"""Merging blocks inside a probe task: each slot rewrites the rows of its own units as one sorted block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from braid.control.merging import Merge
from braid.engine.tasks.segments import SegmentStore, column_types, possible_rows
from braid.engine.tasks.storing import placed_rows, sorted_segments
from braid.kernels.rows import Rows, row_groups
from braid.kernels.times import row_times
from braid.placement.units import Placed, is_primary
from braid.plan.layout import Layout
from braid.state.blocks import BlockWriter, Segment
from braid.state.files import Files
from braid.state.manifest import Block, stored_block


def merge_blocks(
    merge: Merge,
    layout: Layout,
    owned: set[int],
    inputs: list[Block],
    store: SegmentStore,
    files: Files,
    path: str,
) -> Block | None:
    """The merged block of this slot's units; None if none of their rows is still needed.

    The block lists all units of the slot, also those without rows, so that the blocks of a slot can be merged again.
    """
    by_place: dict[tuple[int, int], list[tuple[Rows, int]]] = defaultdict(list)
    for segment, rows in _useful_rows(merge, owned, store):
        by_place[segment.unit, segment.route].append((rows, segment.length))
    pieces = (
        (rows, Placed(np.full(rows.length, unit), np.full(rows.length, route)))
        for (unit, route), parts in sorted(by_place.items())
        for rows in row_groups(parts)
    )
    return _write(merge, layout, tuple(sorted(owned)), pieces, inputs, store, files, path)


def move_blocks(
    merge: Merge,
    layouts: tuple[Layout, Layout],
    owned: set[int],
    inputs: list[Block],
    store: SegmentStore,
    files: Files,
    path: str,
) -> Block | None:
    """The rows of this slot's units in the old layout, placed by the new layout; of several copies one is moved."""
    old, new = layouts
    primary = {unit for unit in owned if is_primary(old, merge.stream, unit)}

    def pieces() -> Iterator[tuple[Rows, Placed]]:
        salt = inputs[0].last_step if inputs else 0
        for _, rows in _useful_rows(merge, primary, store):
            yield rows, placed_rows(store.plan, new, merge.stream, rows, salt)
            salt += rows.length

    return _write(merge, new, None, pieces(), inputs, store, files, path)


def _write(
    merge: Merge,
    layout: Layout,
    units: tuple[int, ...] | None,
    pieces: Iterator[tuple[Rows, Placed]],
    inputs: list[Block],
    store: SegmentStore,
    files: Files,
    path: str,
) -> Block | None:
    writer = BlockWriter(files, path)
    plan = store.plan
    # Rows that are buffered for their order probe later, from this block.
    reaching = layout.ranges is not None and (plan.ordered or bool(plan.row_based))
    for rows, placed in pieces:
        for segment in sorted_segments(plan, merge.stream, rows, placed, reaching):
            writer.add(*segment)
    written = writer.close()
    if written is None:
        return None
    steps = min(block.first_step for block in inputs), max(block.last_step for block in inputs)
    return stored_block(written, merge.stream, steps, layout.epoch, units, merge.buffered)


def _useful_rows(merge: Merge, owned: set[int], store: SegmentStore) -> Iterator[tuple[Segment, Rows]]:
    types = column_types(store.plan, merge.stream)
    for file in merge.files:
        for segment in store.reader(file).segments_of(owned):
            rows = possible_rows(store.plan, merge.stream, store.rows(file, segment, types))
            if merge.oldest_us is not None and segment.min_time < merge.oldest_us:
                times = row_times(store.plan, merge.stream, rows)
                rows = rows.take(np.flatnonzero(times >= merge.oldest_us))
            if rows.length:
                yield segment, rows
