"""Merging blocks inside a probe task: each slot rewrites the rows of its own units as one sorted block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.engine.tasks.lookup.row_ranges import Part, group_parts, whole
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.storing import placed_rows, sorted_segments
from braid.kernels.cutting import slice_starts
from braid.kernels.grouping import groups_of_keys
from braid.kernels.keys import common_keys
from braid.kernels.ordering import SortedIndex
from braid.kernels.rows import Rows, possible_rows, row_groups
from braid.kernels.times import row_times
from braid.placement.units import Placed, copied_rows, is_primary
from braid.plan.join import JoinPlan, SortOrder, step_column
from braid.plan.layout import Layout
from braid.plan.payloads import payload_column
from braid.plan.stored_types import column_types
from braid.state.blocks import BlockWriter, Segment
from braid.state.files import Files
from braid.state.manifest import Block, Merge, stored_block

# Fewer rows of a unit and route are not worth cutting: they are in one slice.
MIN_ROWS_TO_CUT = 4096
NO_UNIT = -1


def merge_blocks(
    merge: Merge,
    layout: Layout,
    order: SortOrder,
    owned: set[int],
    inputs: list[Block],
    store: SegmentStore,
    files: Files,
    path: str,
) -> Block | None:
    """The merged block of this slot's units; None if none of their rows is still needed.

    The block lists all units of the slot, also those without rows, so that the blocks of a slot can be merged again.
    The last slice of a merge copies the segments of the slices before it.
    """
    by_place: dict[tuple[int, int], list[Part]] = defaultdict(list)
    for part in _parts(merge, owned, inputs, store):
        by_place[part.segment.unit, part.segment.route].append(part)
    writer = BlockWriter(files, path)
    for block in merge.copied:
        reader = store.reader(block.file)
        for segment in reader.segments_of(owned):
            writer.copy(segment, reader)
    together = {place: _useful_rows(merge, parts, store) for place, parts in by_place.items()}
    return _write(merge, layout, order, tuple(sorted(owned)), _placed(together), inputs, store, writer)


def move_blocks(
    merge: Merge,
    order: SortOrder,
    layouts: tuple[Layout, Layout],
    owned: set[int],
    inputs: list[Block],
    store: SegmentStore,
    files: Files,
    path: str,
) -> Block | None:
    """The rows of this slot's units in the old layout, placed by the new layout; of several copies one is moved."""
    old, new = layouts
    found = _parts(merge, owned, inputs, store)
    primary = (part for part in found if is_primary(old, merge.stream, part.segment.unit, part.segment.route))

    def pieces() -> Iterator[tuple[Rows, Placed]]:
        salt = inputs[0].last_step + merge.first if inputs else 0
        for rows in _useful_rows(merge, primary, store):
            yield rows, placed_rows(store.plan, new, merge.stream, rows, salt)
            salt += rows.length

    return _write(merge, new, order, None, pieces(), inputs, store, BlockWriter(files, path))


def gather_placed(
    merge: Merge,
    layouts: tuple[Layout, Layout],
    order: SortOrder,
    owned: set[int],
    inputs: list[Block],
    store: SegmentStore,
    files: Files,
    path: str,
) -> Block | None:
    """The block of this slot's units in the new layout, with rows that were stored under the old one.

    Every slot places all rows, in the same order, so that each row is in the block of one slot; of several copies one
    counts.
    """
    old, new = layouts
    by_place: dict[tuple[int, int], list[Rows]] = defaultdict(list)
    salt = inputs[0].last_step if inputs else 0
    found = _parts(merge, None, inputs, store)
    primary = (part for part in found if is_primary(old, merge.stream, part.segment.unit, part.segment.route))
    for found_rows in _useful_rows(merge, primary, store):
        rows = _with_step(store.plan, merge, inputs, found_rows)
        placed = placed_rows(store.plan, new, merge.stream, rows, salt)
        salt += rows.length
        own = np.isin(placed.units, list(owned))
        for unit, route in set(zip(placed.units[own].tolist(), placed.routes[own].tolist(), strict=True)):
            chosen = np.flatnonzero((placed.units == unit) & (placed.routes == route))
            by_place[unit, route].append(rows.take(chosen))
    together = {place: row_groups(parts) for place, parts in by_place.items()}
    writer = BlockWriter(files, path)
    return _write(merge, new, order, tuple(sorted(owned)), _placed(together), inputs, store, writer)


