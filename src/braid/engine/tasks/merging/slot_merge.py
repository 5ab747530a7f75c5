"""A slot's part of a merge: the rows of its inputs that may still join, and the sorted block that it writes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from braid.engine.tasks.lookup.row_ranges import Part
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.storing import sorted_segments
from braid.kernels.rows import Rows, possible_rows
from braid.kernels.times import row_times
from braid.placement.units import Placed, copied_rows
from braid.plan.join import JoinPlan, SortOrder
from braid.plan.layout import Layout
from braid.plan.payloads import payload_column
from braid.plan.stored_types import column_types
from braid.state.blocks import BlockWriter
from braid.state.files import Files
from braid.state.manifest import Block, Merge, stored_block

Pieces = Iterator[tuple[Rows, Placed]]
"""Rows with the units and routes that they are stored under."""


@dataclass(frozen=True)
class SlotMerge:
    """The blocks of one stream that a slot merges, for the units it owns, in a sort order, and where it writes."""

    merge: Merge
    order: SortOrder
    owned: AbstractSet[int]
    inputs: Sequence[Block]
    store: SegmentStore
    place: tuple[Files, str]

    @property
    def plan(self) -> JoinPlan:
        return self.store.plan

    @property
    def stream(self) -> int:
        return self.merge.stream

    @property
    def units(self) -> tuple[int, ...]:
        """All units of the slot, also those without rows, so that the blocks of a slot can be merged again."""
        return tuple(sorted(self.owned))

    def open_writer(self) -> BlockWriter:
        return BlockWriter(*self.place)

    def useful_rows(self, parts: Iterable[Part]) -> Iterator[Rows]:
        """The rows that may still join, of adjacent parts together."""
        oldest_us = self.merge.oldest_us
        for rows in self.store.rows(parts, column_types(self.plan, self.stream)):
            useful = possible_rows(self.plan, self.stream, rows)
            if oldest_us is not None:
                needed = row_times(self.plan, self.stream, useful) >= oldest_us
                useful = useful if needed.all() else useful.take(np.flatnonzero(needed))
            if useful.length:
                yield useful

    def write(self, writer: BlockWriter, layout: Layout, units: tuple[int, ...] | None, pieces: Pieces) -> Block | None:
        """The block of all pieces, stored under a layout; None if it would have no row.

        `units` are those that it may have rows of; None: of any.
        """
        # Rows that are buffered for their order probe later, from this block.
        reaching = layout.ranges is not None and (self.plan.ordered or bool(self.plan.row_based))
        groups = len(layout.group_units)
        for rows, placed in self._with_payloads(pieces) if self.merge.whole else pieces:
            for segment in sorted_segments(self.plan, self.stream, rows, placed, self.order, reaching, groups):
                writer.add(*segment)
        written = writer.close()
        if written is None:
            return None
        steps = min(block.first_step for block in self.inputs), max(block.last_step for block in self.inputs)
        return stored_block(
            written,
            self.stream,
            steps,
            layout.epoch,
            units,
            self.merge.buffered,
            choices=self.order.choices,
            copies=copied_rows(layout, self.stream, writer.segments),
            addressed=writer.has_column(payload_column(self.stream)),
        )

    def _with_payloads(self, pieces: Pieces) -> Pieces:
        """Rows with the payloads that they have addresses of, in smaller pieces, each with its place."""
        for rows, placed in pieces:
            at, start = np.arange(rows.length) if placed.rows is None else placed.rows, 0
            for piece in self.store.payloads.whole_rows(rows):
                own = np.flatnonzero((at >= start) & (at < start + piece.length))
                yield piece, Placed(placed.units[own], placed.routes[own], at[own] - start)
                start += piece.length


def at_places(by_place: Mapping[tuple[int, int], Iterable[Rows]]) -> Pieces:
    """The rows of each unit and route with their place."""
    for (unit, route), pieces in sorted(by_place.items(), key=itemgetter(0)):
        for rows in pieces:
            yield rows, Placed(np.full(rows.length, unit), np.full(rows.length, route))


def merge_order(merge: Merge, newest: SortOrder) -> SortOrder:
    """The newest sort order of the stream, unless earlier slices of the merge were written in another."""
    return newest if merge.choices is None else replace(newest, choices=merge.choices)


def rewritten_rows(merge: Merge, *written: Block | None) -> int:
    """About how many rows a step has sorted; those of earlier slices were only copied."""
    rows = sum(block.rows for block in written if block is not None)
    return rows * (merge.last - merge.first) // merge.slices if merge.copied else rows
