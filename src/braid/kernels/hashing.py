"""A 64-bit hash of rows that is the same in every process and version, because state on disk is sorted by it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.keys import Keys, combine, value_keys
from braid.kernels.sizes import byte_cuts, piece_bytes

Words = npt.NDArray[np.uint64]

ABSENT = np.int64(0x5BD1E995)
PRIME = np.uint64(0x100000001B3)
BYTES_AT_ONCE, LEAST_BYTES = 1 << 22, 1 << 12
# A digit takes so many bytes while it is summed: its value, its place and the power of that, and their product.
BYTES_PER_DIGIT = 32


def row_hashes(columns: Sequence[pa.Array], length: int) -> Keys:
    """A hash of each row; equal rows have equal hashes, NULL equal to NULL."""
    return combine([np.zeros(length, np.int64), *(_column_hashes(column) for column in columns)])


def _column_hashes(column: pa.Array) -> Keys:
    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([np.zeros(0, np.int64), *(_column_hashes(chunk) for chunk in column.chunks)])
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
    """Bytes as digits of a number in a large base; a digit takes memory, so few are summed at once."""
    most = min(BYTES_AT_ONCE, max(LEAST_BYTES, piece_bytes() // BYTES_PER_DIGIT))
    column = pc.fill_null(column, b"") if column.null_count else column
    if len(column) == 0:
        return np.zeros(0, np.int64)
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    totals = np.zeros(len(column), np.uint64)
    if lengths.any():
        data = np.frombuffer(column.buffers()[2], np.uint8)
        for cut in byte_cuts(lengths, most):
            ends = offsets[cut.start : cut.stop + 1]
            long = ends[-1] - ends[0] > most
            totals[cut] = _long_sum(data[ends[0] : ends[-1]], most) if long else _digit_sums(data, ends)
    return (totals ^ (lengths.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))).view(np.int64)


def _digit_sums(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Words:
    """The numbers of adjacent values."""
    lengths = np.diff(offsets)
    totals = np.zeros(len(lengths), np.uint64)
    filled = np.flatnonzero(lengths)
    if len(filled):
        digits = data[offsets[0] : offsets[-1]].astype(np.uint64) + np.uint64(1)
        place = np.arange(len(digits)) - np.repeat(offsets[:-1] - offsets[0], lengths)
        digits *= _powers(int(lengths.max()))[place]
        totals[filled] = np.add.reduceat(digits, (offsets[:-1] - offsets[0])[filled])
    return totals


def _long_sum(data: npt.NDArray[np.uint8], most: int) -> np.uint64:
    """The number of one long value: later pieces are multiplied by a power of the base."""
    total, powers = 0, _powers(most)
    for start in range(0, len(data), most):
        piece = data[start : start + most].astype(np.uint64) + np.uint64(1)
        weight = pow(int(PRIME), start, 1 << 64)
        total += int((piece * powers[: len(piece)]).sum(dtype=np.uint64)) * weight
    return np.uint64(total % (1 << 64))


def _powers(count: int) -> Words:
    with np.errstate(over="ignore"):
        powers: Words = np.cumprod(np.concatenate([[np.uint64(1)], np.full(count - 1, PRIME)]), dtype=np.uint64)
    return powers
