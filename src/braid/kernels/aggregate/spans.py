"""Totals over ranges of rows, for many ranges of one column at once.

Sums of whole numbers are differences of running sums, which are exact. Floating sums and extremes are combined from
intervals whose lengths double. So nothing is subtracted, and the total of a range depends on its own rows alone.
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
    """Half-open ranges of rows, from `start` to `stop`."""

    start: Places
    stop: Places

    @property
    def lengths(self) -> Places:
        return self.stop - self.start

    def among(self, kept: npt.NDArray[np.bool_]) -> Spans:
        """The same ranges over the marked rows only."""
        passed: Places = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
        return Spans(passed[self.start], passed[self.stop])


def sum_whole(values: Values, spans: Spans) -> Values:
    """The sums of 64-bit integers, which wrap around, or of Python integers, which do not."""
    passed = np.concatenate((np.zeros(1, values.dtype), np.cumsum(values)))
    sums: Values = passed[spans.stop] - passed[spans.start]
    return sums


def fold(values: Values, spans: Spans, combine: Callable[[Values, Values], Values], neutral: Any) -> Values:
    """Each range combined from left to right by an associative function with a neutral value."""
    found = np.full(len(spans.start), neutral, values.dtype)
    place, length = spans.start.copy(), 1
    while length <= spans.lengths.max(initial=0):
        taken = np.flatnonzero(spans.lengths & length)
        found[taken] = combine(found[taken], values[place[taken]])
        place[taken] += length
        values = combine(values[:-length], values[length:])
        length *= 2
    return found
