"""How rows become stored segments: placed by the layout, sorted in the stored order, cut to bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from braid.control import paths
from braid.engine.tasks.lookup.reaching import Reaches, Starts, first_reaches, segment_reaches
from braid.engine.tasks.stored_indexes import KEYS, NUMBERS, POSITIONS
from braid.kernels import sizes
from braid.kernels.grouping import groups_of_hashes, index_keys_by_group
from braid.kernels.keys import Keys, common_keys, index_keys
from braid.kernels.ordering import range_values, sort_positions
from braid.kernels.rows import Positions, Rows
from braid.kernels.sizes import byte_cuts, row_sizes
from braid.kernels.times import row_times, time_pieces
from braid.placement.units import Placed, store_at
from braid.plan.join import Index, JoinPlan, SortOrder
from braid.plan.layout import Layout
from braid.state.paging.group_ranges import GroupRanges
from braid.state.usage import measuring

StoredRows = tuple[int, int, pa.RecordBatch, int, int, Reaches, GroupRanges | None]
"""The unit and route of rows, the rows, their oldest and newest event time, what they reach when they probe, and where
the rows of each partition group begin."""


def placed_rows(
    plan: JoinPlan, layout: Layout, number: int, rows: Rows, salt: int, hashes: Keys | None = None
) -> Placed:
    """The placement of rows; an intermediate result is placed like its first stream.

    With `hashes` it does not depend on the positions of the rows.
    """
    side, numbers = plan.members(number)[0], None
    routing = plan.streams[side].routing
    if layout.by_time:
        numbers = rows.times(plan.streams[side].time)
    elif layout.ranges is not None and routing is not None:
        numbers = range_values(routing, rows)
    keys = common_keys(plan, number, rows)
    with measuring("placing"):
        return store_at(layout, side, keys, rows.length, salt, numbers, hashes)


def sorted_segments(
    plan: JoinPlan,
    stream: int,
    rows: Rows,
    placed: Placed,
    order: SortOrder,
    reaching: bool = False,
    groups: int = 0,
) -> Iterator[StoredRows]:
    """The rows of each unit and route in their stored order; if `reaching`, with what they reach.

    With partition `groups` they are sorted by group first. Where they span much event time there is a segment for each
    part of it.
    """
    for piece in _placed_pieces(rows, placed):
        yield from _sorted_piece(plan, stream, rows, piece, order, reaching, groups)


def placed_segments(
    plan: JoinPlan, stream: int, rows: Rows, placed: Placed, reaching: bool = False
) -> Iterator[StoredRows]:
    """The rows of each unit and route; not sorted: the slots sort them."""
    for piece in _placed_pieces(rows, placed):
        spread = int(piece.routes.max()) + 1
        place = piece.units * spread + piece.routes
        positions = np.argsort(place, kind="stable")
        own = rows.take(positions if piece.rows is None else piece.rows[positions])
        place = place[positions]
        starts = np.concatenate(([0], np.flatnonzero(place[1:] != place[:-1]) + 1))
        times, batch = row_times(plan, stream, own), own.to_batch()
        oldest, newest = np.minimum.reduceat(times, starts), np.maximum.reduceat(times, starts)
        reaches = _reaches(plan, stream, own, starts, reaching)
        for number, (start, stop) in enumerate(pairwise([*starts.tolist(), len(place)])):
            unit, route = divmod(int(place[start]), spread)
            part = batch.slice(start, stop - start)
            yield unit, route, part, int(oldest[number]), int(newest[number]), reaches[number], None


def _placed_pieces(rows: Rows, placed: Placed) -> Iterator[Placed]:
    """Placements of bounded size: rows that are stored several times may take a multiple of their own size."""
    count = len(placed.units)
    if rows.nbytes * max(1.0, count / max(1, rows.length)) <= sizes.piece_bytes():
        yield placed
        return
    every = row_sizes(rows.columns.values(), rows.length)
    at = np.arange(rows.length) if placed.rows is None else placed.rows
    for cut in byte_cuts(every[at]):
        yield Placed(placed.units[cut], placed.routes[cut], at[cut])


def _reaches(plan: JoinPlan, stream: int, rows: Rows, starts: Starts, reaching: bool) -> list[Reaches]:
    """What each segment reaches, where that is known and somebody needs it."""
    return list(segment_reaches(first_reaches(plan, stream, rows) if reaching else [], None, starts))


def _sorted_piece(
    plan: JoinPlan, stream: int, rows: Rows, placed: Placed, order: SortOrder, reaching: bool, groups: int
) -> Iterator[StoredRows]:
    rows = rows if placed.rows is None else rows.take(placed.rows)
    first, *others = plan.indexes(stream, order.choices)
    numbers = None if first.range is None else range_values(first.range, rows)
    spread = int(placed.routes.max()) + 1
    place = placed.units * spread + placed.routes
    pieces = _time_pieces(plan, stream, rows, place, order)
    # Rows are sorted by unit, then by route, then by the piece of event time.
    count = 1 if pieces is None else int(pieces.max()) + 1
    place = place if pieces is None else place * count + pieces
    keys_of = index_keys_by_group if groups else index_keys
    keys = keys_of(plan, first, stream, rows)
    positions = sort_positions(keys, numbers, place if place.any() else None)
    ordered = rows.take(positions)
    place = place[positions]
    sorted_keys = keys[positions] if groups and keys is not None else None
    starts = [0, *(np.flatnonzero(place[1:] != place[:-1]) + 1).tolist()]
    reaches = _reaches(plan, stream, ordered, starts, reaching)
    for number, (start, stop) in enumerate(pairwise([*starts, len(place)])):
        part = ordered.slice(start, stop)
        times = row_times(plan, stream, part)
        unit, route = divmod(int(place[start]) // count, spread)
        own = None if sorted_keys is None else sorted_keys[start:stop]
        batch = _with_indexes(plan, stream, part, others, own)
        ranges = None if own is None else _ranges(own, groups)
        yield unit, route, batch, int(times.min()), int(times.max()), reaches[number], ranges


def _ranges(keys: Keys, groups: int) -> GroupRanges:
    """The partition groups of sorted keys, and where each begins."""
    found = groups_of_hashes(keys, groups)
    starts = np.flatnonzero(np.diff(found, prepend=-1))
    return found[starts], starts


def _time_pieces(plan: JoinPlan, stream: int, rows: Rows, place: Positions, order: SortOrder) -> Positions | None:
    """The piece of event time of each row; None if the rows are not cut."""
    if order.cut_us is None:
        return None
    places = 1 if (place == place[0]).all() else len(np.unique(place))
    most = rows.length // places // paths.MIN_ROWS_PER_PIECE
    return time_pieces(row_times(plan, stream, rows), order.cut_us, min(most, paths.MAX_PIECES))


def _with_indexes(
    plan: JoinPlan, stream: int, rows: Rows, others: Sequence[Index], first: Keys | None
) -> pa.RecordBatch:
    """The rows as a batch, with the positions, keys and numbers of every index but the first.

    Where rows are sorted by partition group, it has the keys of the `first` too, and all keys are in that order.
    """
    arrays = list(rows.columns.values())
    names = list(rows.columns)
    if first is not None:
        arrays.append(pa.array(first))
        names.append(f"{KEYS}0")
    for number, index in enumerate(others, start=1):
        keys = index_keys(plan, index, stream, rows)
        if first is not None:
            keys = index_keys_by_group(plan, index, stream, rows)
        numbers = None if index.range is None else range_values(index.range, rows)
        positions: Positions = sort_positions(keys, numbers)
        columns: dict[str, np.ndarray] = {POSITIONS: positions.astype(np.int32)}
        if keys is not None:
            columns[KEYS] = keys[positions]
        if numbers is not None and numbers.dtype.kind in "iuf":
            columns[NUMBERS] = numbers[positions]
        arrays += map(pa.array, columns.values())
        names += [f"{kind}{number}" for kind in columns]
    return pa.RecordBatch.from_arrays(arrays, names=names)
