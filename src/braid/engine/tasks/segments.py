"""Open blocks in a task: mapped files, checked segments and their indexes, cached while they are in use.

A worker process runs many tasks, of any slot, and later tasks use what earlier ones opened. Blocks that no command has
named for some steps are closed. Under a memory limit those are kept open for which there is room; others are opened
part by part while rows look them up. What is read then is copied: with a page that is touched the kernel may map
megabytes around it, so under a limit no page of a file stays mapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.engine.tasks.lookup.row_ranges import Part, ascending_runs, ranges_of, whole
from braid.engine.tasks.lookup.unopened import JoinedRows, Place, UnopenedRuns, UnopenedSegment
from braid.engine.tasks.payloads.fetching import Payloads
from braid.engine.tasks.stored_indexes import is_grouped, sorted_index, stored_index
from braid.engine.tasks.worker.room import Room
from braid.errors import CorruptStateError
from braid.kernels import sizes
from braid.kernels.ordering import SortedIndex
from braid.kernels.probing import Searchable, StoredSegment
from braid.kernels.rows import Rows, possible_rows
from braid.kernels.sizes import Buffer
from braid.plan.expressions import Expression
from braid.plan.join import JoinPlan
from braid.plan.stored_types import joined_types
from braid.state.blocks import BlockReader, Segment
from braid.state.cache import LocalCopies
from braid.state.paging.payload_files import PayloadFile
from braid.state.usage import measuring

# A worker meets the same slot again within a few steps.
KEPT_STEPS = 4
# Keys, numbers, distinct keys and sizes of values that an open segment may need besides its stored bytes, for each row.
INDEX_BYTES = 32
ROWS_PER_PIECE = 1 << 24

Opened = tuple[str, int, tuple[int, ...]]
"""An open segment: its file, its offset, and the numbers that it is sorted by.

