"""Totals over ranges of rows, for many ranges of one column at once.

Sums of whole numbers are differences of running sums, which are exact. Floating sums and extremes are put together of
stretches whose lengths double, so nothing is subtracted, and what a range comes to depends on its own rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Values = npt.NDArray[Any]


@dataclass(frozen=True)
class Spans:
    """Ranges of rows, each from `start` up to and without `stop`."""

    start: Places
    stop: Places

    @property
    def lengths(self) -> Places:
        return self.stop - self.start

    def among(self, kept: npt.NDArray[np.bool_]) -> Spans:
        """The same ranges where only the marked rows are there."""
        passed: Places = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
        return Spans(passed[self.start], passed[self.stop])


def sum_whole(values: Values, spans: Spans) -> Values:
    """The sums of 64-bit numbers, which wrap around, or of Python's, which do not."""
    passed = np.concatenate((np.zeros(1, values.dtype), np.cumsum(values)))
    sums: Values = passed[spans.stop] - passed[spans.start]
    return sums


def fold(values: Values, spans: Spans, combine: Callable[[Values, Values], Values], nothing: Any) -> Values:
    """Each range put together from left to right by an associative function, `nothing` is its neutral value."""
    found = np.full(len(spans.start), nothing, values.dtype)
    place, length = spans.start.copy(), 1
    while length <= spans.lengths.max(initial=0):
        taken = np.flatnonzero(spans.lengths & length)
        found[taken] = combine(found[taken], values[place[taken]])
        place[taken] += length
        values = combine(values[:-length], values[length:])
        length *= 2
    return found