def merge_groups(
    merge: Merge,
    layouts: Mapping[int, Layout],
    order: SortOrder,
    opened: Mapping[int, Collection[int]],
    owned: set[int],
    inputs: list[Block],
    store: SegmentStore,
    files: Files,
    path: str,
) -> Block | None:
    """The block of this slot's units, with the rows of their partition groups from blocks of several assignments.

    `opened` has the units of each layout that may have such rows. A slice is a range of groups, whichever units own
    them. Groups apart are left out.
    """
    new, units = layouts[merge.epoch], _sliced_units(merge, layouts)
    units[list(merge.apart)] = NO_UNIT
    together = {(unit, unit): _rows_of_groups(merge, units == unit, opened, inputs, store) for unit in owned}
    writer = BlockWriter(files, path)
    return _write(merge, new, order, tuple(sorted(owned)), _placed(together), inputs, store, writer)


def merge_apart(
    merge: Merge,
    layouts: Mapping[int, Layout],
    order: SortOrder,
    opened: Mapping[int, Collection[int]],
    owned: set[int],
    inputs: list[Block],
    store: SegmentStore,
    files: Files,
    path: str,
) -> Block | None:
    """The same with the rows of groups apart: every segment has rows of one of them."""
    new, units = layouts[merge.epoch], _sliced_units(merge, layouts)
    chosen = np.zeros(len(units), bool)
    chosen[list(merge.apart)] = True

    def by_group(unit: int) -> Iterator[Rows]:
        for rows in _rows_of_groups(merge, chosen & (units == unit), opened, inputs, store):
            groups = _groups_of(merge, rows, store, len(units))
            order_of_groups = np.argsort(groups, kind="stable")
            edges = np.flatnonzero(np.diff(groups[order_of_groups])) + 1
            yield from (rows.take(own) for own in np.split(order_of_groups, edges))

    together = {(unit, unit): by_group(unit) for unit in owned}
    writer = BlockWriter(files, path)
    block = _write(merge, new, order, tuple(sorted(owned)), _placed(together), inputs, store, writer)
    return None if block is None else replace(block, apart=merge.apart)


