"""The join of probing rows with one stored segment: candidates from an index, then every check, exactly.

Candidates are processed in pieces of bounded rows and bytes, so memory does not grow with the number of matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np

from braid.kernels import sizes
from braid.kernels.checks import Mask, columns_read, passing, sample_checks
from braid.kernels.ordering import SortedIndex
from braid.kernels.pacing import COMPARED, paced
from braid.kernels.probing import Probing, Searchable, StoredSegment, Window
from braid.kernels.rows import Pairs, Positions
from braid.kernels.search import Ranges, expand, search
from braid.kernels.tiles import match_tiles, tiled
from braid.plan.join import id_column

PAIRS_AT_ONCE = 1 << 17
NO_ROWS: Positions = np.zeros(0, np.int64)


def match(probing: Probing, segment: StoredSegment, rows: Positions | None) -> Iterator[Pairs]:
    """The pairs of probing and stored rows that pass the window and every check; `rows` are those that meet it."""
    if rows is not None and len(rows) == 0:
        return
    counters = probing.counters
    counters.probes += probing.rows.length if rows is None else len(rows)
    index = segment.indexes[probing.probe.index]
    overflows = any(segment.largest(number) > room for number, room in probing.headrooms)
    limits = None if overflows else probing.limits
    windowed = _window_matters(probing, segment, rows)
    for ranges in search(index, probing.keys, limits, probing.rows.length, rows):
        counters.compared += ranges.total
        contiguous = probing.keys is None and index.positions is None and not probing.rank_indexes
        in_tiles = tiled(ranges, probing.checks) if contiguous else None
        if in_tiles is not None:
            found = match_tiles(probing, segment, in_tiles, windowed, sizes.piece_rows(PAIRS_AT_ONCE))
        else:
            found = _match_pairs(probing, segment, index, ranges, windowed)
        for pairs in found:
            if pairs.length:
                counters.matched += pairs.length
                yield from pairs.pieces(constant=probing.constant_bytes)


def _match_pairs(
    probing: Probing, segment: StoredSegment, index: SortedIndex, ranges: Ranges, windowed: bool
) -> Iterator[Pairs]:
    report_share, done = COMPARED.get(), 0.0
    for probes, places in expand(ranges, sizes.piece_rows(PAIRS_AT_ONCE)):
        pairs = Pairs(probing.rows, segment.rows, probes, index.rows_at(places))
        if windowed:
            pairs = pairs.where(_in_window(probing, segment, pairs))
        if probing.rank_indexes:
            pairs = pairs.where(_among_last(probing, pairs))
        for whole in pairs.pieces(columns_read(probing.checks)):
            for piece in paced(whole, probing.checks):
                probing.sampling.pairs -= sample_checks(piece, probing.checks, probing.sampling.pairs)
                yield passing(piece, probing.checks)
                done += len(probes) * piece.length / max(1, pairs.length)
                report_share(done / ranges.total)


def meeting(probing: Probing, segment: Searchable) -> Positions | None:
    """The probing rows whose window touches the segment's event times; None: all of them."""
    if probing.rows.length == 0 or segment.length == 0:
        return NO_ROWS
    if segment.max_time < probing.earliest_range[0] or segment.min_time > probing.latest_range[1]:
        return NO_ROWS
    if segment.max_time >= probing.earliest_range[1] and segment.min_time <= probing.latest_range[0]:
        return None
    return np.flatnonzero((probing.earliest <= segment.max_time) & (probing.latest >= segment.min_time))


def _window_matters(probing: Probing, segment: StoredSegment, rows: Positions | None) -> bool:
    """Whether some stored row may be outside the window of some of the probing rows.

    The time of an intermediate row cannot tell, because it has a window for each of its members.
    """
    if len(probing.windows) > 1:
        return True
    first, last = probing.earliest_range[1], probing.latest_range[0]
    if rows is not None:
        first, last = int(probing.earliest[rows].max()), int(probing.latest[rows].min())
    inside = segment.min_time >= first and segment.max_time <= last
    probing.counters.windows_skipped += inside
    return not inside


def _in_window(probing: Probing, segment: StoredSegment, pairs: Pairs) -> Mask:
    return reduce(np.logical_and, (_inside(window, segment, pairs) for window in probing.windows))


def _inside(window: Window, segment: StoredSegment, pairs: Pairs) -> Mask:
    times = segment.rows.times(window.time)[pairs.right_positions]
    mask: Mask = times >= window.earliest[pairs.left_positions]
    mask &= times <= window.latest[pairs.left_positions]
    return mask


def _among_last(probing: Probing, pairs: Pairs) -> Mask:
    """Whether the rows of streams with row-based windows are in them at the newest event time joined so far."""
    streams = probing.plan.streams
    newest = np.maximum.reduce([pairs.times(s.time) for s in streams if pairs.has(s.time)])
    mask = np.ones(pairs.length, bool)
    for stream, rank_index in probing.rank_indexes.items():
        mask &= rank_index.admits(np.asarray(pairs.vector(id_column(stream)).values), newest)
    return mask
