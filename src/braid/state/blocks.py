"""Blocks: immutable files of Arrow segments, one or more per unit, each with its own checksum.

    magic | segment | segment | ... | footer | footer length | footer checksum | magic
    footer: number of each | entry of each segment | reaches | checksums of chunks | ranges | schemas

A segment is one record batch as an Arrow IPC message, aligned so that a memory map of the file is the data itself. Its
schema is in the footer, once for all segments that have it: a file may have many small segments. Nothing outside the
file is needed to read it. Where rows are sorted by partition group, the ranges say where those of each group begin in
each segment. A reader checks the footer when it opens the file, and a segment when it first uses it or some of its rows
(`paging/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from braid.state.files import Files
from braid.state.outputs import output_stack
from braid.state.paging.checksums import checksums_of
from braid.state.paging.group_ranges import GROUP_RANGE, GroupRanges, RangesOfGroups
from braid.state.paging.segment_bytes import SegmentBytes, corrupt
from braid.state.usage import count_segment

MAGIC = b"BRAIDBK5"
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
        ("schema", "<i8"),
    ]
)

COUNT_BYTES = 8
COUNTS_BYTES = 4 * COUNT_BYTES
CHECKSUM_BYTES = 8
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


class Segment(NamedTuple):
    """The rows of one unit in a block; times are microseconds of event time, `schema` is a number of the footer's."""

    unit: int
    route: int
    offset: int
    length: int
    rows: int
    min_time: int
    max_time: int
    checksum: int
    schema: int


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
        self._ranges: list[npt.NDArray[Any]] = []
        self._chunks: list[int] = []
        self._schemas: list[pa.Schema] = []
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
        ranges: GroupRanges | None = None,
    ) -> None:
        data = memoryview(batch.serialize())
        (checksum, chunks), schema = checksums_of(data), self._number_of(batch.schema)
        offset = self._next_offset()
        segment = Segment(unit, route, offset, len(data), batch.num_rows, min_time, max_time, checksum, schema)
        self._append(segment, chunks, reaches, ranges)
        self._write(data)

    def copy(self, segment: Segment, reader: BlockReader) -> None:
        """Add a segment of another block, byte by byte."""
        schema = self._number_of(reader.schemas[segment.schema])
        copied = segment._replace(offset=self._next_offset(), schema=schema)
        chunks, reaches = reader.bytes.chunks_of(segment).tolist(), reader.reaches_of(segment)
        self._append(copied, chunks, reaches, reader.ranges_of(segment))
        for piece in reader.bytes.pieces(segment):
            self._write(memoryview(piece))

    def _next_offset(self) -> int:
        if self._file is None:
            self.open()
        self._write(b"\0" * (-self.size % ALIGNMENT))
        return self.size

    def _append(
        self, segment: Segment, chunks: Sequence[int], reaches: Iterable[Reach], ranges: GroupRanges | None
    ) -> None:
        self._reaches += [(len(self.segments), *reach) for reach in reaches]
        self._chunks += chunks
        if ranges is not None:
            found = np.empty(len(ranges[0]), GROUP_RANGE)
            found["segment"], found["group"], found["start"] = len(self.segments), *ranges
            self._ranges.append(found)
        self.segments.append(segment)

    def _number_of(self, schema: pa.Schema) -> int:
        for number, known in enumerate(self._schemas):
            if known.equals(schema):
                return number
        self._schemas.append(schema)
        return len(self._schemas) - 1

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
        entries, reaches = np.array(self.segments, ENTRY), np.array(self._reaches, REACH)
        chunks, ranges = np.array(self._chunks, "<u8"), np.concatenate([np.empty(0, GROUP_RANGE), *self._ranges])
        counts = np.array([len(part) for part in (entries, reaches, chunks, ranges)], "<i8")
        schemas = [schema.serialize().to_pybytes() for schema in self._schemas]
        lengths = [len(schema).to_bytes(COUNT_BYTES, "little") for schema in schemas]
        framed = [part for pair in zip(lengths, schemas, strict=True) for part in pair]
        return b"".join([*(part.tobytes() for part in (counts, entries, reaches, chunks, ranges)), *framed])

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

    def has_column(self, name: str) -> bool:
        """Whether some segment has a column of this name."""
        return any(name in schema.names for schema in self._schemas)


@lru_cache(maxsize=256)
def _schema(serialized: bytes) -> pa.Schema:
    """The files of a stream have the same schema: it is read once."""
    return pa.ipc.read_schema(pa.py_buffer(serialized))


def _read_schemas(framed: bytes) -> list[pa.Schema]:
    schemas = []
    while framed:
        end = COUNT_BYTES + int.from_bytes(framed[:COUNT_BYTES], "little")
        schemas.append(_schema(framed[COUNT_BYTES:end]))
        framed = framed[end:]
    return schemas


def _is_among(values: npt.NDArray[np.int64], numbers: list[int]) -> npt.NDArray[np.bool_]:
    """Which values are among the numbers. A slot mostly asks for one or two units, for which `isin` is slow."""
    if len(numbers) > 2 or not numbers:
        return np.isin(values, numbers)
    found: npt.NDArray[np.bool_] = values == numbers[0]
    return found if len(numbers) == 1 else found | (values == numbers[1])


