"""Checksums of segments: one for each, and in long segments one for every chunk, so that a range can be checked alone.

A segment of more than one chunk has the checksum of the list of its chunks' checksums, which is in the footer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import xxhash

# A range of rows has a range of bytes in every column, and each begins and ends within a chunk: with smaller chunks
# fewer bytes are read for nothing. A call for each costs an eighth of its hash.
CHUNK_BYTES = 1 << 16

Checksums = npt.NDArray[np.uint64]


def chunk_count(length: int) -> int:
    """How many chunks have checksums of their own in a segment of so many bytes; none if it is not longer than one."""
    return -(-length // CHUNK_BYTES) if length > CHUNK_BYTES else 0


def checksums_of(data: memoryview) -> tuple[int, list[int]]:
    """The checksum of a segment, and those of its chunks."""
    if not chunk_count(len(data)):
        return xxhash.xxh3_64_intdigest(data), []
    chunks = [xxhash.xxh3_64_intdigest(data[start : start + CHUNK_BYTES]) for start in range(0, len(data), CHUNK_BYTES)]
    return checksum_of(chunks), chunks


def checksum_of(chunks: Sequence[int] | Checksums) -> int:
    """The checksum of a segment with these chunks."""
    return xxhash.xxh3_64_intdigest(np.asarray(chunks, "<u8").tobytes())


def wrong_chunk(data: memoryview, chunks: Checksums, start: int, stop: int) -> int | None:
    """The first byte of a chunk with bytes from `start` up to `stop` that fails its checksum; None if all are right."""
    first, last = start // CHUNK_BYTES, -(-stop // CHUNK_BYTES)
    begin = first * CHUNK_BYTES
    for checksum in chunks[first:last].tolist():
        if xxhash.xxh3_64_intdigest(data[begin : begin + CHUNK_BYTES]) != checksum:
            return begin
        begin += CHUNK_BYTES
    return None
