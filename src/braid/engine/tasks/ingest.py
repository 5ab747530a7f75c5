"""Ingest: a task splits its rows into late and on-time rows, places and sorts them, and writes one block.

Memory is bounded: rows are read in chunks, and each chunk becomes segments of the task's block. All rows of a chunk
count for the watermark before any row is filtered out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from braid.engine.commands import IngestCommand
from braid.engine.tasks.sampling import KeySample
from braid.engine.tasks.segments import POSITIONS, column_types
from braid.kernels import sizes
from braid.kernels.keys import Keys, index_keys, stored_keys
from braid.kernels.ordering import range_values, sort_positions
from braid.kernels.rows import Positions, Rows
from braid.kernels.sizes import Buffer, batch_pieces, byte_cuts, row_sizes
from braid.kernels.times import row_times
from braid.placement.units import Placed, store_at
from braid.plan.instants import clipped
from braid.plan.join import KEEP, JoinPlan, StreamPlan, id_column
from braid.plan.layout import Layout
from braid.state.blocks import BlockWriter
from braid.state.files import Files

# Sorting larger chunks needs more memory, and smaller ones make more segments to search.
CHUNK_ROWS = 500_000
# Event times a task reports, so that the driver can estimate how long rows wait for their order.
SAMPLED_TIMES = 128
# The column `batch` of late rows has the number of the step, like `batchId` in progress.
LATE_BATCH = "batch"
LATE_WATERMARK = "watermark"
LATE_ROW = "row"
LATE_REASON = "reason"
REASONS = np.array(["no event time", "ahead of the clock", "below the watermark"], dtype=object)
ON_TIME, NO_TIME, AHEAD, BELOW = (np.int8(place) for place in (-1, 0, 1, 2))


@dataclass(frozen=True)
class IngestPlaces:
    """Where a task writes: block and late-row files, with a name that no other attempt has."""

    files: Files
    blocks: str
    staging: str
    name: str
    partition: int = 0


def ingest(
    plan: JoinPlan, stream: int, command: IngestCommand, places: IngestPlaces, batches: Iterator[pa.RecordBatch]
) -> dict[str, Any]:
    """Ingest all batches of one task, and report what was written."""
    task = _IngestTask(plan, plan.streams[stream], command, places)
    try:
        for chunk in _chunks(batches):
            task.take(chunk)
    finally:
        task.close()
    return task.report()


def placed_rows(plan: JoinPlan, layout: Layout, number: int, rows: Rows, salt: int) -> Placed:
    """The placement of rows; an intermediate result is placed like its first stream."""
    return store_at(layout, plan.members(number)[0], common_keys(plan, number, rows), rows.length, salt)


def common_keys(plan: JoinPlan, number: int, rows: Rows) -> Keys | None:
    """The keys that all streams share, if there are any."""
    return None if plan.common_part is None else stored_keys(plan, plan.common_part, number, rows)


def sorted_segments(
    plan: JoinPlan, stream: int, rows: Rows, placed: Placed
) -> Iterator[tuple[int, int, pa.RecordBatch, int, int]]:
    """The rows of each unit and route in the stream's stored order, as (unit, route, batch, oldest, newest)."""
    for piece in _placed_pieces(rows, placed):
        yield from _sorted_piece(plan, stream, rows, piece)


def _placed_pieces(rows: Rows, placed: Placed) -> Iterator[Placed]:
    """Placements of bounded size: rows that are stored several times may take a multiple of their own size."""
    count = len(placed.units)
    if rows.nbytes * max(1.0, count / max(1, rows.length)) <= sizes.PIECE_BYTES:
        yield placed
        return
    every = row_sizes(rows.columns.values(), rows.length)
    at = np.arange(rows.length) if placed.rows is None else placed.rows
    for cut in byte_cuts(every[at]):
        yield Placed(placed.units[cut], placed.routes[cut], at[cut])


def _sorted_piece(
    plan: JoinPlan, stream: int, rows: Rows, placed: Placed
) -> Iterator[tuple[int, int, pa.RecordBatch, int, int]]:
    rows = rows if placed.rows is None else rows.take(placed.rows)
    first = plan.indexes(stream)[0]
    numbers = None if first.range is None else range_values(first.range, rows)
    spread = int(placed.routes.max()) + 1
    place = placed.units * spread + placed.routes
    positions = sort_positions(index_keys(plan, first, stream, rows), numbers, place if place.any() else None)
    ordered = rows.take(positions)
    place = place[positions]
    edges = np.flatnonzero(place[1:] != place[:-1]) + 1
    for start, stop in zip([0, *edges], [*edges, len(place)], strict=True):
        part = ordered.slice(int(start), int(stop))
        times = row_times(plan, stream, part)
        unit, route = divmod(int(place[start]), spread)
        yield unit, route, _with_positions(plan, stream, part), int(times.min()), int(times.max())


