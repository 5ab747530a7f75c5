"""Tiles: a few probing rows against an interval of stored rows, compared by broadcasting.

Where no key narrows the search and adjacent rows have nearly the same candidates, this keeps operands in the CPU cache
and gathers only matches. Few probing rows and a long interval suit NumPy best: its inner loops run along the interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from braid.errors import PredicateError
from braid.kernels.checks import Check, Mask, columns_read, passing, sample_checks
from braid.kernels.expressions.evaluate import is_true, tileable
from braid.kernels.expressions.vectors import Vector, magnitude
from braid.kernels.pacing import COMPARED, paced
from braid.kernels.probing import Probing, StoredSegment, Window
from braid.kernels.rows import Pairs, Positions, Rows
from braid.kernels.search import Ranges

# A tile of this many pairs, with a few operands, fits the CPU cache.
TILE_PAIRS = 1 << 16
TILE_STORED = 1024
TILE_PROBES = 256
# Tiles also compare pairs that are not candidates; they pay while at least this share of the pairs is.
MIN_CANDIDATE_SHARE = 0.25
# With fewer candidates a row, sorting the rows costs more than tiles save.
MIN_CANDIDATES_TO_SORT = 16


def tiled(ranges: Ranges, checks: Sequence[Check]) -> Ranges | None:
    """The ranges in an order in which tiles pay; None where they do not, or cannot be compared in tiles."""
    expressions = [check.expression for check in checks if check.expression is not None]
    if not expressions or not all(tileable(expression) for expression in expressions):
        return None
    if _are_alike(ranges):
        return ranges
    if ranges.total < MIN_CANDIDATES_TO_SORT * len(ranges.start):
        return None
    ordered = ranges.by_start()
    return ordered if _are_alike(ordered) else None


def _are_alike(ranges: Ranges) -> bool:
    """Whether comparing whole tiles wastes little: adjacent rows must share most of their ranges."""
    height, _ = _shape(ranges)
    edges = np.arange(0, len(ranges.start), height)
    spans = np.maximum.reduceat(ranges.stop, edges) - np.minimum.reduceat(ranges.start, edges)
    return bool(ranges.total >= MIN_CANDIDATE_SHARE * spans.sum() * height)


def match_tiles(probing: Probing, segment: StoredSegment, ranges: Ranges, windowed: bool, most: int) -> Iterator[Pairs]:
    """The pairs within the ranges that pass every check, in pieces of about `most`."""
    windows = [(window, segment.rows.times(window.time)) for window in probing.windows] if windowed else []
    dense, rest = _split(probing.checks)
    height, width = _shape(ranges)
    intervals: dict[int, _Cut] = {}
    found: list[Pairs] = []
    found_pairs = reported = 0
    for first in range(0, len(ranges.start), height):
        some = slice(first, min(first + height, len(ranges.start)))
        probes = _Cut(probing.rows, some if ranges.rows is None else ranges.rows[some], (-1, 1))
        start, stop = ranges.start[some], ranges.stop[some]
        begin, end = int(start.min()), int(stop.max())
        for place in range(begin - begin % width, end, width):
            stored = intervals.get(place)
            if stored is None:
                stored = _Cut(segment.rows, slice(place, min(place + width, segment.rows.length)), (1, -1))
                intervals[place] = stored
            inside = _in_ranges(start, stop, place, place + stored.length)
            for window, times in windows:
                inside = _both(inside, _in_window(window, probes.at, times[stored.at]))
            pairs = _compare(probing, segment, probes, stored, inside, dense)
            if pairs.length:
                found.append(pairs)
                found_pairs += pairs.length
            if found_pairs >= most:
                yield from _passing_pieces(probing, _concatenate(found), rest, (reported, first), len(ranges.start))
                found, found_pairs, reported = [], 0, first
        if not found:
            reported = some.stop
            COMPARED.get()(reported / len(ranges.start))
    if found:
        yield from _passing_pieces(probing, _concatenate(found), rest, (reported, len(ranges.start)), len(ranges.start))


def _passing_pieces(
    probing: Probing, pairs: Pairs, checks: tuple[Check, ...], done: tuple[int, int], of: int
) -> Iterator[Pairs]:
    """The pairs that pass the checks; before them so many of the probing rows are done, and after them."""
    before, after = done
    seen = 0
    for whole in pairs.pieces(columns_read(checks)):
        for piece in paced(whole, checks):
            probing.sampling.pairs -= sample_checks(piece, checks, probing.sampling.pairs)
            yield passing(piece, checks)
            seen += piece.length
            COMPARED.get()((before + (after - before) * seen / pairs.length) / of)


class _Cut:
    """Some rows, whose columns are shaped as one side of a tile, on demand: an interval, or rows at positions."""

    def __init__(self, rows: Rows, at: slice | Positions, shape: tuple[int, int]) -> None:
        self.rows = rows
        self.at = at
        self.length = at.stop - at.start if isinstance(at, slice) else len(at)
        self._shape = shape
        self._vectors: dict[str, Vector] = {}

    def vector(self, name: str) -> Vector:
        found = self._vectors.get(name)
        if found is None:
            whole = self.rows.vector(name)
            valid = None if whole.valid is None else whole.valid[self.at].reshape(self._shape)
            values = np.asarray(whole.values)[self.at].reshape(self._shape)
            found = self._vectors[name] = Vector(values, valid, magnitude(whole))
        return found

    def positions(self, places: Positions) -> Positions:
        """The rows at places of this cut."""
        return places + self.at.start if isinstance(self.at, slice) else self.at[places]


def _shape(ranges: Ranges) -> tuple[int, int]:
    """The numbers of probing and stored rows of a tile: the longer the interval, the fewer probing rows."""
    longest = int((ranges.stop - ranges.start).max(initial=1))
    width = min(TILE_STORED, max(1, longest))
    return min(TILE_PROBES, TILE_PAIRS // width), width


def _split(checks: tuple[Check, ...]) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
    """The checks before the first Python function, which run on whole tiles, and the rest, which run on pairs."""
    functions = [number for number, check in enumerate(checks) if check.evaluator is None]
    first = functions[0] if functions else len(checks)
    return checks[:first], checks[first:]


def _compare(
    probing: Probing,
    segment: StoredSegment,
    probes: _Cut,
    stored: _Cut,
    inside: Mask | None,
    dense: tuple[Check, ...],
) -> Pairs:
    """The pairs of a tile that pass the checks. From the first that raises, they run on the pairs left."""
    mask = inside
    rest: tuple[Check, ...] = ()

    def lookup(name: str) -> Vector:
        return (probes if name in probing.rows.columns else stored).vector(name)

    for number, check in enumerate(dense):
        if check.evaluator is None:
            raise RuntimeError("a Python function cannot be evaluated on a tile")
        if check.conjunct.in_jvm and mask is not None and mask.mean() < MIN_CANDIDATE_SHARE:
            # An enclosure costs as much as a dozen comparisons: gathering the few pairs left is cheaper.
            rest = dense[number:]
            break
        try:
            passed = is_true(check.evaluator(lookup))
        except PredicateError:
            rest = dense[number:]
            break
        mask = passed if mask is None else mask & passed
    left, right = _places(mask, probes.length, stored.length)
    return passing(Pairs(probing.rows, segment.rows, probes.positions(left), stored.positions(right)), rest)


def _places(mask: Mask | None, height: int, width: int) -> tuple[Positions, Positions]:
    """Where the mask of a tile is true; the mask may be smaller than the tile and is broadcast to it."""
    if mask is None:
        mask = np.ones((height, width), bool)
    elif mask.shape != (height, width):
        mask = np.broadcast_to(mask, (height, width))
    places = np.flatnonzero(mask)
    rows = places // width
    return rows, places - rows * width


def _concatenate(found: list[Pairs]) -> Pairs:
    """All pairs of the same two sides."""
    left = np.concatenate([pairs.left_positions for pairs in found])
    right = np.concatenate([pairs.right_positions for pairs in found])
    return Pairs(found[0].left, found[0].right, left, right)


def _in_ranges(start: Positions, stop: Positions, first: int, end: int) -> Mask | None:
    """Which cells of a tile, whose stored rows are those from `first` to `end`, are candidates; None when all are."""
    if start.max() <= first and stop.min() >= end:
        return None
    places = np.arange(first, end)[None, :]
    inside: Mask = (places >= start[:, None]) & (places < stop[:, None])
    return inside


def _in_window(window: Window, at: slice | Positions, times: npt.NDArray[np.int64]) -> Mask | None:
    """Which cells of a tile are within the window; None when all are."""
    earliest, latest = window.earliest[at], window.latest[at]
    if times.min() >= earliest.max() and times.max() <= latest.min():
        return None
    inside: Mask = (times >= earliest[:, None]) & (times <= latest[:, None])
    return inside


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
