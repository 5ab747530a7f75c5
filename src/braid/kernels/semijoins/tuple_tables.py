"""Tables of partial tuples: distinct rows of 64-bit values, each with some numbers, such as a count.

Both sites of a copy keep such a table and change it by the same rows, so they agree without sending all of it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Tuples = npt.NDArray[np.int64]
"""A row for each tuple, a column for each of its values."""
Mask = npt.NDArray[np.bool_]


def distinct(tuples: Tuples) -> tuple[Tuples, Numbers]:
    """The distinct tuples, sorted, and how often each occurs."""
    found, counts = np.unique(tuples, axis=0, return_counts=True)
    return found, counts.astype(np.int64)


def is_among(tuples: Tuples, others: Tuples) -> Mask:
    """Which tuples occur among others."""
    if tuples.shape[1] == 1:
        return np.isin(tuples[:, 0], others[:, 0])
    _, places = np.unique(np.concatenate([tuples, others]), axis=0, return_inverse=True)
    places = places.reshape(-1)
    return np.isin(places[: len(tuples)], places[len(tuples) :])


@dataclass(frozen=True)
class TupleTable:
    """Distinct tuples in sorted order, and the numbers of each by their names."""

    tuples: Tuples
    numbers: Mapping[str, Numbers]

    @staticmethod
    def empty(width: int, names: Sequence[str]) -> TupleTable:
        return TupleTable(np.zeros((0, width), np.int64), {name: np.zeros(0, np.int64) for name in names})

    @property
    def length(self) -> int:
        return len(self.tuples)

    def where(self, mask: Mask) -> TupleTable:
        if mask.all():
            return self
        return TupleTable(self.tuples[mask], {name: values[mask] for name, values in self.numbers.items()})

    def changed(self, tuples: Tuples, numbers: Mapping[str, Numbers]) -> TupleTable:
        """The table with new numbers for some distinct tuples, which it may have or not."""
        kept = self.where(~is_among(self.tuples, tuples))
        joined = np.concatenate([kept.tuples, tuples])
        order = np.lexsort(joined.T[::-1])
        values = {name: np.concatenate([kept.numbers[name], numbers[name]])[order] for name in self.numbers}
        return TupleTable(joined[order], values)

    def numbers_of(self, tuples: Tuples, name: str, default: int = 0) -> Numbers:
        """One of the numbers of each of the given tuples; those that the table does not have get the default."""
        found = np.full(len(tuples), default, np.int64)
        if self.length and len(tuples):
            _, places = np.unique(np.concatenate([self.tuples, tuples]), axis=0, return_inverse=True)
            places = places.reshape(-1)
            by_place = np.full(int(places.max()) + 1, -1, np.int64)
            by_place[places[: self.length]] = np.arange(self.length)
            at = by_place[places[self.length :]]
            found[at >= 0] = self.numbers[name][at[at >= 0]]
        return found


def count_changes(counts: TupleTable, arrived: Tuples, departed: Tuples, name: str = "count") -> TupleTable:
    """The tuples whose count changes when rows arrive and others depart, with their new counts; 0: none is left."""
    both = np.concatenate([arrived, departed])
    signs = np.concatenate([np.ones(len(arrived), np.int64), -np.ones(len(departed), np.int64)])
    if len(both) == 0:
        return TupleTable.empty(arrived.shape[1], (name,))
    tuples, places = np.unique(both, axis=0, return_inverse=True)
    changes = np.bincount(places.reshape(-1), signs, len(tuples)).astype(np.int64)
    after = counts.numbers_of(tuples, name) + changes
    return TupleTable(tuples, {name: after}).where(changes != 0)
