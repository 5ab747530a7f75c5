"""Partial aggregates: results that are only aggregated are added up in the task that found them.

A block has a segment per table and part of the aggregate state. A segment's unit is the table number, its route the
part. In an ordered query rows have a result time. Where changes depend on the result times of all groups, one more
segment has all result times of the block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.commands import ProbeCommand
from braid.engine.reports import BufferedFile, Output
from braid.engine.tasks.task import SlotTask
from braid.kernels import sizes
from braid.kernels.aggregate.aggregation import add_up, group_hashes, unit_rows, with_hashes
from braid.kernels.aggregate.columns import TIME
from braid.kernels.sizes import table_pieces
from braid.plan.aggregation import Aggregation
from braid.state.blocks import BlockWriter, WrittenBlock
from braid.state.files import Files

# Buffered rows are added up at this number, so memory grows with the groups and not with the results.
MAX_BUFFERED_ROWS = 1 << 17
TIMES_OF_ALL = -1
"""The table number of the segment that has all result times of a block."""


def open_partials(task: SlotTask, command: ProbeCommand, name: str) -> PartialSink:
    """The sink of a probe task whose results are only aggregated."""
    if task.plan.aggregation is None:
        raise RuntimeError("this join has no aggregation")
    return PartialSink(task.plan.aggregation, *task.block_path(f"{name}.partial"), command.aggregate_parts)


class PartialSink:
    """Adds a task's results up by table, and writes them as one block."""

    def __init__(self, aggregation: Aggregation, files: Files, path: str, parts: int) -> None:
        self._aggregation = aggregation
        self._buffered: dict[int, list[pa.Table]] = {}
        self._written = TableWriter(aggregation, parts, files, path)
        self._rows = 0
        self._newest: int | None = None

    def add(self, results: pa.RecordBatch) -> None:
        self._rows += results.num_rows
        for number, table in enumerate(unit_rows(self._aggregation, results)):
            if table.num_rows:
                self._buffer(number, table)
        if self._aggregation.time_of == "result" and results.num_rows:
            newest = pc.max(results.column(results.num_columns - 1).cast(pa.int64())).as_py()
            self._newest = newest if self._newest is None else max(self._newest, newest)

    def close(self) -> Output:
        for number in sorted(self._buffered):
            self._write(number)
        block = self._written.close_partials()
        buffered = BufferedFile(block) if block is not None and self._aggregation.ordered else None
        return Output(self._rows, buffered=buffered, partial=block, newest_us=self._newest)

    def _buffer(self, number: int, table: pa.Table) -> None:
        buffered = self._buffered.setdefault(number, [])
        buffered.append(table)
        size = sum(part.nbytes for part in buffered)
        is_batched = self._aggregation.updates == "batched"
        if is_batched and (sum(part.num_rows for part in buffered) >= MAX_BUFFERED_ROWS or size > sizes.piece_bytes()):
            buffered[:] = [self._added_up(number, buffered)]
            size = buffered[0].nbytes
        if size > sizes.piece_bytes() // 2:
            self._write(number)

    def _write(self, number: int) -> None:
        """Write the buffered rows of a table. A group may have rows in several segments: readers add them up."""
        table = self._together(number)
        del self._buffered[number]
        self._written.add({number: table})

    def _together(self, number: int) -> pa.Table:
        buffered = self._buffered[number]
        return (
            self._added_up(number, buffered) if self._aggregation.updates == "batched" else pa.concat_tables(buffered)
        )

    def _added_up(self, number: int, tables: list[pa.Table]) -> pa.Table:
        return add_up(self._aggregation, number, tables, by_time=keeps_times(self._aggregation))


def keeps_times(aggregation: Aggregation) -> bool:
    """Whether partial aggregates keep every result time of a value or a distinct row.

    In order, a value stops to count after its newest time, and a distinct row moves the newest released time even if it
    is already known.
    """
    return aggregation.ordered and (aggregation.slides or aggregation.is_distinct)


class TableWriter:
    """Writes tables as one block, in segments by part, of bounded size, sorted by hash.

    The rows of a closed block are those of its tables, without the segment of all result times.
    """

    def __init__(self, aggregation: Aggregation, parts: int, files: Files, path: str) -> None:
        self._aggregation = aggregation
        self._parts = parts
        self._writer = BlockWriter(files, path)
        self._times = np.zeros(0, np.int64)
        self._rows = 0

    def add(self, tables: Mapping[int, pa.Table]) -> None:
        for number, table in tables.items():
            self._rows += table.num_rows
            if number == 0 and self._aggregation.ordered and TIME in table.column_names:
                self._times = np.union1d(self._times, table[TIME].to_numpy())
            for piece in table_pieces(table):
                self._add(number, piece)

    def close(self) -> WrittenBlock | None:
        """The block; None if no rows were added."""
        block = self._writer.close()
        return None if block is None else replace(block, rows=self._rows)

    def close_partials(self) -> WrittenBlock | None:
        """The block of partial aggregates; in order, its times are those of table 0."""
        if not self._rows:
            return None
        times = self._times if self._aggregation.ordered else np.zeros(1, np.int64)
        if self._aggregation.ordered and self._aggregation.slides:
            batch = pa.RecordBatch.from_arrays([pa.array(times)], names=[TIME])
            self._writer.add(TIMES_OF_ALL, TIMES_OF_ALL, batch, int(times[0]), int(times[-1]))
        block = self.close()
        return None if block is None else replace(block, min_time=int(times[0]), max_time=int(times[-1]))

    def _add(self, number: int, table: pa.Table) -> None:
        ordered = with_hashes(self._aggregation, number, table)
        place = part_of(self._aggregation, ordered, self._parts)
        for part in np.unique(place):
            piece = ordered.take(pa.array(np.flatnonzero(place == part))).combine_chunks()
            (batch,) = piece.to_batches()
            self._writer.add(number, int(part), batch, *_span(piece))


def part_of(aggregation: Aggregation, table: pa.Table, parts: int) -> np.ndarray:
    """The part of the aggregate state that each row's group belongs to."""
    return (group_hashes(aggregation, table).view(np.uint64) % np.uint64(parts)).astype(np.int64)


def _span(table: pa.Table) -> tuple[int, int]:
    if TIME not in table.column_names:
        return 0, 0
    edges = pc.min_max(table[TIME])
    return edges["min"].as_py(), edges["max"].as_py()
