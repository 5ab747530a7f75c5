"""Sort orders of stored rows: by key, then by one number of the row that ranges are searched on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from braid.kernels.expressions.decimals import to_numbers
from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.keys import Keys, index_keys
from braid.kernels.rows import Positions, Rows
from braid.plan.expressions import Expression, decimal_digits
from braid.plan.join import Index, JoinPlan

Numbers = npt.NDArray[Any]

SAMPLED_KEYS = 1024


def range_values(expression: Expression, rows: Rows) -> Numbers:
    """The numbers that an index is searched by: integers unchanged, decimals as doubles, no infinities.

    A number that is not finite sorts last as NaN and is a candidate of every range, because differences with it follow
    special rules. So does a decimal that is NULL: what is stored for it need not be the same when it is opened.
    """
    vector = evaluate(expression, rows.vector)
    values = to_numbers(vector.values, expression.type)
    if vector.valid is not None and decimal_digits(expression.type):
        values = np.where(vector.valid, values, np.nan)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        values = np.where(np.isfinite(values), values, np.nan)
    return values


def sort_positions(keys: Keys | None, numbers: Numbers | None, first: npt.NDArray[np.int64] | None = None) -> Positions:
    """The positions that sort rows by `first`, then by key, then by number; any of them may be absent.

    Rows that are equal in all of them keep their order. The stable sort finds runs that are already sorted, so merging
    blocks costs a tenth of sorting them by several columns at once.
    """
    column = numbers if keys is None else keys
    if column is None:
        if first is None:
            raise ValueError("nothing to sort by")
        return np.argsort(first, kind="stable")
    positions = np.argsort(column, kind="stable")
    if keys is not None and numbers is not None and not is_sorted(numbers):
        _sort_equal_keys(positions, keys, numbers)
    if first is None:
        return positions
    return positions[np.argsort(_small(first)[positions], kind="stable")]


def _sort_equal_keys(positions: Positions, keys: Keys, numbers: Numbers) -> None:
    """Sort rows of equal keys by number, in place; only groups that are not yet in that order are sorted."""
    ordered, values = keys[positions], numbers[positions]
    starts = ordered[1:] != ordered[:-1]
    # Written so that NaN, which is not comparable, counts as not in order.
    wrong = ~(starts | (values[1:] >= values[:-1]))
    if not wrong.any():
        return
    group = np.concatenate(([0], np.cumsum(starts)))
    affected = np.zeros(int(group[-1]) + 1, bool)
    affected[group[1:][wrong]] = True
    places = np.flatnonzero(affected[group])
    by_number = np.argsort(values[places], kind="stable")
    by_group = np.argsort(_small(group[places])[by_number], kind="stable")
    positions[places] = positions[places][by_number[by_group]]


def _small(numbers: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Numbers from zero on, with 16 bits if they fit: NumPy sorts these without comparisons, in linear time."""
    return numbers.astype(np.int16) if len(numbers) and int(numbers.max()) < 1 << 15 else numbers


def is_sorted(values: Numbers) -> bool:
    return bool((values[1:] >= values[:-1]).all())


@dataclass(frozen=True)
class SortedIndex:
    """A segment in the order of one of its indexes.

    `positions` maps a sorted place to a row; None when the rows themselves are in this order.
    """

    length: int
    keys: Keys | None
    numbers: Numbers | None
    positions: Positions | None

    @cached_property
    def keys_repeat(self) -> bool:
        """Whether a key has two rows or more on average, judged by a sample.

        Then the distinct keys are searched, which are fewer. Otherwise finding them costs more than it saves, in every
        worker that opens the segment.
        """
        if self.keys is None or self.length < 2:
            return False
        places = np.linspace(0, self.length - 2, SAMPLED_KEYS).astype(np.int64)
        return bool(np.mean(self.keys[places] == self.keys[places + 1]) >= 0.5)

    @cached_property
    def groups(self) -> tuple[Keys, Positions]:
        """The distinct keys, and where each begins (with the length at the end)."""
        keys = self.keys
        if keys is None:
            raise ValueError("an index without keys has no groups")
        edges = np.flatnonzero(keys[1:] != keys[:-1]) + 1
        starts = np.concatenate(([0], edges, [self.length])) if self.length else np.zeros(1, np.int64)
        return keys[starts[:-1]], starts

    @cached_property
    def finite(self) -> int:
        """How many numbers are finite; in an index without keys the others come last."""
        if self.numbers is None or self.numbers.dtype.kind != "f":
            return self.length
        return self.length - int(np.isnan(self.numbers).sum())

    def rows_at(self, places: Positions) -> Positions:
        return places if self.positions is None else self.positions[places].astype(np.int64, copy=False)


def open_index(plan: JoinPlan, index: Index, stream: int, rows: Rows, positions: Positions | None) -> SortedIndex:
    """The index over stored rows; `positions` is the stored permutation of a secondary index."""
    keys = index_keys(plan, index, stream, rows)
    numbers = None if index.range is None else range_values(index.range, rows)
    if positions is not None:
        keys = None if keys is None else keys[positions]
        numbers = None if numbers is None else numbers[positions]
    return SortedIndex(rows.length, keys, numbers, positions)