class BlockReader:
    """Opens a block from a buffer of the whole file."""

    def __init__(self, buffer: pa.Buffer, path: str) -> None:
        self.bytes = SegmentBytes(buffer, path)
        self._buffer = buffer
        self._path = path
        self._by_stream: dict[int, tuple[npt.NDArray[Any], ...]] = {}
        footer = self._read_footer()
        segments, reaches, chunks, ranges = np.frombuffer(footer, "<i8", 4).tolist()
        end = COUNTS_BYTES + segments * ENTRY.itemsize
        self._footer = np.frombuffer(footer, ENTRY, segments, COUNTS_BYTES)
        self._reaches = np.frombuffer(footer, REACH, reaches, end)
        end += reaches * REACH.itemsize
        self.bytes.know(self._footer, np.frombuffer(footer, "<u8", chunks, end))
        end += chunks * CHECKSUM_BYTES
        self.groups = RangesOfGroups(self._footer, np.frombuffer(footer, GROUP_RANGE, ranges, end))
        self.schemas = _read_schemas(footer[end + ranges * GROUP_RANGE.itemsize :])

    @cached_property
    def segments(self) -> list[Segment]:
        return [Segment._make(entry) for entry in self._footer.tolist()]

    def segment(self, number: int) -> Segment:
        """One of the segments, by its number in the footer."""
        return Segment._make(self._footer[number].item())

    def at_units(self, units: Iterable[int]) -> npt.NDArray[np.bool_]:
        """Which segments, by number, are stored at the given units."""
        return _is_among(self._footer["unit"], list(units))

    def segments_of(self, units: Iterable[int] | None = None, routes: Iterable[int] | None = None) -> list[Segment]:
        """The segments stored at the given units, or labelled with the given routes; all by default."""
        chosen = self._footer
        for name, numbers in (("unit", units), ("route", routes)):
            if numbers is not None:
                chosen = chosen[_is_among(chosen[name], list(numbers))]
        return [Segment._make(entry) for entry in chosen.tolist()]

    def segments_reaching(
        self, units: Iterable[int] | None, stream: int, spans: Sequence[tuple[float, float, float]] | None
    ) -> list[Segment]:
        """The segments, of the given units or all, whose rows may join rows of a stream in one of the spans.

        A span is the lowest number, the number above the highest, and the largest magnitude that is stored in it.
        """
        wanted = np.ones(len(self._footer), bool)
        if spans is not None:
            segments, lower, upper, headroom = self._reaches_by_stream(stream)
            excluded = np.ones(len(segments), bool)
            for low, high, largest in spans:
                # Comparisons with NaN are false: no limit excludes nothing.
                excluded &= ((upper < low) | (lower >= high)) & (headroom >= largest)
            wanted[segments[excluded]] = False
        if units is not None:
            wanted &= _is_among(self._footer["unit"], list(units))
        return [Segment._make(entry) for entry in self._footer[wanted].tolist()]

    def _reaches_by_stream(self, stream: int) -> tuple[npt.NDArray[Any], ...]:
        """The segments with a reach of a stream, and its lower and upper limits and headroom."""
        found = self._by_stream.get(stream)
        if found is None:
            own = self._reaches[self._reaches["stream"] == stream]
            columns = (own[name].copy() for name in ("segment", "lower", "upper", "headroom"))
            found = self._by_stream[stream] = tuple(columns)
        return found

    def reaches_of(self, segment: Segment) -> list[Reach]:
        """How far the rows of a segment reach."""
        place = np.flatnonzero(self._footer["offset"] == segment.offset)
        return [Reach(*entry[1:]) for entry in self._reaches[np.isin(self._reaches["segment"], place)].tolist()]

    def ranges_of(self, segment: Segment) -> GroupRanges | None:
        """Where the rows of each partition group begin in a segment; None if it is not sorted by them."""
        return self.groups.of(segment.offset)

    def batch(self, segment: Segment) -> pa.RecordBatch:
        """The rows of a segment, without copying them."""
        count_segment(self._path, segment.offset, segment.length)
        return self.uncounted(segment)

    def uncounted(self, segment: Segment) -> pa.RecordBatch:
        """The same, where the caller counts what it uses of them."""
        return pa.ipc.read_record_batch(self.checked(segment), self.schemas[segment.schema])

    def rows(self, segment: Segment, start: int, stop: int) -> pa.RecordBatch:
        """The rows of a segment from the first up to the last; of a long segment only their bytes are checked."""
        part = self.bytes.rows(segment, self.schemas[segment.schema], start, stop)
        if part is None:
            return self.batch(segment).slice(start, stop - start)
        count_segment(self._path, segment.offset, segment.length)
        return part

    def checked(self, segment: Segment) -> pa.Buffer:
        """The bytes of a segment, after their checksum was found right."""
        return self.bytes.whole(segment)

    def _read_footer(self) -> bytes:
        size = self._buffer.size
        tail = self._buffer.slice(max(0, size - TAIL_BYTES)).to_pybytes()
        if size < TAIL_BYTES + len(MAGIC) or not tail.endswith(MAGIC):
            raise corrupt(self._path, "it is truncated")
        length = int.from_bytes(tail[:8], "little")
        if not COUNTS_BYTES <= length <= size - TAIL_BYTES:
            raise corrupt(self._path, "its footer is damaged")
        footer: bytes = self._buffer.slice(size - TAIL_BYTES - length, length).to_pybytes()
        if xxhash.xxh3_64_digest(footer) != tail[8:16]:
            raise corrupt(self._path, "its footer fails its checksum")
        return footer