Of joined parts, their places are among these numbers."""
JOINED = -1

Begin = Literal["as it is", "closed"]
"""How a step begins: with the segments open that earlier ones kept, or without, because it looks up others."""


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
        self._largest: dict[tuple[str, int, Expression], float] = {}
        self._last_run: Place | None = None
        self._joined_rows: dict[tuple[str, tuple[int, ...], bytes, frozenset[int]], list[JoinedRows]] = {}
        self.payloads = Payloads(plan, (), self._payload_file)

    def fetch_from(self, files: Sequence[PayloadFile], whole: bool = False) -> None:
        """The payload files that the rows of a task have addresses in; whether rows are read `whole`."""
        self.payloads = Payloads(self.plan, files, self._payload_file, whole)

    def _payload_file(self, file: str) -> BlockReader:
        self._last_used[file] = self._step
        return self.reader(file)

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
            found.bytes.drop_all()
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
                yield from self._pieces(pending, types)
                pending, size, rows = [], 0, 0
            read = schema
            pending.append(batch)
            size += segment.length
            rows += stop - start
            if most is not None and rows >= most:
                yield from self._pieces(pending, types)
                pending, size, rows = [], 0, 0
        yield from self._pieces(pending, types)

    def _pieces(self, batches: Sequence[pa.RecordBatch], types: Mapping[str, str]) -> Iterator[Rows]:
        """Batches with the same columns as rows; a single one may be larger than a piece."""
        if batches:
            joined = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
            yield from self.plain_rows(joined, types).pieces()

    def plain_rows(self, batch: pa.RecordBatch, types: Mapping[str, str]) -> Rows:
        """The rows of a segment with the columns that are read: no index positions, and nothing for earlier queries."""
        read = {name: column for name, column in zip(batch.schema.names, batch.columns, strict=True) if name in types}
        return self.payloads.for_lookups(Rows(read, types, batch.num_rows))

    def _rows_by_range(self, parts: Iterable[Part], types: Mapping[str, str], most: int | None) -> Iterator[Rows]:
        """The same under a limit: no more of a long segment is read than a piece, in copies that are not mapped."""
        pending = Buffer(ROWS_PER_PIECE if most is None else most)
        read: pa.Schema = None
        for file, segment, (start, stop) in (range_ for part in parts for range_ in ranges_of(part)):
            reader = self.reader(file)
            schema, size = reader.schemas[segment.schema], segment.length * (stop - start) // max(1, segment.rows)
            if pending.parts and (schema is not read or not pending.fits(size)):
                yield from self._pieces(pending.take(), types)
            read = schema
            pending.add(reader.rows(segment, start, stop), stop - start, size)
            if pending.is_full:
                yield from self._pieces(pending.take(), types)
        yield from self._pieces(pending.take(), types)

    def stored(
        self, file: str, segment: Segment, stream: int, choices: tuple[int, ...] = (), *, is_sorted: bool = True
    ) -> StoredSegment:
        """A segment that can be looked up, sorted by the chosen numbers: as it was stored, or else here."""
        found = self._opened.get((file, segment.offset, choices))
        if found is None:
            reader = self.reader(file)
            with measuring("opening"):
                rows = reader.batch(segment) if self._kept_bytes is None else reader.rows(segment, 0, segment.rows)
                found = self._index(rows, segment, stream, choices, is_sorted)
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

    def batches(self, file: str, segment: Segment) -> Iterator[pa.RecordBatch]:
        """The rows of a segment: all, or under a limit part by part, in copies that are not mapped."""
        reader = self.reader(file)
        if self._kept_bytes is None:
            yield reader.batch(segment)
            return
        for _, _, (start, stop) in ranges_of(whole(file, segment)):
            yield reader.rows(segment, start, stop)

    @property
    def is_limited(self) -> bool:
        """Whether no more of a segment may be in memory than what is used of it."""
        return self._kept_bytes is not None

    def give_back(self, file: str, segment: Segment) -> None:
        """Under a limit, give the pages of a segment back that is read again in this task."""
        self.reader(file).bytes.drop_pages(segment)

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
        if found is None and self._admits(key, place.segment.length + place.segment.rows * INDEX_BYTES):
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

    def joined_rows(
        self, file: str, stream: int, choices: tuple[int, ...], groups: npt.NDArray[np.bool_], units: frozenset[int]
    ) -> list[JoinedRows]:
        """The rows of some partition groups in a block, in parts that are looked up as one; kept for a step."""
        key = (file, choices, groups.tobytes(), units)
        if key not in self._joined_rows:
            runs = ascending_runs(self.reader(file), file, units, groups)
            self._joined_rows[key] = [JoinedRows(self, run, stream, choices) for run in runs]
        return self._joined_rows[key]

    def joined(self, rows: JoinedRows) -> StoredSegment:
        """Parts of a block as one, in a copy, which is kept for the rest of the step if there is room."""
        (file, first, _), offsets = rows.ranges[0], [(part.segment.offset, *part.rows) for part in rows.ranges]
        key = (file, JOINED, (*(number for part in offsets for number in part), *rows.choices))
        found = self._opened.get(key)
        if found is not None:
            return found
        with measuring("opening"):
            reader = self.reader(file)
            found_rows = [reader.rows(segment, *span) for _, segment, span in rows.ranges]
            # A single batch would not be copied.
            batch = _concatenated([*found_rows, found_rows[0].slice(0, 0)])
            found = self._index(batch, first, rows.stream, rows.choices, True, is_whole=False)
        found = replace(found, min_time=rows.min_time, max_time=rows.max_time)
        if self._kept_bytes is not None and not self._admits(key, batch.nbytes + batch.num_rows * INDEX_BYTES):
            return replace(found, transient=True)
        self._opened[key] = found
        return found

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
        rows = self.plain_rows(batch, joined_types(self.plan, self.plan.members(place.stream)))
        first = self.plan.indexes(place.stream, place.choices)[0]
        return stored_index(batch, True, self.plan, 0, first, place.stream, rows)

    def _admits(self, key: Opened, size: int) -> bool:
        """Whether so many bytes can be kept open; makes room for them."""
        admitted, left = self._room.enter(key, size, self._step, self._kept_bytes or 0)
        for other in left:
            self._close(other)
        return admitted

    def _close(self, key: Opened) -> None:
        """Close an open segment."""
        self._opened.pop(key, None)

    def _index(
        self,
        batch: pa.RecordBatch,
        segment: Segment,
        stream: int,
        choices: tuple[int, ...],
        is_sorted: bool,
        is_whole: bool = True,
    ) -> StoredSegment:
        rows = self.plain_rows(batch, joined_types(self.plan, self.plan.members(stream)))
        rows = rows if is_sorted else possible_rows(self.plan, stream, rows)
        open_one = partial(stored_index, batch, is_whole) if is_sorted else sorted_index
        indexes = tuple(
            open_one(self.plan, number, index, stream, rows)
            for number, index in enumerate(self.plan.indexes(stream, choices))
        )
        grouped = is_sorted and is_grouped(batch.schema)
        return StoredSegment(rows, indexes, segment.min_time, segment.max_time, choices, grouped)

    def use(self, files: Iterable[str], step: int, begin: Begin = "as it is") -> None:
        """Begin a task that reads these files; close the blocks that no task of the last steps was to read."""
        self._step = step
        self._last_used.update(dict.fromkeys(files, step))
        if step == self._swept:
            return
        self._swept = step
        self._joined_rows.clear()
        for key in [key for key in self._opened if key[1] == JOINED]:
            self._room.leave(key)
            self._close(key)
        for key in self._room.shrink(0) if begin == "closed" else ():
            self._close(key)
        kept = {file: used for file, used in self._last_used.items() if used > step - KEPT_STEPS}
        if len(kept) < len(self._last_used):
            self._last_used = kept
            self._readers = {file: reader for file, reader in self._readers.items() if file in kept}
            for place in [place for place in self._opened if place[0] not in kept]:
                del self._opened[place]
                self._room.leave(place)
            self._last_run = None
            self._largest = {place: found for place, found in self._largest.items() if place[0] in kept}
        self._copies.sweep()


def _concatenated(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches as one; a column of payloads or their addresses that some do not have is NULL there."""
    if all(batch.schema.equals(batches[0].schema) for batch in batches):
        return pa.concat_batches(batches)
    table = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="default")
    return table.combine_chunks().to_batches()[0]