class _IngestTask:
    def __init__(self, plan: JoinPlan, stream: StreamPlan, command: IngestCommand, places: IngestPlaces) -> None:
        self._plan = plan
        self._stream = stream
        self._command = command
        self._places = places
        self._types = column_types(plan, stream.number)
        self._block: BlockWriter | None = None
        self._arrival_log: BlockWriter | None = None
        self._late: pq.ParquetWriter | None = None
        self._late_output: Any = None
        self._rows = 0
        self._late_rows = 0
        self._newest: int | None = None
        self._times: list[npt.NDArray[np.int64]] = []
        self._sample = KeySample(plan, stream.number)

    def take(self, chunk: pa.RecordBatch) -> None:
        if self._stream.window_rows is not None:
            chunk = self._numbered(chunk)
        self._rows += chunk.num_rows
        reasons = self._late_reasons(chunk)
        late = reasons != ON_TIME
        if late.any():
            self._write_late(chunk.filter(pa.array(late)), reasons[late])
        if self._stream.window_rows is not None:
            self._log_arrivals(chunk.filter(pa.array(~late)))
        keep = ~late & self._selected(chunk)
        stored = chunk.select([name for name in chunk.schema.names if name in self._types])
        rows = Rows.from_batch(stored if keep.all() else stored.filter(pa.array(keep)), self._types)
        if rows.length:
            self._store(rows)
            if self._plan.ordered:
                times = rows.times(self._stream.time)
                self._times.append(times[:: max(1, -(-len(times) // SAMPLED_TIMES))])

    def _numbered(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with an id that no other row of the stream has."""
        ids = self._command.row_ids.of(self._places.partition, self._rows, chunk.num_rows)
        return chunk.append_column(id_column(self._stream.number), pa.array(ids))

    def _log_arrivals(self, chunk: pa.RecordBatch) -> None:
        """Log every on-time row, also rows that the selection removes: a row-based window counts all of them."""
        if chunk.num_rows == 0:
            return
        if self._arrival_log is None:
            self._arrival_log = BlockWriter(self._places.files, f"{self._places.blocks}/{self._places.name}.arrivals")
            self._arrival_log.__enter__()
        own = [name for name in chunk.schema.names if name == id_column(self._stream.number) or name[0] != "#"]
        times = chunk.column(self._stream.time).cast(pa.int64()).to_numpy()
        self._arrival_log.add(0, 0, chunk.select(own), int(times.min()), int(times.max()))

    def close(self) -> None:
        if self._arrival_log is not None:
            self._arrival_log.__exit__(None, None, None)
        if self._block is not None:
            self._block.__exit__(None, None, None)
        if self._late is not None:
            self._late.close()
            self._late_output.__exit__(None, None, None)

    def report(self) -> dict[str, Any]:
        segments = [] if self._block is None else self._block.segments
        return {
            "stream": self._stream.number,
            "rows": self._rows,
            "late": self._late_rows,
            "newest": self._newest,
            "times": self._sampled_times(),
            "arrival_log": self._arrival_log_report(),
            "keys": self._sample.report(),
            "late_file": None if self._late is None else self._late_name(),
            "block": None
            if self._block is None
            else {
                "file": self._block_name(),
                "rows": self._block.rows,
                "size": self._block.size,
                "min_time": min(segment.min_time for segment in segments),
                "max_time": max(segment.max_time for segment in segments),
            },
        }

    def _arrival_log_report(self) -> dict[str, Any] | None:
        if self._arrival_log is None:
            return None
        segments = self._arrival_log.segments
        return {
            "stream": self._stream.number,
            "file": f"{self._places.name}.arrivals",
            "rows": self._arrival_log.rows,
            "min_time": min(segment.min_time for segment in segments),
            "max_time": max(segment.max_time for segment in segments),
        }

    def _sampled_times(self) -> list[int]:
        """A sample of the event times of the stored rows, for ordered queries."""
        if not self._times:
            return []
        times = np.sort(np.concatenate(self._times))
        return [int(time) for time in times[:: max(1, -(-len(times) // SAMPLED_TIMES))]]

    def _late_reasons(self, chunk: pa.RecordBatch) -> npt.NDArray[np.int8]:
        """Why each row is late, an index into `REASONS`; rows without a time or ahead of the clock move no mark."""
        column = chunk.column(self._stream.time)
        times = column.cast(pa.int64()) if column.null_count == 0 else column.cast(pa.int64()).fill_null(0)
        values = times.to_numpy()
        timely = column.is_valid().to_numpy(zero_copy_only=False)
        reasons = np.where(timely, ON_TIME, NO_TIME)
        last, watermark = (of[self._stream.number] for of in (self._command.newest_us, self._command.watermarks))
        if last is not None:
            reasons[timely & (values > last)] = AHEAD
            timely = timely & (values <= last)
        if timely.any():
            newest = int(values[timely].max())
            self._newest = newest if self._newest is None else max(self._newest, newest)
        if watermark is not None:
            reasons[timely & (values < watermark)] = BELOW
        return reasons

    def _selected(self, chunk: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Rows that can be in a result: the pushed selection is true and no required column is null."""
        keep = np.ones(chunk.num_rows, bool)
        if KEEP in chunk.schema.names:
            keep &= pc.fill_null(chunk.column(KEEP), False).to_numpy(zero_copy_only=False)
        for name in self._stream.required:
            column = chunk.column(name)
            if column.null_count:
                keep &= column.is_valid().to_numpy(zero_copy_only=False)
        return keep

    def _store(self, rows: Rows) -> None:
        if self._block is None:
            block = BlockWriter(self._places.files, f"{self._places.blocks}/{self._block_name()}")
            block.__enter__()
            self._block = block
        plan, stream = self._plan, self._stream.number
        keys = common_keys(plan, stream, rows)
        if keys is not None:
            self._sample.add(keys, rows)
        placed = store_at(self._command.layout, stream, keys, rows.length, self._command.step + self._block.rows)
        for segment in sorted_segments(plan, stream, rows, placed):
            self._block.add(*segment)

    def _write_late(self, chunk: pa.RecordBatch, reasons: npt.NDArray[np.int8]) -> None:
        self._late_rows += chunk.num_rows
        own = [name for name in chunk.schema.names if not name.startswith("#")]
        prefix = len(self._stream.name) + 1
        row = pa.StructArray.from_arrays([chunk.column(name) for name in own], [name[prefix:] for name in own])
        watermark = self._command.watermarks[self._stream.number]
        shown = None if watermark is None else clipped(watermark)
        time_type = chunk.schema.field(self._stream.time).type
        table = pa.table(
            {
                LATE_BATCH: pa.repeat(pa.scalar(self._command.step, pa.int64()), len(row)),
                LATE_WATERMARK: pa.repeat(pa.scalar(shown, pa.int64()), len(row)).cast(time_type),
                LATE_ROW: row,
                LATE_REASON: pa.array(REASONS[reasons], pa.string()),
            }
        )
        if self._late is None:
            self._late_output = self._places.files.open_output(f"{self._places.staging}/{self._late_name()}")
            self._late = pq.ParquetWriter(self._late_output.__enter__(), table.schema)
        self._late.write_table(table)

    def _block_name(self) -> str:
        return f"{self._places.name}.block"

    def _late_name(self) -> str:
        return f"{self._places.name}.late.parquet"


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches combined into chunks of bounded rows and bytes; longer ones are cut."""
    buffered = Buffer(CHUNK_ROWS)
    for batch in batches:
        for start in range(0, batch.num_rows, CHUNK_ROWS):
            for piece in batch_pieces(batch.slice(start, CHUNK_ROWS)):
                if not buffered.fits(piece.nbytes):
                    yield _join(buffered.take())
                buffered.add(piece, piece.num_rows, piece.nbytes)
                if buffered.is_full:
                    yield _join(buffered.take())
    if buffered.parts:
        yield _join(buffered.take())


def _join(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _with_positions(plan: JoinPlan, stream: int, rows: Rows) -> pa.RecordBatch:
    """The rows as a batch, with the stored positions of every index but the first."""
    arrays = list(rows.columns.values())
    names = list(rows.columns)
    for number, index in enumerate(plan.indexes(stream)[1:], start=1):
        numbers = None if index.range is None else range_values(index.range, rows)
        positions: Positions = sort_positions(index_keys(plan, index, stream, rows), numbers)
        arrays.append(pa.array(positions.astype(np.int32)))
        names.append(f"{POSITIONS}{number}")
    return pa.RecordBatch.from_arrays(arrays, names=names)
