"""Where the rows of each partition group are, in segments that are sorted by them."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

# A row for each partition group of a segment that has rows, in their order: its rows begin at `start`.
GROUP_RANGE = np.dtype([("segment", "<u4"), ("group", "<u4"), ("start", "<u4")])
Numbers = npt.NDArray[np.int64]
GroupRanges = tuple[Numbers, Numbers]
"""The partition groups of a segment that have rows, ascending, and where the rows of each begin."""


class RangesOfGroups:
    """The ranges of all segments of a block, by the entries of its footer."""

    def __init__(self, entries: npt.NDArray[Any], ranges: npt.NDArray[Any]) -> None:
        self._entries = entries
        self._ranges = ranges

    def of(self, offset: int) -> GroupRanges | None:
        """The ranges of the segment at this offset; None if it is not sorted by group."""
        first, last = self._places.get(offset, (0, 0))
        return (self._groups[first:last], self._starts[first:last]) if first < last else None

    def chosen(self, groups: npt.NDArray[np.bool_], segments: npt.NDArray[np.bool_]) -> list[list[int]]:
        """Where the rows of some groups are, in some segments; ranges that follow each other are one.

        Each has the number of the segment, its first row, the row after its last, its first and its last group.
        """
        number = self._ranges["segment"].astype(np.int64)
        found = groups[self._groups] & segments[number]
        same = np.append(False, number[1:] == number[:-1])[: len(number)]
        begins = found & ~(same & np.append(False, found[:-1])[: len(number)])
        ends = found & ~np.append(same[1:] & found[1:], False)[: len(number)]
        first, last = np.flatnonzero(begins), np.flatnonzero(ends)
        columns = number[first], self._starts[first], self._stops[last], self._groups[first], self._groups[last]
        return [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    @cached_property
    def totals(self) -> tuple[Numbers, Numbers, npt.NDArray[np.float64]]:
        """The groups of every segment, the rows of each there, and their share of its bytes."""
        segments = self._ranges["segment"].astype(np.int64)
        rows, lengths = self._entries["rows"][segments], self._entries["length"][segments]
        own = self._stops - self._starts
        return self._groups, own, own / np.maximum(rows, 1) * lengths

    @cached_property
    def _stops(self) -> Numbers:
        """Where the rows of each range end: where the next of its segment begins, or with the segment."""
        segments = self._ranges["segment"].astype(np.int64)
        last = np.append(segments[1:] != segments[:-1], True)[: len(segments)]
        following = np.append(self._starts[1:], 0)[: len(segments)]
        return np.where(last, self._entries["rows"][segments], following)

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        """Which of the ranges each segment has, by its offset: a block of pushed rows has many segments."""
        edges = np.searchsorted(self._ranges["segment"], np.arange(len(self._entries) + 1)).tolist()
        return dict(zip(self._entries["offset"].tolist(), pairwise(edges), strict=True))

    @cached_property
    def _groups(self) -> Numbers:
        return self._ranges["group"].astype(np.int64)

    @cached_property
    def _starts(self) -> Numbers:
        return self._ranges["start"].astype(np.int64)
