"""Searching a sorted index: for each probing row the half-open range of places that may match.

A range is a superset: rows outside it cannot match, rows inside it are checked afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.kernels.keys import Keys
from braid.kernels.limits import Limits
from braid.kernels.ordering import Numbers, SortedIndex
from braid.kernels.rows import Positions

# Checking a few candidates costs less than a binary search for the limits.
MIN_GROUP_TO_BISECT = 16


@dataclass(frozen=True)
class Ranges:
    """The places `start` to `stop` of the index: for each probing row, or only for those in `rows`."""

    start: Positions
    stop: Positions
    rows: Positions | None = None

    @property
    def total(self) -> int:
        return int((self.stop - self.start).sum())

    def by_start(self) -> Ranges:
        """The same ranges in the order of their first places."""
        order = np.argsort(self.start, kind="stable")
        return Ranges(self.start[order], self.stop[order], order if self.rows is None else self.rows[order])


def search(
    index: SortedIndex, keys: Keys | None, limits: Limits | None, probes: int, rows: Positions | None = None
) -> list[Ranges]:
    """The candidate ranges of all `probes`, or of some `rows`; a second entry has places whose number is not finite."""
    if index.keys is not None and keys is not None:
        ranges = _find_groups(index, keys, rows)
        if limits is None or index.numbers is None or index.finite < index.length:
            return [ranges]
        if int((ranges.stop - ranges.start).max(initial=0)) <= MIN_GROUP_TO_BISECT:
            return [ranges]
        return [_narrow(index.numbers, ranges, limits.of(ranges.rows))]
    count = probes if rows is None else len(rows)
    everything = Ranges(np.zeros(count, np.int64), np.full(count, index.length, np.int64), rows)
    if limits is None or index.numbers is None or index.keys is not None:
        return [everything]
    found = [_find_numbers(index.numbers[: index.finite], limits.of(rows), rows)]
    if index.finite < index.length:
        rest = np.full(count, index.finite, np.int64)
        found.append(Ranges(rest, everything.stop, rows))
    return found


def expand(ranges: Ranges, most: int) -> Iterator[tuple[Positions, Positions]]:
    """All (probing row, place) candidates, in pieces of at most `most`, even within one range."""
    counts = ranges.stop - ranges.start
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    if 0 < total <= most:
        rows = np.arange(len(counts)) if ranges.rows is None else ranges.rows
        yield np.repeat(rows, counts), np.repeat(ranges.start - (ends - counts), counts) + np.arange(total)
        return
    for begin in range(0, total, most):
        end = min(begin + most, total)
        first = int(np.searchsorted(ends, begin, side="right"))
        last = int(np.searchsorted(ends, end, side="left"))
        rows = np.arange(first, last + 1)
        skipped = np.maximum(begin - (ends[rows] - counts[rows]), 0)
        kept = np.minimum(ends[rows], end) - (ends[rows] - counts[rows]) - skipped
        probes = np.repeat(rows if ranges.rows is None else ranges.rows[rows], kept)
        offsets = np.arange(end - begin) - np.repeat(np.cumsum(kept) - kept, kept)
        yield probes, np.repeat(ranges.start[rows] + skipped, kept) + offsets


def _find_groups(index: SortedIndex, keys: Keys, among: Positions | None) -> Ranges:
    """The group of each key, for the rows whose key the index has; only `among` some rows, if given."""
    if index.length == 0 or index.keys is None:
        empty = np.zeros(0, np.int64)
        return Ranges(empty, empty, empty)
    keys = keys if among is None else keys[among]
    if not index.keys_repeat:
        found = _find_rows(index.keys, keys)
        return found if among is None or found.rows is None else Ranges(found.start, found.stop, among[found.rows])
    distinct, starts = index.groups
    place = np.searchsorted(distinct, keys)
    np.minimum(place, len(distinct) - 1, out=place)
    rows = np.flatnonzero(distinct[place] == keys)
    place = place[rows]
    return Ranges(starts[place], starts[place + 1], rows if among is None else among[rows])


def _find_rows(stored: Keys, keys: Keys) -> Ranges:
    """The rows of each key where most keys have one: the end of a range is searched only for keys that are found."""
    place = np.searchsorted(stored, keys)
    np.minimum(place, len(stored) - 1, out=place)
    rows = np.flatnonzero(stored[place] == keys)
    return Ranges(place[rows], np.searchsorted(stored, keys[rows], side="right"), rows)


def _find_numbers(numbers: Numbers, limits: Limits, rows: Positions | None) -> Ranges:
    lower, upper = _ends(numbers, limits)
    start = np.searchsorted(numbers, lower, side="left")
    stop = np.searchsorted(numbers, upper, side="right")
    start[np.isnan(limits.lower)] = 0
    stop[np.isnan(limits.upper)] = len(numbers)
    return Ranges(start, np.maximum(start, stop), rows)


def _narrow(numbers: Numbers, ranges: Ranges, limits: Limits) -> Ranges:
    lower, upper = _ends(numbers, limits)
    start = np.where(np.isnan(limits.lower), ranges.start, _bisect(numbers, ranges, lower, "left"))
    stop = np.where(np.isnan(limits.upper), ranges.stop, _bisect(numbers, ranges, upper, "right"))
    return Ranges(start, np.maximum(start, stop), ranges.rows)


def _bisect(numbers: Numbers, ranges: Ranges, targets: Numbers, side: str) -> Positions:
    """For each row the insertion place of its target in its own range: a binary search for all rows at once."""
    low, high = ranges.start.copy(), ranges.stop.copy()
    while True:
        active = low < high
        if not active.any():
            return low
        middle = (low + high) >> 1
        value = numbers.take(middle, mode="clip")
        before = value < targets if side == "left" else value <= targets
        low = np.where(active & before, middle + 1, low)
        high = np.where(active & ~before, middle, high)


def _ends(numbers: Numbers, limits: Limits) -> tuple[Numbers, Numbers]:
    """The limits in the type of the numbers, rounded outwards."""
    if numbers.dtype.kind == "f":
        if numbers.dtype == np.float64:
            return limits.lower, limits.upper
        with np.errstate(over="ignore"):
            lower = np.nextafter(limits.lower.astype(numbers.dtype), -np.inf, dtype=numbers.dtype)
            upper = np.nextafter(limits.upper.astype(numbers.dtype), np.inf, dtype=numbers.dtype)
        return lower, upper
    least, most = np.iinfo(numbers.dtype).min, np.iinfo(numbers.dtype).max
    return _to_integers(np.floor(limits.lower), least, most, numbers), _to_integers(
        np.ceil(limits.upper), least, most, numbers
    )


def _to_integers(ends: npt.NDArray[np.float64], least: int, most: int, numbers: Numbers) -> Numbers:
    """Ends as integers of the same type; clipping to its extremes loses nothing, since both ends are included."""
    inside = (ends > least) & (ends < most)
    whole = np.where(inside, ends, 0.0).astype(np.int64)
    whole[ends <= least] = least
    whole[ends >= most] = most
    return whole.astype(numbers.dtype)
