"""Payloads by address: fetched for rows that need them, which are few.

Rows are completed where they leave the lookups: as results, as rows of an intermediate result, or for the JVM. What is
fetched at once is bounded like all other pieces. A query that was corrected may look up what was a payload before: such
columns are fetched when rows are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from braid.kernels.rows import Pairs, Positions, Rows
from braid.kernels.sizes import Sizes, byte_cuts, row_sizes
from braid.plan.join import JoinPlan
from braid.plan.payloads import payload_column, payload_columns
from braid.state.blocks import BlockReader
from braid.state.paging.payload_files import PayloadFile, PayloadIndex
from braid.state.usage import count_fetched

OpenFile = Callable[[str], BlockReader]


class Payloads:
    """The payload files of a step's rows; where rows are to be `whole`, none is read without its payload."""

    def __init__(self, plan: JoinPlan, files: Sequence[PayloadFile], open_file: OpenFile, whole: bool = False) -> None:
        self.files = files
        self._open = open_file
        self._whole = whole
        self._plan = plan
        by_stream: dict[int, list[PayloadFile]] = defaultdict(list)
        for file in files:
            by_stream[file.stream].append(file)
        self._by_stream = by_stream
        self._indexes: dict[int, PayloadIndex] = {}
        self._read = {stream: self._read_columns(plan, stream, own) for stream, own in by_stream.items()}
        self._sizes: dict[str, Sizes] = {}

    def _read_columns(self, plan: JoinPlan, stream: int, files: Sequence[PayloadFile]) -> frozenset[str]:
        """The columns of payloads that lookups read: all, or those that were payloads for an earlier query alone."""
        names = {name for columns in {file.columns for file in files} for name in columns}
        return frozenset(names if self._whole else names - set(payload_columns(plan, stream)))

    def for_lookups(self, rows: Rows) -> Rows:
        """Rows that were read, with all columns that lookups need."""
        for stream in self._addressed(rows) if self.files else ():
            names = self._read[stream] & rows.types.keys()
            if names:
                columns = {**rows.columns, **self._fetch(rows, stream, names)}
                if self._whole:
                    del columns[payload_column(stream)]
                rows = Rows(columns, rows.types, rows.length)
        return rows

    def complete(self, found: Pairs) -> Iterator[Pairs]:
        """Pairs with their payloads, in pieces of bounded size; those that have none elsewhere are left as they are."""
        if not (self.files and (self._addressed(found.left) or self._addressed(found.right))):
            yield found
            return
        for rows in self.whole_rows(found.to_rows()):
            every = np.arange(rows.length)
            yield Pairs(rows, Rows({}, {}, 0), every, every)

    def whole_rows(self, rows: Rows) -> Iterator[Rows]:
        """Rows with their payloads, in pieces of bounded size."""
        streams = self._addressed(rows) if self.files else []
        if not streams:
            yield rows
            return
        bytes_of = row_sizes(rows.columns.values(), rows.length)
        for stream in streams:
            places, numbers, at = self._locate(rows, stream)
            for number in np.unique(numbers).tolist():
                own = numbers == number
                bytes_of[places[own]] += self._sizes_of(self._index(stream).files[number])[at[own]]
        for cut in byte_cuts(bytes_of):
            yield self._completed(rows.slice(cut.start, cut.stop), streams)

    def _completed(self, rows: Rows, streams: Sequence[int]) -> Rows:
        columns = dict(rows.columns)
        for stream in streams:
            columns |= self._fetch(rows, stream, payload_columns(self._plan, stream))
            del columns[payload_column(stream)]
        return Rows(columns, rows.types, rows.length)

    def _addressed(self, rows: Rows) -> list[int]:
        """The streams whose rows among these have addresses."""
        return [stream for stream in self._by_stream if rows.has(payload_column(stream))]

    def _index(self, stream: int) -> PayloadIndex:
        if stream not in self._indexes:
            self._indexes[stream] = PayloadIndex(self._by_stream[stream])
        return self._indexes[stream]

    def _locate(self, rows: Rows, stream: int) -> tuple[Positions, Positions, Positions]:
        """Which rows have an address, and of each the number of the file and the row there."""
        addresses = rows.columns[payload_column(stream)]
        if addresses.null_count == 0:
            return np.arange(rows.length), *self._index(stream).find(addresses.to_numpy())
        places = np.flatnonzero(addresses.is_valid().to_numpy(zero_copy_only=False))
        return places, *self._index(stream).find(addresses.drop_null().to_numpy())

    def _fetch(self, rows: Rows, stream: int, names: Collection[str]) -> dict[str, pa.Array]:
        """Columns of payloads; a row without an address has them already, or a column was not in its payload."""
        if rows.length == 0:
            return {name: pa.nulls(0, self._plan.schemas[stream].field(name).type) for name in names}
        places, numbers, at = self._locate(rows, stream)
        order = np.argsort(numbers, kind="stable")
        edges = np.flatnonzero(np.diff(numbers[order], prepend=-1)).tolist()
        parts: dict[str, list[tuple[Positions, pa.Array]]] = {name: [] for name in names}
        for start, stop in pairwise([*edges, len(order)]):
            own = order[start:stop]
            file = self._index(stream).files[int(numbers[own[0]])]
            wanted = [name for name in file.columns if name in parts]
            for inside, batch in self._taken(file, at[own], wanted):
                for name, column in zip(wanted, batch.columns, strict=True):
                    parts[name].append((places[own[inside]], column))
        found = {name: _together(rows, name, own) for name, own in parts.items()}
        return {name: column for name, column in found.items() if column is not None}

    def _taken(
        self, file: PayloadFile, at: Positions, names: Sequence[str]
    ) -> Iterator[tuple[Positions, pa.RecordBatch]]:
        """Columns of some rows of a file, segment by segment, with the places of these rows among those asked for."""
        reader, first = self._open(file.file), 0
        for segment in reader.segments if names else ():
            inside = np.flatnonzero((at >= first) & (at < first + segment.rows))
            if len(inside):
                batch = reader.uncounted(segment).select(names).take(pa.array(at[inside] - first))
                reader.bytes.drop_pages(segment)
                count_fetched(file.file, batch.nbytes)
                yield inside, batch
            first += segment.rows

    def _sizes_of(self, file: PayloadFile) -> Sizes:
        """The bytes of each row of a file."""
        if file.file not in self._sizes:
            reader = self._open(file.file)
            batches = (reader.uncounted(segment) for segment in reader.segments)
            self._sizes[file.file] = np.concatenate([row_sizes(batch.columns, batch.num_rows) for batch in batches])
        return self._sizes[file.file]


def _together(rows: Rows, name: str, parts: Sequence[tuple[Positions, pa.Array]]) -> pa.Array | None:
    """A column of rows from what was fetched of it for some of them, and what the others have; None if none has it."""
    fetched, arrays = np.concatenate([np.zeros(0, np.int64), *(places for places, _ in parts)]), [a for _, a in parts]
    if len(fetched) < rows.length:
        if name not in rows.columns:
            return None
        others = np.setdiff1d(np.arange(rows.length), fetched)
        fetched = np.concatenate([fetched, others])
        arrays.append(rows.columns[name].take(pa.array(others)))
    joined = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    if (fetched[:-1] < fetched[1:]).all():
        return joined
    places = np.empty(rows.length, np.int64)
    places[fetched] = np.arange(rows.length)
    return joined.take(pa.array(places))
