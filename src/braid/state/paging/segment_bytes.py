"""The bytes of a block's segments: checked before they are used, whole or by range, and given back after it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from braid.errors import CorruptStateError
from braid.state.paging.checksums import Checksums, chunk_count, wrong_chunk
from braid.state.paging.pages import give_back
from braid.state.paging.slices import check_slice, copied

if TYPE_CHECKING:
    from braid.state.blocks import Segment

# What is checked or copied of a mapped segment before its pages are given back.
BYTES_AT_ONCE = 1 << 20
# A message begins with a mark and the length of its metadata, of 32 bits each.
PREFIX_BYTES = 8


class SegmentBytes:
    """Segments in the buffer of a file; if it `gives_back`, that is a mapped file, and pages are released after use.

    What was released is checked again when it is next read.
    """

    def __init__(self, buffer: pa.Buffer, path: str) -> None:
        self.gives_back = False
        self._buffer = buffer
        self._path = path
        self._checked: set[int] = set()
        self._entries: npt.NDArray[Any] | None = None
        self._chunks: Checksums = np.zeros(0, np.uint64)

    def know(self, entries: npt.NDArray[Any], chunks: Checksums) -> None:
        """What the footer has: an entry with offset and length of every segment, and the checksums of all chunks."""
        self._entries, self._chunks = entries, chunks

    def whole(self, segment: Segment) -> pa.Buffer:
        """All bytes of a segment, after their checksum was found right."""
        if segment.offset not in self._checked:
            if self.gives_back:
                for _ in self.pieces(segment):
                    pass
            else:
                self._check(segment, 0, segment.length)
            self._checked.add(segment.offset)
        return self._of(segment)

    def pieces(self, segment: Segment) -> Iterator[pa.Buffer]:
        """The bytes of a segment in pieces, each after its checksums were found right."""
        data = self._of(segment)
        if not chunk_count(segment.length):
            self._check(segment, 0, segment.length)
            yield data
            return
        for start in range(0, segment.length, BYTES_AT_ONCE):
            piece = data.slice(start, min(BYTES_AT_ONCE, segment.length - start))
            self._check(segment, start, start + piece.size)
            yield piece
            if self.gives_back:
                give_back(piece, self._buffer)

    def rows(self, segment: Segment, schema: pa.Schema, start: int, stop: int) -> pa.RecordBatch | None:
        """Some rows of a long segment, after the bytes that they have were checked; None if these are not known.

        If this gives back, it is a copy of the rows of any segment, and no page stays mapped.
        """
        if not self.gives_back and (segment.offset in self._checked or not chunk_count(segment.length)):
            return None
        data = self._of(segment)

        def check(first: int, last: int) -> None:
            self._check(segment, first - data.address, last - data.address)

        if segment.offset not in self._checked:
            check(data.address, data.address + PREFIX_BYTES)
            metadata = int.from_bytes(data.slice(4, 4).to_pybytes(), "little")
            check(data.address, data.address + PREFIX_BYTES + metadata)
        part = pa.ipc.read_record_batch(data, schema).slice(start, stop - start)
        if not self.gives_back:
            return part if check_slice(part, check) else None
        known = segment.offset in self._checked or not chunk_count(segment.length)
        found = copied(part, None if known else check, lambda: self.drop_pages(segment))
        if found is None:
            for _ in self.pieces(segment):
                pass
            found = copied(part, None, lambda: self.drop_pages(segment))
        return found

    def release(self, segment: Segment) -> None:
        """Give the pages of a segment back, if this is a mapped file."""
        if self.gives_back:
            give_back(self._of(segment), self._buffer)
            self._checked.discard(segment.offset)

    def drop_pages(self, segment: Segment) -> None:
        """The same for a segment that is read again at once: it stays checked."""
        if self.gives_back:
            give_back(self._of(segment), self._buffer)

    def drop_all(self) -> None:
        """Give all pages of the file back: those of its footer were read once."""
        if self.gives_back:
            give_back(self._buffer, self._buffer)

    def chunks_of(self, segment: Segment) -> Checksums:
        """The checksums of a segment's chunks; none if it has only one of its own."""
        count = chunk_count(segment.length)
        first = self._first_chunks[segment.offset] if count else 0
        return self._chunks[first : first + count]

    @cached_property
    def _first_chunks(self) -> dict[int, int]:
        """Where the checksums of each long segment begin, by its offset."""
        if self._entries is None:
            return {}
        counts = [chunk_count(length) for length in self._entries["length"].tolist()]
        starts = np.concatenate(([0], np.cumsum(counts)))[:-1].tolist()
        return dict(zip(self._entries["offset"].tolist(), starts, strict=True))

    def _of(self, segment: Segment) -> pa.Buffer:
        return self._buffer.slice(segment.offset, segment.length)

    def _check(self, segment: Segment, start: int, stop: int) -> None:
        data, chunks = memoryview(self._of(segment)), self.chunks_of(segment)
        if len(chunks):
            is_right = wrong_chunk(data, chunks, start, stop) is None
        else:
            is_right = xxhash.xxh3_64_intdigest(data) == segment.checksum
        if not is_right:
            raise corrupt(self._path, f"the segment at byte {segment.offset} fails its checksum")


def corrupt(path: str, what: str) -> CorruptStateError:
    """The error of a damaged block."""
    return CorruptStateError(
        f"The state block {path} is corrupt: {what}.",
        hint="Restore the file from a copy of the checkpoint, then start the query again: it continues there.",
    )
