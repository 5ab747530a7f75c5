"""Merging blocks inside a probe task: each slot rewrites the rows of its own units as one sorted block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from braid.control.merging import Merge
from braid.kernels.rows import Rows, concat_rows
from braid.placement.units import Placed
from braid.runtime.tasks.ingest import sorted_segments
from braid.runtime.tasks.segments import SegmentStore, column_types
from braid.state.blocks import BlockWriter, Segment
from braid.state.files import Files
from braid.state.manifest import Block


def merge_blocks(
    merge: Merge, owned: set[int], inputs: list[Block], store: SegmentStore, files: Files, path: str
) -> Block | None:
    """The merged block of this slot's units, or None when it holds no row of theirs that is still useful.

    It is labelled with all of them, also those without rows: blocks of one slot must stay mergeable with each other.
    """
    by_place: dict[tuple[int, int], list[Rows]] = defaultdict(list)
    for segment, rows in _useful_rows(merge, owned, store):
        by_place[segment.unit, segment.route].append(rows)
    if not by_place:
        return None
    with BlockWriter(files, path) as writer:
        for (unit, route), parts in sorted(by_place.items()):
            rows = concat_rows(parts)
            placed = Placed(np.full(rows.length, unit), np.full(rows.length, route))
            for piece in sorted_segments(store.plan, merge.stream, rows, placed):
                writer.add(*piece)
    return Block(
        file=path.rsplit("/", 1)[1],
        stream=merge.stream,
        first_step=min(block.first_step for block in inputs),
        last_step=max(block.last_step for block in inputs),
        epoch=merge.epoch,
        units=tuple(sorted(owned)),
        rows=writer.rows,
        size=writer.size,
        min_time=min(segment.min_time for segment in writer.segments),
        max_time=max(segment.max_time for segment in writer.segments),
    )


def _useful_rows(merge: Merge, owned: set[int], store: SegmentStore) -> Iterator[tuple[Segment, Rows]]:
    types = column_types(store.plan, merge.stream)
    for file in merge.files:
        for segment in store.reader(file).segments_of(owned):
            rows = store.rows(file, segment, types)
            if merge.oldest_us is not None and segment.min_time < merge.oldest_us:
                times = rows.times(store.plan.streams[merge.stream].time)
                rows = rows.take(np.flatnonzero(times >= merge.oldest_us))
            if rows.length:
                yield segment, rows
