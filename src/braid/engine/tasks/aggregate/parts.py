"""A slot's parts of the aggregate state: lookups by hash, and compaction with the tables of a step.

An update is made piece by piece. A piece has the groups of a range of hashes, so of tables that are sorted by them it
reads a range of rows. Tables of distinct values are sorted by group and value, and are read whole for every piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.commands import AggregateCommand
from braid.engine.tasks.lookup.row_ranges import Part, ranges_of
from braid.engine.tasks.segments import SegmentStore
from braid.kernels import sizes
from braid.kernels.aggregate.aggregation import add_up, group_hashes, lookup_hashes, unseen
from braid.kernels.aggregate.columns import HASH, TIME
from braid.kernels.keys import Keys
from braid.plan.aggregation import Aggregation
from braid.plan.instants import EARLIEST_US, clipped
from braid.state.blocks import Segment
from braid.state.manifest import AggregateState

Tables = dict[int, pa.Table]
HASH_BITS = 64


class AggregateParts:
    """The parts of the aggregate state that one slot owns."""

    def __init__(
        self, aggregation: Aggregation, aggregate: AggregateState, slot: int, slots: int, store: SegmentStore
    ) -> None:
        self.numbers = [part for part in range(aggregate.parts) if part % slots == slot]
        self._aggregation = aggregation
        self._aggregate = aggregate
        self._store = store
        self._piece: tuple[int, int] = (0, 1)
        self._edges: dict[tuple[str, int], tuple[int, int]] = {}

    def pieces(self, command: AggregateCommand) -> Iterator[AggregateParts]:
        """The same parts, split by group into pieces, so that an update adds up tables of bounded size.

        Under a limit this also counts what it may find of groups that slide: all that is stored.
        """
        read = {*(partial.file for partial in command.partials), *command.rewritten}
        finds_all = self._aggregation.slides and self._store.is_limited
        read |= {b.file for b in self._aggregate.blocks if finds_all or b.generation in command.compacted}
        readers = [self._store.reader(file) for file in read]
        size = sum(segment.length for reader in readers for segment in reader.segments_of(None, self.numbers))
        count = -(-max(1, size) // sizes.piece_bytes())
        for number in range(count):
            piece = copy(self)
            piece._piece = (number, count)
            yield piece

    def in_piece(self, table: pa.Table) -> pa.Table:
        """The rows of a table whose groups are in this piece."""
        if self._piece[1] == 1:
            return table
        hashes, (low, high) = group_hashes(self._aggregation, table), self._range
        return table.filter(pa.array((hashes >= low) & (hashes <= high)))

    @property
    def _range(self) -> tuple[int, int]:
        """The lowest and the highest hash of the piece's groups."""
        number, count = self._piece
        first, last = ((1 << HASH_BITS) * at // count for at in (number, number + 1))
        return first - (1 << HASH_BITS - 1), last - 1 - (1 << HASH_BITS - 1)

    def known(self, number: int, like: pa.Table, hashes: Keys) -> pa.Table:
        """The stored rows with these hashes, with the columns of `like`."""
        found = [table.select([n for n in table.column_names if n != HASH]) for table in self.found(number, hashes)]
        return pa.concat_tables([like.slice(0, 0), *found], promote_options="default")

    def novel(self, number: int, table: pa.Table) -> pa.Table:
        """The rows of a table that are not stored yet."""
        known = self.known(number, table, lookup_hashes(self._aggregation, number, table))
        return unseen(self._aggregation, number, table, known)

    def found(self, number: int, hashes: Keys) -> list[pa.Table]:
        wanted = np.unique(hashes)
        found = []
        for batch in self._read(self._segments(number)):
            stored = batch.column(HASH).to_numpy()
            places = _places(np.searchsorted(stored, wanted, "left"), np.searchsorted(stored, wanted, "right"))
            if len(places):
                found.append(self.in_piece(pa.Table.from_batches([batch.take(pa.array(places))])))
        return found

    def lost(self, since_us: int, cut_us: int) -> Iterator[pa.Table]:
        """Rows of table 0 from `since_us` on that are older than the cut."""
        for batch in self._read((file, s) for file, s in self._segments(0) if s.min_time < cut_us):
            times = batch.column(TIME).to_numpy()
            rows = batch.filter(pa.array((times >= since_us) & (times < cut_us)))
            yield self.in_piece(pa.Table.from_batches([rows]))

    def compact(self, added: Tables, generations: Sequence[int], cut_us: int | None) -> Tables:
        """A step's tables merged with those of the compacted generations, without rows older than the cut."""
        tables = {number: [table] for number, table in added.items() if table.num_rows}
        for number in range(1 + len(self._aggregation.sets)):
            for file, segment in self._segments(number, generations):
                tables.setdefault(number, []).extend(self.tables(file, segment))
        kept = {}
        for number, parts in ((number, parts) for number, parts in tables.items() if parts):
            whole = add_up(self._aggregation, number, parts)
            if cut_us is not None and TIME in whole.column_names:
                whole = since(whole, cut_us)
            if whole.num_rows:
                kept[number] = whole
        return kept

    def tables(self, file: str, segment: Segment) -> Iterator[pa.Table]:
        """The rows of a segment whose groups are in this piece."""
        for batch in self._read([(file, segment)]):
            table = self.in_piece(pa.Table.from_batches([batch]))
            if table.num_rows:
                yield table

    def _read(self, segments: Iterable[tuple[str, Segment]]) -> Iterator[pa.RecordBatch]:
        """Rows of segments, among them all of this piece."""
        low, high = self._range
        for file, segment in segments:
            by_group = segment.unit == 0 or self._aggregation.slides
            if self._piece[1] == 1 or not by_group:
                yield from self._store.batches(file, segment)
                continue
            first, last = self._hashes_of(file, segment)
            if last < low or first > high:
                continue
            reader = self._store.reader(file)
            stored = reader.batch(segment).column(HASH).to_numpy()
            start, stop = int(np.searchsorted(stored, low)), int(np.searchsorted(stored, high, "right"))
            self._store.give_back(file, segment)
            for _, _, span in ranges_of(Part(file, segment, (start, stop))):
                yield reader.rows(segment, *span)

    def _hashes_of(self, file: str, segment: Segment) -> tuple[int, int]:
        """The first and the last hash of a segment; few segments have rows of a piece."""
        if (file, segment.offset) not in self._edges:
            hashes = self._store.reader(file).batch(segment).column(HASH)
            self._edges[file, segment.offset] = hashes[0].as_py(), hashes[-1].as_py()
            self._store.give_back(file, segment)
        return self._edges[file, segment.offset]

    def _segments(self, number: int, generations: Sequence[int] | None = None) -> Iterator[tuple[str, Segment]]:
        for block in self._aggregate.blocks:
            if generations is None or block.generation in generations:
                for segment in self._store.reader(block.file).segments_of([number], self.numbers):
                    yield block.file, segment


def since(table: pa.Table, time_us: int) -> pa.Table:
    return table.filter(pc.greater_equal(table[TIME], clipped(time_us)))


def oldest_counting(newest_us: int | None, over_us: int | None) -> int:
    """The oldest result time inside the interval that ends at the newest one."""
    return EARLIEST_US if newest_us is None or over_us is None else clipped(newest_us - over_us)


def _places(start: npt.NDArray[np.int64], stop: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All positions of all ranges."""
    counts = stop - start
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    places: npt.NDArray[np.int64] = np.repeat(start, counts) + offsets
    return places
