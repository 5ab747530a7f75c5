"""The indexes of a stored segment: as they are stored with it, or sorted here."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from braid.kernels.grouping import index_keys_by_group
from braid.kernels.keys import index_keys
from braid.kernels.ordering import SortedIndex, open_index, range_values, sort_positions
from braid.kernels.rows import Rows
from braid.plan.join import Index, JoinPlan

# Columns of a segment for each index but the first: the positions of its rows in the order of the index, and the keys
# and numbers in that order. They are mapped with the rows, so the workers of an executor share them. Rows that are
# sorted by partition group have the keys of the first index too.
POSITIONS, KEYS, NUMBERS = "#index:", "#keys:", "#numbers:"


def stored_index(
    batch: pa.RecordBatch, is_whole: bool, plan: JoinPlan, number: int, index: Index, stream: int, rows: Rows
) -> SortedIndex:
    """An index of a segment as it is stored; the rows are in the order of the first.

    Of a range of rows, other indexes than the first are sorted here.
    """
    if number and not is_whole:
        return (
            sorted_by_group(plan, index, stream, rows)
            if is_grouped(batch.schema)
            else sorted_index(plan, number, index, stream, rows)
        )
    positions = _column(batch, POSITIONS, number)
    keys, numbers = _column(batch, KEYS, number), _column(batch, NUMBERS, number)
    if is_grouped(batch.schema):
        if numbers is None and index.range is not None:
            numbers = range_values(index.range, rows)
            numbers = numbers if positions is None else numbers[positions]
        return SortedIndex(rows.length, keys, numbers, positions)
    is_complete = (keys is None) == (not index.parts) and (numbers is None) == (index.range is None)
    if positions is not None and is_complete:
        return SortedIndex(rows.length, keys, numbers, positions)
    return open_index(plan, index, stream, rows, positions)


def is_grouped(schema: pa.Schema) -> bool:
    """Whether rows are sorted by partition group: only then the keys of the first index are stored."""
    return f"{KEYS}0" in schema.names


def sorted_index(plan: JoinPlan, number: int, index: Index, stream: int, rows: Rows) -> SortedIndex:
    """An index that the segment was not stored for."""
    numbers = None if index.range is None else range_values(index.range, rows)
    return open_index(plan, index, stream, rows, sort_positions(index_keys(plan, index, stream, rows), numbers))


def sorted_by_group(plan: JoinPlan, index: Index, stream: int, rows: Rows) -> SortedIndex:
    """The same with keys in the order of partition groups."""
    keys = index_keys_by_group(plan, index, stream, rows)
    numbers = None if index.range is None else range_values(index.range, rows)
    positions = sort_positions(keys, numbers)
    return SortedIndex(rows.length, keys[positions], None if numbers is None else numbers[positions], positions)


def _column(batch: pa.RecordBatch, kind: str, number: int) -> np.ndarray | None:
    name = f"{kind}{number}"
    return batch.column(name).to_numpy() if name in batch.schema.names else None
