"""Which bytes a range of rows has: the parts of a record batch's buffers that its slice reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

BITS = 8
CheckBytes = Callable[[int, int], None]
"""Checks the bytes from one address up to another."""


def check_slice(batch: pa.RecordBatch, check: CheckBytes) -> bool:
    """Check what a slice reads; false if some column has a type whose bytes are not known."""
    return all(_check_column(column, check) for column in batch.columns)


def copied(batch: pa.RecordBatch, check: CheckBytes | None, give_back: Callable[[], None]) -> pa.RecordBatch | None:
    """A copy of a slice, column by column: each is checked and copied, and what that touched is given back.

    So no more than one column is mapped at a time, whatever the kernel maps with a page. None if some column has a type
    whose bytes are not known; without a check every type can be copied.
    """
    arrays = []
    for column in batch.columns:
        if check is not None and not _check_column(column, check):
            return None
        # A single array would not be copied.
        arrays.append(pa.concat_arrays([column, column.slice(0, 0)]))
        give_back()
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _check_column(column: pa.Array, check: CheckBytes) -> bool:
    if len(column) == 0 or pa.types.is_null(column.type):
        return True
    buffers = column.buffers()
    _check_bits(buffers[0], column.offset, len(column), 1, check)
    if _has_offsets(column.type):
        width = 8 if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type) else 4
        _check_bits(buffers[1], column.offset, len(column) + 1, width * BITS, check)
        if buffers[2] is not None and buffers[1] is not None:
            # They are read after they were checked.
            offsets: Any = np.frombuffer(buffers[1], np.int64 if width == 8 else np.int32)
            first, last = int(offsets[column.offset]), int(offsets[column.offset + len(column)])
            _check_bits(buffers[2], first, last - first, BITS, check)
        return True
    bits = _width(column.type)
    if bits is None:
        return False
    _check_bits(buffers[1], column.offset, len(column), bits, check)
    return True


def _check_bits(buffer: pa.Buffer | None, first: int, count: int, width: int, check: CheckBytes) -> None:
    """Check `count` values of `width` bits."""
    if buffer is not None and count:
        start, stop = first * width // BITS, -(-(first + count) * width // BITS)
        check(buffer.address + start, buffer.address + min(stop, buffer.size))


def _has_offsets(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    )


def _width(kind: pa.DataType) -> int | None:
    """The bits of a value of a plain type; None for types with other buffers."""
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        return None
    try:
        return int(kind.bit_width)
    except ValueError:
        return None
