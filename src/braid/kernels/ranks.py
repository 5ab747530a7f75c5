"""Row-based windows: which rows of a stream are the last n at a time, whatever order they arrived in.

A rank index has the event times and ids of a stream's newest rows in their final order: by time, among equals by all
values of the row. A row is among the last n at time T if fewer than n rows up to T come after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.aggregate.aggregation import orderable

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RankIndex:
    """The newest rows of a stream: `times` in rank order; `ids`, sorted, each with its position in that order."""

    times: Numbers
    ids: Numbers
    positions: Numbers
    count: int

    def admits(self, ids: Numbers, until_us: Numbers) -> npt.NDArray[np.bool_]:
        """Whether rows are among the last `count` at the given times; rows that are not in the index are not."""
        if len(self.ids) == 0:
            return np.zeros(len(ids), bool)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        known = self.ids[places] == ids
        first = np.searchsorted(self.times, until_us, side="right") - self.count
        admitted: npt.NDArray[np.bool_] = known & (self.positions[places] >= first)
        return admitted


def make_rank_index(times: Numbers, ids: Numbers, count: int) -> RankIndex:
    """A rank index from the times and ids of rows in rank order."""
    order = np.argsort(ids, kind="stable")
    return RankIndex(times, ids[order], order, count)


def _wide(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array; text as bytes with 64-bit offsets, so that any size fits."""
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        column = column.cast(pa.large_binary())
    return column.combine_chunks()


def rank_order(times: Numbers, values: pa.Table) -> Numbers:
    """The positions of rows in rank order: by time, among equals by the columns from left to right, NULL first."""
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    same = ordered[1:] == ordered[:-1]
    tied = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
    if len(tied) == 0:
        return order
    keys = {"time": pa.array(ordered[tied])}
    for number in range(values.num_columns):
        column = _wide(values.column(number)).take(pa.array(order[tied]))
        keys[f"known{number}"] = column.is_valid().cast(pa.int8())
        keys[f"value{number}"] = orderable(column)
    names = [(name, "ascending") for name in keys]
    order[tied] = order[tied][pc.sort_indices(pa.table(keys), sort_keys=names).to_numpy()]
    return order
