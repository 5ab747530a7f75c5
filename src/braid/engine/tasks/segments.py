"""Open blocks in a task: mapped files, checked segments and their indexes, cached while they are in use.

A worker process runs many tasks, of any slot, and later tasks use what earlier ones opened. Blocks that no command has
named for some steps are closed. Under a memory limit those are kept open for which there is room; others are opened
part by part while rows look them up, and their pages are given back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.engine.tasks.lookup.unopened import Place, UnopenedRuns, UnopenedSegment
from braid.engine.tasks.stored_indexes import is_grouped, sorted_index, stored_index
from braid.engine.tasks.worker.room import Room
from braid.errors import CorruptStateError
from braid.kernels import sizes
from braid.kernels.ordering import SortedIndex
from braid.kernels.probing import Searchable, StoredSegment
from braid.kernels.rows import Rows
from braid.kernels.sizes import Buffer
from braid.plan.expressions import Expression
from braid.plan.join import JoinPlan, id_column
from braid.state.blocks import BlockReader, Segment
from braid.state.cache import LocalCopies
from braid.state.usage import measuring

# A worker meets the same slot again within a few steps.
KEPT_STEPS = 4
# Keys, numbers, distinct keys and sizes of values that an open segment may need besides its stored bytes, for each row.
INDEX_BYTES = 32
ROWS_PER_PIECE = 1 << 24

Opened = tuple[str, int, tuple[int, ...]]
"""An open segment: its file, its offset, and the numbers that it is sorted by."""


class Part(NamedTuple):
    """Rows of a stored segment, from the first up to the last."""

    file: str
    segment: Segment
    rows: tuple[int, int]


def whole(file: str, segment: Segment) -> Part:
    """All rows of a segment."""
    return Part(file, segment, (0, segment.rows))


def group_parts(
    reader: BlockReader, file: str, segment: Segment, wanted: npt.NDArray[np.bool_] | None
) -> Iterator[Part]:
    """The rows of a segment that are of the wanted partition groups; all if it is not sorted by group.

    None: all rows.
    """
    ranges = None if wanted is None else reader.ranges_of(segment)
    if ranges is None or wanted is None:
        yield whole(file, segment)
        return
    groups, starts = ranges
    # Adjacent wanted ranges are read as one.
    edges = np.flatnonzero(np.diff(wanted[groups].astype(np.int8), prepend=0, append=0))
    bounds = np.append(starts, segment.rows)[edges].tolist()
    for start, stop in zip(bounds[::2], bounds[1::2], strict=True):
        yield Part(file, segment, (start, stop))


class SegmentStore:
    """The blocks a worker has open."""

    def __init__(self, plan: JoinPlan, copies: LocalCopies, directory: str) -> None:
        self.plan = plan
        self._copies = copies
        self._directory = directory
        self._readers: dict[str, BlockReader] = {}
        self._opened: dict[Opened, StoredSegment] = {}
        self._last_used: dict[str, int] = {}
        self._swept: int | None = None
        self._step = 0
        self._kept_bytes: int | None = None
        self._room: Room[Opened] = Room()
        self._segments: dict[Opened, Segment] = {}
        self._largest: dict[tuple[str, int, Expression], float] = {}
        self._last_run: Place | None = None

    def allow(self, kept_bytes: int | None, copied_bytes: int | None = None) -> None:
        """How many bytes open segments and local copies may have from now on; None: any."""
        self._kept_bytes = kept_bytes
        self._copies.allow("any" if kept_bytes is None else "limited", copied_bytes)
        for reader in self._readers.values():
            reader.bytes.gives_back = kept_bytes is not None
        if kept_bytes is None:
            self._room = Room()
            return
        known = [key for key in self._opened if key not in self._room]
        for key in (*known, *self._room.shrink(kept_bytes)):
            self._close(key)

    def reader(self, file: str) -> BlockReader:
        found = self._readers.get(file)
        if found is None:
            with measuring("opening"):
                found = self._readers[file] = self._open(f"{self._directory}/{file}")
            found.bytes.gives_back = self._kept_bytes is not None
        return found

    def _open(self, path: str) -> BlockReader:
        try:
            buffer = self._copies.map(path)
        except FileNotFoundError as error:
            raise CorruptStateError(
                f"The state block {path} is missing.",
                hint="Restore the file from a copy of the checkpoint, then start the query again.",
            ) from error
        return BlockReader(buffer, path)

    def rows(self, parts: Iterable[Part], types: Mapping[str, str], most: int | None = None) -> Iterator[Rows]:
        """The stored columns of several segments or parts of them, together in pieces of bounded bytes and rows.

        There may be many small ones, so they are concatenated before anything is computed of them.
        """
        pending: list[pa.RecordBatch] = []
        size = rows = 0
        read: pa.Schema = None
        if self._kept_bytes is not None:
            yield from self._rows_by_range(parts, types, most)
            return
        for part in parts:
            file, segment, (start, stop) = part
            reader = self.reader(file)
            schema, batch = reader.schemas[segment.schema], reader.batch(segment)
            batch = batch if stop - start == segment.rows else batch.slice(start, stop - start)
            if pending and (schema is not read or size + segment.length > sizes.piece_bytes()):
                yield from _pieces(pending, types)
                pending, size, rows = [], 0, 0
            read = schema
            pending.append(batch)
            size += segment.length
            rows += stop - start
            if most is not None and rows >= most:
                yield from _pieces(pending, types)
                pending, size, rows = [], 0, 0
        yield from _pieces(pending, types)

    def _rows_by_range(self, parts: Iterable[Part], types: Mapping[str, str], most: int | None) -> Iterator[Rows]:
        """The same under a limit: no more of a long segment is read than a piece, and what was read is given back."""
        pending = Buffer(ROWS_PER_PIECE if most is None else most)
        used: list[tuple[BlockReader, Segment]] = []
        read: pa.Schema = None
        for file, segment, (start, stop) in (range_ for part in parts for range_ in ranges_of(part)):
            reader = self.reader(file)
            schema, size = reader.schemas[segment.schema], segment.length * (stop - start) // max(1, segment.rows)
            if pending.parts and (schema is not read or not pending.fits(size)):
                yield from _given_back(pending.take(), types, used)
            read = schema
            pending.add(reader.rows(segment, start, stop), stop - start, size)
            used.append((reader, segment))
            if pending.is_full:
                yield from _given_back(pending.take(), types, used)
        yield from _given_back(pending.take(), types, used)

    def stored(
        self, file: str, segment: Segment, stream: int, choices: tuple[int, ...] = (), *, is_sorted: bool = True
    ) -> StoredSegment:
        """A segment that can be looked up, sorted by the chosen numbers: as it was stored, or else here."""
        found = self._opened.get((file, segment.offset, choices))
        if found is None:
            reader = self.reader(file)
            with measuring("opening"):
                found = self._index(reader.batch(segment), segment, stream, choices, is_sorted)
            self._opened[file, segment.offset, choices] = found
        return found

    def searchable(
        self, file: str, segment: Segment, stream: int, choices: tuple[int, ...] = (), *, is_sorted: bool = True
    ) -> Searchable:
        """A segment for lookups: open, or under a limit such that it is opened by them."""
        if self._kept_bytes is None:
            return self.stored(file, segment, stream, choices, is_sorted=is_sorted)
        grouped = is_sorted and is_grouped(self.reader(file).schemas[segment.schema])
        return UnopenedSegment(self, Place(file, segment, stream, choices, is_sorted), grouped)

    def runs(
        self, segments: Sequence[tuple[str, Segment]], stream: int, choices: tuple[int, ...]
    ) -> Sequence[SortedIndex]:
        """The first indexes of segments that are merged: open, or under a limit opened one by one."""
        if self._kept_bytes is None:
            return [self.stored(file, segment, stream, choices).indexes[0] for file, segment in segments]
        return UnopenedRuns(self, [Place(file, segment, stream, choices, True) for file, segment in segments])

    def parts_of(self, place: Place) -> Iterator[StoredSegment]:
        """A segment under a limit: as it is kept, or in parts that are given back."""
        key = (place.file, place.segment.offset, place.choices)
        found = self._opened.get(key)
        if found is None and self._admits(key, place):
            found = self.stored(place.file, place.segment, place.stream, place.choices, is_sorted=place.is_sorted)
        if found is not None:
            self._room.use(key, self._step)
            yield found
            return
        reader = self.reader(place.file)
        for _, segment, (start, stop) in ranges_of(whole(place.file, place.segment)):
            with measuring("opening"):
                batch = reader.rows(segment, start, stop)
                # A range of sorted rows is sorted, but only the whole has the stored order of another index.
                is_whole = stop - start == segment.rows
                part = self._index(batch, segment, place.stream, place.choices, place.is_sorted, is_whole)
            yield replace(part, transient=True)
            reader.bytes.release(segment)

    def largest_of(self, place: Place, number: Expression) -> float:
        """The largest magnitude of a number in a segment under a limit."""
        key = (place.file, place.segment.offset, number)
        if key not in self._largest:
            self._largest[key] = max((part.largest(number) for part in self.parts_of(place)), default=0.0)
        return self._largest[key]

    def index_of(self, place: Place) -> SortedIndex:
        """The first index of a sorted segment under a limit; of the one before it, the pages are given back."""
        if self._last_run is not None:
            self.reader(self._last_run.file).bytes.drop_pages(self._last_run.segment)
        self._last_run = place
        batch = self.reader(place.file).batch(place.segment)
        rows = plain_rows(batch, column_types(self.plan, place.stream))
        first = self.plan.indexes(place.stream, place.choices)[0]
        return stored_index(batch, True, self.plan, 0, first, place.stream, rows)

    def _admits(self, key: Opened, place: Place) -> bool:
        """Whether a segment can be kept open; makes room for it."""
        size = place.segment.length + place.segment.rows * INDEX_BYTES
        admitted, left = self._room.enter(key, size, self._step, self._kept_bytes or 0)
        for other in left:
            self._close(other)
        if admitted:
            self._segments[key] = place.segment
        return admitted

    def _close(self, key: Opened) -> None:
        """Close an open segment, and give its pages back."""
        self._opened.pop(key, None)
        segment, reader = self._segments.pop(key, None), self._readers.get(key[0])
        if segment is not None and reader is not None:
            reader.bytes.release(segment)

    def _index(
        self,
        batch: pa.RecordBatch,
        segment: Segment,
        stream: int,
        choices: tuple[int, ...],
        is_sorted: bool,
        is_whole: bool = True,
    ) -> StoredSegment:
        rows = plain_rows(batch, column_types(self.plan, stream))
        rows = rows if is_sorted else possible_rows(self.plan, stream, rows)
        open_one = partial(stored_index, batch, is_whole) if is_sorted else sorted_index
        indexes = tuple(
            open_one(self.plan, number, index, stream, rows)
            for number, index in enumerate(self.plan.indexes(stream, choices))
        )
        grouped = is_sorted and is_grouped(batch.schema)
        return StoredSegment(rows, indexes, segment.min_time, segment.max_time, choices, grouped)

    def use(self, files: Iterable[str], step: int) -> None:
        """Begin a task that reads these files; close the blocks that no task of the last steps was to read."""
        self._step = step
        self._last_used.update(dict.fromkeys(files, step))
        if step == self._swept:
            return
        self._swept = step
        kept = {file: used for file, used in self._last_used.items() if used > step - KEPT_STEPS}
        if len(kept) < len(self._last_used):
            self._last_used = kept
            self._readers = {file: reader for file, reader in self._readers.items() if file in kept}
            for place in [place for place in self._opened if place[0] not in kept]:
                del self._opened[place]
                self._segments.pop(place, None)
                self._room.leave(place)
            self._last_run = None
            self._largest = {place: found for place, found in self._largest.items() if place[0] in kept}
        self._copies.sweep()


def column_types(plan: JoinPlan, number: int) -> dict[str, str]:
    """Spark's simple type of every stored column of a stream or intermediate result, Braid's own included."""
    return {name: kind for member in plan.members(number) for name, kind in _own_types(plan, member).items()}


def joined_types(plan: JoinPlan, streams: Iterable[int]) -> dict[str, str]:
    """The same for the joined rows of several streams."""
    return {name: kind for stream in streams for name, kind in _own_types(plan, stream).items()}


def _own_types(plan: JoinPlan, stream: int) -> dict[str, str]:
    types = {column.name: column.type for column in plan.streams[stream].columns}
    types.update(dict.fromkeys(plan.hashed(stream), "bigint"))
    types.update({id_column(stream): "bigint"} if stream in plan.row_based else {})
    return types


def plain_rows(batch: pa.RecordBatch, types: Mapping[str, str]) -> Rows:
    """The rows of a segment with the columns that are read: no index positions, and nothing for earlier queries."""
    columns = {name: column for name, column in zip(batch.schema.names, batch.columns, strict=True) if name in types}
    return Rows(columns, types, batch.num_rows)


def _pieces(batches: Sequence[pa.RecordBatch], types: Mapping[str, str]) -> Iterator[Rows]:
    """Batches with the same columns as rows; a single one may be larger than a piece."""
    if batches:
        joined = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        yield from plain_rows(joined, types).pieces()


def possible_rows(plan: JoinPlan, number: int, rows: Rows) -> Rows:
    """The rows that can be in a result: rows stored by an earlier query may have NULLs where this one allows none."""
    required = plan.streams[number].required if number < len(plan.streams) else ()
    # What a pushed selection alone reads is required at ingest, but not stored.
    columns = [rows.columns[name] for name in required if name in rows.columns and rows.columns[name].null_count]
    if not columns:
        return rows
    known = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns]
    return rows.take(np.flatnonzero(np.logical_and.reduce(known)))


def ranges_of(part: Part) -> Iterator[Part]:
    """A part of a long segment in parts of at most a piece; a short one as it is."""
    file, segment, (start, stop) = part
    step = max(1, segment.rows * sizes.piece_bytes() // max(1, segment.length))
    for first in range(start, stop, step):
        yield Part(file, segment, (first, min(first + step, stop)))


def _given_back(
    batches: Sequence[pa.RecordBatch], types: Mapping[str, str], used: list[tuple[BlockReader, Segment]]
) -> Iterator[Rows]:
    """Batches as rows, and then the pages of the segments that they were read from."""
    yield from _pieces(batches, types)
    for reader, segment in used:
        reader.bytes.release(segment)
    used.clear()
