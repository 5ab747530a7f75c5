"""A slot's parts of the aggregate state: lookups by hash, and compaction with the tables of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.commands import AggregateCommand
from braid.engine.tasks.segments import SegmentStore
from braid.kernels import sizes
from braid.kernels.aggregate.aggregation import add_up, group_hashes, lookup_hashes, unseen
from braid.kernels.aggregate.columns import HASH, TIME, group_columns
from braid.kernels.keys import Keys
from braid.plan.aggregation import Aggregation
from braid.plan.instants import EARLIEST_US, clipped
from braid.state.blocks import Segment
from braid.state.manifest import AggregateState

Tables = dict[int, pa.Table]


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

    def pieces(self, command: AggregateCommand) -> Iterator[AggregateParts]:
        """The same parts, split by group into pieces, so that an update adds up tables of bounded size."""
        read = {*(partial.file for partial in command.partials), *command.rewritten}
        read |= {block.file for block in self._aggregate.blocks if block.generation in command.compacted}
        readers = [self._store.reader(file) for file in read]
        size = sum(r.batch(segment).nbytes for r in readers for segment in r.segments_of(None, self.numbers))
        count = -(-max(1, size) // sizes.piece_bytes())
        for number in range(count):
            piece = copy(self)
            piece._piece = (number, count)
            yield piece

    def in_piece(self, table: pa.Table) -> pa.Table:
        """The rows of a table whose groups are in this piece."""
        number, count = self._piece
        if count == 1 or not set(group_columns(self._aggregation)) <= set(table.column_names):
            return table
        share = (
            group_hashes(self._aggregation, table).view(np.uint64)
            // np.uint64(self._aggregate.parts)
            % np.uint64(count)
        )
        return table.filter(pa.array(share == number))

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
        for file, segment in self._segments(number):
            table = self.table(file, segment)
            stored = table[HASH].to_numpy()
            places = _places(np.searchsorted(stored, wanted, "left"), np.searchsorted(stored, wanted, "right"))
            if len(places):
                found.append(table.take(pa.array(places)))
        return found

    def lost(self, since_us: int, cut_us: int) -> Iterator[pa.Table]:
        """Rows of table 0 from `since_us` on that are older than the cut."""
        for file, segment in self._segments(0):
            if segment.min_time < cut_us:
                table = self.table(file, segment)
                times = table[TIME].to_numpy()
                yield table.filter(pa.array((times >= since_us) & (times < cut_us)))

    def compact(self, added: Tables, generations: Sequence[int], cut_us: int | None) -> Tables:
        """A step's tables merged with those of the compacted generations, without rows older than the cut."""
        tables = {number: [table] for number, table in added.items() if table.num_rows}
        for number in range(1 + len(self._aggregation.sets)):
            for file, segment in self._segments(number, generations):
                tables.setdefault(number, []).append(self.table(file, segment))
        kept = {}
        for number, parts in tables.items():
            whole = add_up(self._aggregation, number, parts)
            if cut_us is not None and TIME in whole.column_names:
                whole = since(whole, cut_us)
            if whole.num_rows:
                kept[number] = whole
        return kept

    def table(self, file: str, segment: Segment) -> pa.Table:
        return self.in_piece(pa.Table.from_batches([self._store.reader(file).batch(segment)]))

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