def _sliced_units(merge: Merge, layouts: Mapping[int, Layout]) -> npt.NDArray[np.int64]:
    """The unit of each partition group, where it is in the slices of this step."""
    units = np.array(layouts[merge.epoch].group_units)
    first, last = (-(-len(units) * number // merge.slices) for number in (merge.first, merge.last))
    units[:first] = units[last:] = NO_UNIT
    return units


def _rows_of_groups(
    merge: Merge,
    wanted: npt.NDArray[np.bool_],
    opened: Mapping[int, Collection[int]],
    inputs: list[Block],
    store: SegmentStore,
) -> Iterator[Rows]:
    """The rows of the wanted groups that may still join."""
    for rows in _useful_rows(merge, _group_parts(wanted, opened, inputs, store), store):
        # Segments that are not sorted yet were read whole.
        own = wanted[_groups_of(merge, rows, store, len(wanted))]
        if own.any():
            yield rows if own.all() else rows.take(np.flatnonzero(own))


def _groups_of(merge: Merge, rows: Rows, store: SegmentStore, count: int) -> npt.NDArray[np.int64]:
    keys = common_keys(store.plan, merge.stream, rows)
    if keys is None:
        raise ValueError("partition groups need a key that all streams share")
    return groups_of_keys(keys, count)


def _group_parts(
    wanted: npt.NDArray[np.bool_], opened: Mapping[int, Collection[int]], inputs: list[Block], store: SegmentStore
) -> Iterator[Part]:
    """The rows of the wanted groups: ranges of segments that are sorted by group, the others whole."""
    for block in inputs:
        reader = store.reader(block.file)
        for segment in reader.segments_of(opened[block.epoch]):
            yield from group_parts(reader, block.file, segment, wanted)


def _placed(by_place: Mapping[tuple[int, int], Iterable[Rows]]) -> Iterator[tuple[Rows, Placed]]:
    """The rows of each unit and route with their place."""
    for (unit, route), pieces in sorted(by_place.items(), key=itemgetter(0)):
        for rows in pieces:
            yield rows, Placed(np.full(rows.length, unit), np.full(rows.length, route))


def _write(
    merge: Merge,
    layout: Layout,
    order: SortOrder,
    units: tuple[int, ...] | None,
    pieces: Iterator[tuple[Rows, Placed]],
    inputs: list[Block],
    store: SegmentStore,
    writer: BlockWriter,
) -> Block | None:
    plan = store.plan
    # Rows that are buffered for their order probe later, from this block.
    reaching = layout.ranges is not None and (plan.ordered or bool(plan.row_based))
    for rows, placed in _with_payloads(pieces, store) if merge.whole else pieces:
        for segment in sorted_segments(plan, merge.stream, rows, placed, order, reaching, len(layout.group_units)):
            writer.add(*segment)
    written = writer.close()
    if written is None:
        return None
    steps = min(block.first_step for block in inputs), max(block.last_step for block in inputs)
    return stored_block(
        written,
        merge.stream,
        steps,
        layout.epoch,
        units,
        merge.buffered,
        choices=order.choices,
        copies=copied_rows(layout, merge.stream, writer.segments),
        addressed=writer.has_column(payload_column(merge.stream)),
    )


def _with_payloads(pieces: Iterator[tuple[Rows, Placed]], store: SegmentStore) -> Iterator[tuple[Rows, Placed]]:
    """Rows with the payloads that they have addresses of, in smaller pieces, each with its place."""
    for rows, placed in pieces:
        at, start = np.arange(rows.length) if placed.rows is None else placed.rows, 0
        for piece in store.payloads.whole_rows(rows):
            own = np.flatnonzero((at >= start) & (at < start + piece.length))
            yield piece, Placed(placed.units[own], placed.routes[own], at[own] - start)
            start += piece.length


def _useful_rows(merge: Merge, parts: Iterable[Part], store: SegmentStore) -> Iterator[Rows]:
    """The rows that may still join, of adjacent parts together."""
    for rows in store.rows(parts, column_types(store.plan, merge.stream)):
        useful = possible_rows(store.plan, merge.stream, rows)
        if merge.oldest_us is not None:
            needed = row_times(store.plan, merge.stream, useful) >= merge.oldest_us
            useful = useful if needed.all() else useful.take(np.flatnonzero(needed))
        if useful.length:
            yield useful


def _with_step(plan: JoinPlan, merge: Merge, inputs: list[Block], rows: Rows) -> Rows:
    """Rows that were stored without their step, where the plan asks for it: buffered ones count as of the newest.

    All others were admitted in some step before.
    """
    name = step_column(merge.stream)
    if not plan.stamped or name in rows.columns or merge.stream >= len(plan.streams):
        return rows
    step = max(block.last_step for block in inputs) if merge.buffered else 0
    return Rows({**rows.columns, name: pa.array(np.full(rows.length, step, np.int64))}, rows.types, rows.length)


def _parts(merge: Merge, owned: set[int] | None, inputs: list[Block], store: SegmentStore) -> Iterator[Part]:
    """The segments of this slot's units, each with its rows in the slices of this step."""
    # Every slice must see the same runs in the same order.
    files = merge.files if merge.is_whole else sorted(merge.files)
    found = [(file, segment) for file in files for segment in store.reader(file).segments_of(owned)]
    if merge.is_whole:
        yield from (whole(file, segment) for file, segment in found)
        return
    by_file = {block.file: block for block in inputs}
    by_place: dict[tuple[int, int], list[tuple[str, Segment]]] = defaultdict(list)
    for file, segment in found:
        by_place[segment.unit, segment.route].append((file, segment))
    for place, segments in by_place.items():
        orders = {by_file[file].choices if by_file[file].is_sorted else None for file, _ in segments}
        alike = orders.pop() if len(orders) == 1 and merge.into is None else None
        runs = None if alike is None else store.runs(segments, merge.stream, alike)
        starts, stops = (
            _slice_starts(merge, number, place, [segment.rows for _, segment in segments], runs)
            for number in (merge.first, merge.last)
        )
        for (file, segment), start, stop in zip(segments, starts, stops, strict=True):
            if start < stop:
                yield Part(file, segment, (start, stop))


def _slice_starts(
    merge: Merge, number: int, place: tuple[int, int], rows: Sequence[int], runs: Sequence[SortedIndex] | None
) -> list[int]:
    """Where a slice begins in each segment of a unit and route, which have so many rows.

    This depends on the files alone, not on the slot that has the unit: the number of slots may change before the next
    slice. Rows that are not sorted, or by several orders, or are placed again, are cut by their position.
    """
    if sum(rows) < MIN_ROWS_TO_CUT:
        return list(rows) if number > sum(place) % merge.slices else [0] * len(rows)
    if runs is None:
        return [count * number // merge.slices for count in rows]
    return slice_starts(runs, rows, number, merge.slices)
