"""Blocks: immutable files of Arrow segments, one or more per unit, each with its own checksum.

    magic | segment | segment | ... | footer | footer length | footer checksum | magic
    footer: number of segments | entry of each segment | reaches

A segment is one Arrow IPC stream holding one record batch, aligned so that a memory map of the file is the
data itself. The footer lists the segments; nothing outside the file is needed to read it. A reader checks the
footer when it opens the file and a segment when it first uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from braid.errors import CorruptStateError
from braid.state.files import Files
from braid.state.outputs import output_stack
from braid.state.usage import count_segment

MAGIC = b"BRAIDBK3"
ALIGNMENT = 64
TAIL_BYTES = 8 + 8 + len(MAGIC)
# The footer has an entry of fixed size for each segment, so a reader that needs few of many segments parses none.
ENTRY = np.dtype(
    [
        ("unit", "<i8"),
        ("route", "<i8"),
        ("offset", "<i8"),
        ("length", "<i8"),
        ("rows", "<i8"),
        ("min_time", "<i8"),
        ("max_time", "<i8"),
        ("checksum", "<u8"),
    ]
)

COUNT_BYTES = 8
REACH = np.dtype(
    [("segment", "<i8"), ("stream", "<i8"), ("lower", "<f8"), ("upper", "<f8"), ("headroom", "<f8")],
)


class Reach(NamedTuple):
    """What the rows of a segment, when they probe, may join of a stream: stored numbers from `lower` to `upper`.

    NaN means no limit. A stored number larger than `headroom` may make the comparison overflow, and must be compared.
    """

    stream: int
    lower: float
    upper: float
    headroom: float


@dataclass(frozen=True)
class Segment:
    """The rows of one unit in a block; times are microseconds of event time."""

    unit: int
    route: int
    offset: int
    length: int
    rows: int
    min_time: int
    max_time: int
    checksum: int


@dataclass(frozen=True)
class WrittenBlock:
    """A block that was written: its file name, its rows and bytes, and the range of its event times."""

    file: str
    rows: int
    size: int
    min_time: int
    max_time: int


class BlockWriter:
    """Writes one block: the file is created with its first segment, and complete when it is closed.

    A file that is never closed has no footer. No record names it, so it is swept with its step.
    """

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._path = path
        self._file: Any = None
        self._opened = output_stack()
        self.segments: list[Segment] = []
        self._reaches: list[tuple[int | float, ...]] = []
        self.size = 0

    def open(self) -> BlockWriter:
        """Create the file, also for a block without segments."""
        self._file = self._opened.enter_context(self._files.open_output(self._path))
        self._write(MAGIC)
        return self

    def add(
        self,
        unit: int,
        route: int,
        batch: pa.RecordBatch,
        min_time: int,
        max_time: int,
        reaches: Iterable[Reach] = (),
    ) -> None:
        if self._file is None:
            self.open()
        self._write(b"\0" * (-self.size % ALIGNMENT))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        data = sink.getvalue()
        checksum = xxhash.xxh3_64_intdigest(memoryview(data))
        self._reaches += [(len(self.segments), *reach) for reach in reaches]
        self.segments.append(Segment(unit, route, self.size, data.size, batch.num_rows, min_time, max_time, checksum))
        self._write(memoryview(data))

    def copy(self, segment: Segment, reader: BlockReader) -> None:
        """Add a segment of another block, byte by byte."""
        if self._file is None:
            self.open()
        self._write(b"\0" * (-self.size % ALIGNMENT))
        self._reaches += [(len(self.segments), *reach) for reach in reader.reaches_of(segment)]
        self.segments.append(replace(segment, offset=self.size))
        self._write(memoryview(reader.checked(segment)))

    def close(self) -> WrittenBlock | None:
        """Complete the block; None if nothing was written."""
        if self._file is None:
            return None
        footer = self._footer()
        self._write(footer)
        self._write(len(footer).to_bytes(8, "little"))
        self._write(xxhash.xxh3_64_digest(footer))
        self._write(MAGIC)
        self._opened.close()
        return WrittenBlock(
            file=self._path.rsplit("/", 1)[1],
            rows=self.rows,
            size=self.size,
            min_time=min((segment.min_time for segment in self.segments), default=0),
            max_time=max((segment.max_time for segment in self.segments), default=0),
        )

    def _footer(self) -> bytes:
        entries = np.array([tuple(vars(segment).values()) for segment in self.segments], ENTRY)
        count = len(self.segments).to_bytes(COUNT_BYTES, "little")
        return count + entries.tobytes() + np.array(self._reaches, REACH).tobytes()

    def __enter__(self) -> BlockWriter:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, *problem: Any) -> None:
        if kind is None:
            self.close()
        else:
            self._opened.__exit__(kind, *problem)

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self.size += len(data)

    @property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)


def _is_among(values: npt.NDArray[np.int64], numbers: list[int]) -> npt.NDArray[np.bool_]:
    """Which values are among the numbers. A slot mostly asks for one or two units, for which `isin` is slow."""
    if len(numbers) > 2 or not numbers:
        return np.isin(values, numbers)
    found: npt.NDArray[np.bool_] = values == numbers[0]
    return found if len(numbers) == 1 else found | (values == numbers[1])


class BlockReader:
    """Opens a block from a buffer of the whole file."""

    def __init__(self, buffer: pa.Buffer, path: str) -> None:
        self._buffer = buffer
        self._path = path
        self._checked: set[int] = set()
        self._footer, self._reaches = self._read_footer()

    @cached_property
    def segments(self) -> list[Segment]:
        return [Segment(*entry) for entry in self._footer.tolist()]

    def segments_of(self, units: Iterable[int] | None = None, routes: Iterable[int] | None = None) -> list[Segment]:
        """The segments stored at the given units, or labelled with the given routes; all by default."""
        chosen = self._footer
        for name, numbers in (("unit", units), ("route", routes)):
            if numbers is not None:
                chosen = chosen[_is_among(chosen[name], list(numbers))]
        return [Segment(*entry) for entry in chosen.tolist()]

    def segments_reaching(
        self, units: Iterable[int] | None, stream: int, spans: Sequence[tuple[float, float, float]] | None
    ) -> list[Segment]:
        """The segments, of the given units or all, whose rows may join rows of a stream in one of the spans.

        A span is the lowest number, the number above the highest, and the largest magnitude that is stored in it.
        """
        wanted = np.ones(len(self._footer), bool)
        own = self._reaches[self._reaches["stream"] == stream]
        if spans is not None and len(own):
            reached = np.zeros(len(own), bool)
            for low, high, largest in spans:
                # Comparisons with NaN are false: no limit excludes nothing.
                reached |= ~((own["upper"] < low) | (own["lower"] >= high)) | (own["headroom"] < largest)
            wanted[own["segment"]] = reached
        if units is not None:
            wanted &= _is_among(self._footer["unit"], list(units))
        return [Segment(*entry) for entry in self._footer[wanted].tolist()]

    def reaches_of(self, segment: Segment) -> list[Reach]:
        """How far the rows of a segment reach."""
        place = np.flatnonzero(self._footer["offset"] == segment.offset)
        return [Reach(*entry[1:]) for entry in self._reaches[np.isin(self._reaches["segment"], place)].tolist()]

    def batch(self, segment: Segment) -> pa.RecordBatch:
        """The rows of a segment, without copying them."""
        count_segment(self._path, segment.offset, segment.length)
        with pa.ipc.open_stream(self.checked(segment)) as stream:
            return stream.read_next_batch()

    def checked(self, segment: Segment) -> pa.Buffer:
        """The bytes of a segment, after their checksum was found right."""
        data = self._buffer.slice(segment.offset, segment.length)
        if segment.offset not in self._checked:
            if xxhash.xxh3_64_intdigest(memoryview(data)) != segment.checksum:
                raise self._corrupt(f"the segment at byte {segment.offset} fails its checksum")
            self._checked.add(segment.offset)
        return data

    def _read_footer(self) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
        size = self._buffer.size
        tail = self._buffer.slice(max(0, size - TAIL_BYTES)).to_pybytes()
        if size < TAIL_BYTES + len(MAGIC) or not tail.endswith(MAGIC):
            raise self._corrupt("it is truncated")
        length = int.from_bytes(tail[:8], "little")
        if not COUNT_BYTES <= length <= size - TAIL_BYTES:
            raise self._corrupt("its footer is damaged")
        footer = self._buffer.slice(size - TAIL_BYTES - length, length).to_pybytes()
        if xxhash.xxh3_64_digest(footer) != tail[8:16]:
            raise self._corrupt("its footer fails its checksum")
        end = COUNT_BYTES + int.from_bytes(footer[:COUNT_BYTES], "little") * ENTRY.itemsize
        return np.frombuffer(footer[COUNT_BYTES:end], ENTRY), np.frombuffer(footer[end:], REACH)

    def _corrupt(self, what: str) -> CorruptStateError:
        return CorruptStateError(
            f"The state block {self._path} is corrupt: {what}.",
            hint="Restore the file from a copy of the checkpoint, then start the query again: it continues there.",
        )
