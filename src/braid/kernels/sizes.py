"""Sizes of rows: pieces are bounded by bytes as well as by rows.

Arrow addresses the text of a column by 32-bit offsets, so a gathered or concatenated array has at most 2 GB, and a task
should need the memory of a few pieces only. A piece larger than `piece_bytes` is a single row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PIECE_BYTES = 1 << 26
"""The size of Spark's own batches to Python; tests lower it."""

VALIDITY_BYTES = 1

_most_bytes: int | None = None
_most_rows: int | None = None

Sizes = npt.NDArray[np.int64]


def bound_pieces(size: int | None, rows: int | None) -> None:
    """Bound the pieces of this process further, by its memory limit; None: only as without one."""
    global _most_bytes, _most_rows
    _most_bytes, _most_rows = size, rows


def piece_bytes() -> int:
    """The bytes of a piece in this process."""
    return PIECE_BYTES if _most_bytes is None else min(PIECE_BYTES, _most_bytes)


def piece_rows(most: int) -> int:
    """The rows of a piece in this process, of at most so many without a limit."""
    return most if _most_rows is None else min(most, _most_rows)


def row_sizes(columns: Iterable[pa.Array], length: int) -> Sizes:
    """The bytes of each row over all columns, nested ones included."""
    sizes = np.zeros(length, np.int64)
    for column in columns:
        sizes += value_sizes(column)
    return sizes


def value_sizes(column: pa.Array) -> Sizes | int:
    """The bytes of every value of a column; one number if all are equal."""
    return _value_sizes(column) + VALIDITY_BYTES


def byte_cuts(sizes: Sizes, limit: int | None = None) -> list[slice]:
    """Slices of rows of at most `limit` bytes each; a larger row is a slice of its own."""
    most = piece_bytes() if limit is None else limit
    ends = np.cumsum(sizes)
    cuts, start, done = [], 0, 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(ends, done + most, side="right")))
        cuts.append(slice(start, stop))
        start, done = stop, int(ends[stop - 1])
    return cuts


def batch_pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in pieces of bounded size; unchanged if it is small enough."""
    if batch.nbytes <= piece_bytes():
        yield batch
        return
    for cut in byte_cuts(row_sizes(batch.columns, batch.num_rows)):
        yield batch.slice(cut.start, cut.stop - cut.start)


def table_pieces(table: pa.Table) -> Iterator[pa.Table]:
    """The rows of a table in pieces of bounded size; none if it has no rows."""
    for batch in table.to_batches():
        for piece in batch_pieces(batch):
            if piece.num_rows:
                yield pa.Table.from_batches([piece])


class Buffer:
    """Collects parts that become one piece of at most about `rows` rows and of bounded size."""

    def __init__(self, rows: int) -> None:
        self._most_rows = piece_rows(rows)
        self.parts: list[Any] = []
        self.rows = 0
        self._size = 0

    def fits(self, size: int) -> bool:
        """Whether a part of `size` bytes still fits; an empty buffer takes any part."""
        return not self.parts or self._size + size <= piece_bytes()

    def add(self, part: Any, rows: int, size: int) -> None:
        self.parts.append(part)
        self.rows += rows
        self._size += size

    @property
    def is_full(self) -> bool:
        return self.rows >= self._most_rows or self._size >= piece_bytes()

    def take(self) -> list[Any]:
        """All parts; the buffer is empty afterwards."""
        parts, self.parts, self.rows, self._size = self.parts, [], 0, 0
        return parts


def total_bytes(columns: Iterable[pa.Array]) -> int:
    """The bytes of the values of some columns; for a slice only its own values."""
    return sum(column.nbytes for column in columns)


def _fixed(kind: pa.DataType) -> int | None:
    """The bytes of a value of this type, None if they depend on the value."""
    if pa.types.is_null(kind):
        return 0
    if pa.types.is_struct(kind):
        widths = [_fixed(kind.field(number).type) for number in range(kind.num_fields)]
        known = [width for width in widths if width is not None]
        return sum(known) if len(known) == len(widths) else None
    if pa.types.is_fixed_size_list(kind):
        inner = _fixed(kind.value_type)
        return None if inner is None else inner * kind.list_size
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return None


def _value_sizes(column: pa.Array) -> Sizes | int:
    kind = column.type
    width = _fixed(kind)
    if width is not None:
        return width
    if pa.types.is_struct(kind):
        children = [_value_sizes(column.field(number)) for number in range(kind.num_fields)]
        return sum(children, np.zeros(len(column), np.int64))
    if pa.types.is_dictionary(kind):
        return 8
    if _is_nested(kind):
        return _nested_sizes(column)
    return np.diff(_offsets(column)) + _offset_bytes(kind)


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind))


def _nested_sizes(column: pa.Array) -> Sizes:
    """Lists and maps: the sizes of their elements, added up."""
    offsets = _offsets(column)
    inner: Sequence[pa.Array] = (column.keys, column.items) if pa.types.is_map(column.type) else (column.values,)
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    elements = row_sizes([child.slice(first, count) for child in inner], count)
    ends = np.concatenate(([0], np.cumsum(elements)))
    return np.diff(ends[offsets - first]) + _offset_bytes(column.type)


def _offset_bytes(kind: pa.DataType) -> int:
    large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_list(kind)
    return 8 if large else 4


def _offsets(column: pa.Array) -> Sizes:
    if len(column) == 0:
        return np.zeros(1, np.int64)
    words = np.frombuffer(column.buffers()[1], np.int64 if _offset_bytes(column.type) == 8 else np.int32)
    return words[column.offset : column.offset + len(column) + 1].astype(np.int64)
