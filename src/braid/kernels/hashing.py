"""A 64-bit hash of rows that is the same in every process and version: it orders what is kept on disk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.keys import Keys, combine, value_keys

Words = npt.NDArray[np.uint64]

ABSENT = np.int64(0x5BD1E995)
PRIME = np.uint64(0x100000001B3)


def row_hashes(columns: Sequence[pa.Array], length: int) -> Keys:
    """A hash of each row; equal rows have equal hashes, NULL equal to NULL."""
    return combine([np.zeros(length, np.int64), *(_column_hashes(column) for column in columns)])


def _column_hashes(column: pa.Array) -> Keys:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    hashes = _value_hashes(column)
    if column.null_count:
        hashes = np.where(column.is_valid().to_numpy(zero_copy_only=False), hashes, ABSENT)
    return hashes


def _value_hashes(column: pa.Array) -> Keys:
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), ABSENT)
    if pa.types.is_boolean(kind):
        return value_keys(column.fill_null(False).cast(pa.int8()).to_numpy())
    if pa.types.is_floating(kind):
        return value_keys(column.fill_null(0.0).to_numpy())
    if pa.types.is_decimal(kind):
        return _fixed_hashes(column)
    if pa.types.is_temporal(kind):
        wide = pa.int32() if kind.bit_width == 32 else pa.int64()
        return value_keys(column.view(wide).fill_null(0).to_numpy())
    if pa.types.is_integer(kind):
        return value_keys(column.fill_null(0).to_numpy())
    return _text_hashes(column.cast(pa.large_binary()))


def _fixed_hashes(column: pa.Array) -> Keys:
    """Decimals: the two words of each value."""
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    return combine([np.ascontiguousarray(words[::2]), np.ascontiguousarray(words[1::2])])


def _text_hashes(column: pa.Array) -> Keys:
    """Bytes as the digits of a number in a large base, added up for all values at once."""
    column = pc.fill_null(column, b"") if column.null_count else column
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    if lengths.sum() == 0:
        return np.zeros(len(column), np.int64)
    data = np.frombuffer(column.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64) + np.uint64(1)
    place = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    totals = np.zeros(len(column) + 1, np.uint64)
    digits = data * _powers(int(lengths.max()))[place]
    filled = np.flatnonzero(lengths)
    totals[filled] = np.add.reduceat(digits, (offsets[:-1] - offsets[0])[filled])
    return (totals[:-1] ^ (lengths.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))).view(np.int64)


def _powers(count: int) -> Words:
    with np.errstate(over="ignore"):
        powers: Words = np.cumprod(np.concatenate([[np.uint64(1)], np.full(count - 1, PRIME)]), dtype=np.uint64)
    return powers
