"""Open blocks in a task: mapped files, checked segments and their indexes, cached while they are in use.

A worker process runs many tasks, of any slot, and later tasks use what earlier ones opened. Blocks that no command has
named for some steps are closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from braid.errors import CorruptStateError
from braid.kernels import sizes
from braid.kernels.keys import index_keys
from braid.kernels.ordering import SortedIndex, open_index, range_values, sort_positions
from braid.kernels.probing import StoredSegment
from braid.kernels.rows import Rows
from braid.plan.join import Index, JoinPlan, id_column
from braid.state.blocks import BlockReader, Segment
from braid.state.cache import LocalCopies
from braid.state.usage import measuring

# Columns of a segment for each index but the first: the positions of its rows in the order of the index, and the keys
# and numbers in that order. They are mapped with the rows, so the workers of an executor share them. Rows that are
# sorted by partition group have the keys of the first index too.
POSITIONS, KEYS, NUMBERS = "#index:", "#keys:", "#numbers:"
# A worker meets the same slot again within a few steps.
KEPT_STEPS = 4


class Part(NamedTuple):
    """Rows of a stored segment, from the first up to the last."""

    file: str
    segment: Segment
    rows: tuple[int, int]


def whole(file: str, segment: Segment) -> Part:
    """All rows of a segment."""
    return Part(file, segment, (0, segment.rows))


class SegmentStore:
    """The blocks a worker has open."""

    def __init__(self, plan: JoinPlan, copies: LocalCopies, directory: str) -> None:
        self.plan = plan
        self._copies = copies
        self._directory = directory
        self._readers: dict[str, BlockReader] = {}
        self._opened: dict[tuple[str, int, tuple[int, ...]], StoredSegment] = {}
        self._last_used: dict[str, int] = {}
        self._swept: int | None = None

    def reader(self, file: str) -> BlockReader:
        found = self._readers.get(file)
        if found is None:
            with measuring("opening"):
                found = self._readers[file] = self._open(f"{self._directory}/{file}")
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
        for part in parts:
            file, segment, (start, stop) = part
            reader = self.reader(file)
            schema, batch = reader.schemas[segment.schema], reader.batch(segment)
            batch = batch if stop - start == segment.rows else batch.slice(start, stop - start)
            if pending and (schema is not read or size + segment.length > sizes.PIECE_BYTES):
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

    def _index(
        self, batch: pa.RecordBatch, segment: Segment, stream: int, choices: tuple[int, ...], is_sorted: bool
    ) -> StoredSegment:
        rows = plain_rows(batch, column_types(self.plan, stream))
        rows = rows if is_sorted else possible_rows(self.plan, stream, rows)
        open_one = partial(_stored_index, batch) if is_sorted else _sorted_index
        indexes = tuple(
            open_one(self.plan, number, index, stream, rows)
            for number, index in enumerate(self.plan.indexes(stream, choices))
        )
        grouped = is_sorted and _is_grouped(batch)
        return StoredSegment(rows, indexes, segment.min_time, segment.max_time, choices, grouped)

    def use(self, files: Iterable[str], step: int) -> None:
        """Begin a task that reads these files; close the blocks that no task of the last steps was to read."""
        self._last_used.update(dict.fromkeys(files, step))
        if step == self._swept:
            return
        self._swept = step
        kept = {file: used for file, used in self._last_used.items() if used > step - KEPT_STEPS}
        if len(kept) < len(self._last_used):
            self._last_used = kept
            self._readers = {file: reader for file, reader in self._readers.items() if file in kept}
            self._opened = {place: segment for place, segment in self._opened.items() if place[0] in kept}
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


def _stored_index(
    batch: pa.RecordBatch, plan: JoinPlan, number: int, index: Index, stream: int, rows: Rows
) -> SortedIndex:
    """An index of a segment as it is stored; the rows are in the order of the first."""
    positions = _column(batch, POSITIONS, number)
    keys, numbers = _column(batch, KEYS, number), _column(batch, NUMBERS, number)
    if _is_grouped(batch):
        if numbers is None and index.range is not None:
            numbers = range_values(index.range, rows)
            numbers = numbers if positions is None else numbers[positions]
        return SortedIndex(rows.length, keys, numbers, positions)
    is_complete = (keys is None) == (not index.parts) and (numbers is None) == (index.range is None)
    if positions is not None and is_complete:
        return SortedIndex(rows.length, keys, numbers, positions)
    return open_index(plan, index, stream, rows, positions)


def _is_grouped(batch: pa.RecordBatch) -> bool:
    """Whether rows are sorted by partition group: only then the keys of the first index are stored."""
    return f"{KEYS}0" in batch.schema.names


def _column(batch: pa.RecordBatch, kind: str, number: int) -> np.ndarray | None:
    name = f"{kind}{number}"
    return batch.column(name).to_numpy() if name in batch.schema.names else None


def _sorted_index(plan: JoinPlan, number: int, index: Index, stream: int, rows: Rows) -> SortedIndex:
    """An index that the segment was not stored for."""
    numbers = None if index.range is None else range_values(index.range, rows)
    return open_index(plan, index, stream, rows, sort_positions(index_keys(plan, index, stream, rows), numbers))
