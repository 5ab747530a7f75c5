"""Ingest: a task splits its rows into late and on-time rows, places them, and writes one block or passes them on.

Memory is bounded: rows are read in chunks, and each chunk becomes segments of the task's block, or pieces for the slots
(`shuffle.py`). All rows of a chunk count for the watermark before any row is filtered out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.commands import IngestCommand
from braid.engine.locations import Locations
from braid.engine.reports import IngestReport
from braid.engine.tasks.late_rows import AHEAD, BELOW, NO_TIME, ON_TIME, LateRowWriter
from braid.engine.tasks.payloads.writing import PayloadWriter
from braid.engine.tasks.sampling import KeySample, NumberSampling, RowSampling
from braid.engine.tasks.storing import placed_rows, placed_segments, sorted_segments
from braid.engine.tasks.task import Task
from braid.engine.tasks.worker import allowance
from braid.kernels.keys import common_keys
from braid.kernels.rows import Rows
from braid.kernels.sizes import Buffer, batch_pieces, total_bytes
from braid.placement.sites import stored_plan
from braid.placement.units import copied_rows
from braid.plan.join import KEEP, JoinPlan, SortOrder, id_column, step_column
from braid.plan.payloads import payload_columns
from braid.plan.stored_types import column_types
from braid.state.blocks import BlockWriter, WrittenBlock
from braid.state.observed.samples import NumberSample
from braid.state.order_state import ArrivalLog
from braid.state.paging.payload_files import PayloadFile

# Sorting larger chunks needs more memory, and smaller ones make more segments to search.
CHUNK_ROWS = 500_000
# Event times a task reports, so that the driver can estimate how long rows wait for their order.
SAMPLED_TIMES = 128
# Numbers sampled of a stream by all tasks of a step, and the limits of one task.
SAMPLED_NUMBERS = 16_384
LEAST_NUMBERS, MOST_NUMBERS = 32, 1024


def run_ingest(
    plan: JoinPlan,
    stream: int,
    locations: Locations,
    command: IngestCommand,
    task: Task,
    batches: Iterator[pa.RecordBatch],
) -> IngestReport:
    """One ingest task of a stream: write its rows, and report what was written."""
    work = IngestTask(plan, stream, locations, command, task, UnitSegments(plan, stream, locations, command, task))
    try:
        for chunk in chunks(batches):
            work.take(chunk)
    finally:
        report = work.close()
    return report


class Destination(Protocol):
    """Where the rows go that are stored."""

    def add(self, rows: Rows) -> None: ...
    def copies(self) -> int: ...
    def close(self) -> WrittenBlock | None: ...
    def payload(self) -> PayloadFile | None: ...


class UnitSegments:
    """A block with the rows of all units, which the slots gather in the probe job."""

    def __init__(self, plan: JoinPlan, stream: int, locations: Locations, command: IngestCommand, task: Task) -> None:
        files, checkpoint = locations.open_checkpoint()
        self._plan = plan
        self._stream = stream
        self._command = command
        self._slot = task.slot
        self._block = BlockWriter(files, f"{checkpoint}/blocks/{task.file_name(command, f'{stream}-')}.block")
        self._payloads = None
        # Under a memory limit rows stay whole: a payload is fetched from a segment that is mapped as a whole.
        if stream in command.payloads_apart and allowance.current() is None:
            self._payloads = PayloadWriter(plan, stream, command, task, files, f"{checkpoint}/blocks")

    def add(self, rows: Rows) -> None:
        plan, stream, layout = self._plan, self._stream, self._command.layout
        # Tasks of one step start at different units, and so do the chunks of a task.
        salt = self._command.step + self._slot + len(self._block.segments)
        rows = rows if self._payloads is None else self._payloads.addressed(rows)
        placed = placed_rows(plan, layout, stream, rows, salt)
        # Where routes depend on values, a slot sorts the rows of its units. Elsewhere all slots probe with all rows,
        # and rows that are sorted here are compared with nearly the same stored ones.
        reaching = layout.ranges is not None
        if layout.by_value:
            segments = placed_segments(plan, stream, rows, placed, reaching)
        else:
            order = SortOrder(self._command.sort_order(stream).choices)
            segments = sorted_segments(plan, stream, rows, placed, order, reaching)
        for segment in segments:
            self._block.add(*segment)

    def copies(self) -> int:
        """How many of the rows so far are not primary copies."""
        return copied_rows(self._command.layout, self._stream, self._block.segments)

    def close(self) -> WrittenBlock | None:
        return self._block.close()

    def payload(self) -> PayloadFile | None:
        """The payloads that are stored apart from the rows."""
        return None if self._payloads is None else self._payloads.close()


class IngestTask:
    """A task's rows of one stream on their way to their destination, and to files of late rows and arrivals."""

    def __init__(
        self,
        plan: JoinPlan,
        stream: int,
        locations: Locations,
        command: IngestCommand,
        task: Task,
        destination: Destination,
    ) -> None:
        self._plan = plan = stored_plan(plan, command.layout)
        self._stream = plan.streams[stream]
        self._command = command
        self._task = task
        self._types = column_types(plan, stream)
        files, checkpoint = locations.open_checkpoint()
        name = task.file_name(command, f"{stream}-")
        self._destination = destination
        self._arrivals = BlockWriter(files, f"{checkpoint}/blocks/{name}.arrivals")
        late_path = f"{checkpoint}/staging/{name}.late.parquet"
        self._late = LateRowWriter(files, late_path, self._stream, command.step, command.watermarks[stream])
        self._rows = 0
        self._kept = 0
        self._payload_bytes = 0
        self._newest: int | None = None
        self._times: list[npt.NDArray[np.int64]] = []
        self._sample = KeySample(plan, stream)
        # All tasks together sample about the same number of rows, however many there are.
        most = min(MOST_NUMBERS, max(LEAST_NUMBERS, SAMPLED_NUMBERS // max(1, command.row_ids.stride)))
        self._numbers = NumberSampling(plan, stream, most) if command.layout.ranges is not None else None
        self._row_sample = RowSampling(plan, stream, command.sampled_rows)

    def take(self, chunk: pa.RecordBatch) -> None:
        if self._stream.window_rows is not None:
            chunk = self._numbered(chunk)
        self._rows += chunk.num_rows
        reasons = self._late_reasons(chunk)
        late = reasons != ON_TIME
        if late.any():
            self._late.add(chunk.filter(pa.array(late)), reasons[late])
        if self._stream.window_rows is not None:
            self._log_arrivals(chunk.filter(pa.array(~late)))
        keep = ~late & self._selected(chunk)
        stored = chunk.select([name for name in chunk.schema.names if name in self._types])
        if self._plan.stamped:
            steps = np.full(chunk.num_rows, self._command.step, np.int64)
            stored = stored.append_column(step_column(self._stream.number), pa.array(steps))
        rows = Rows.from_batch(stored if keep.all() else stored.filter(pa.array(keep)), self._types)
        if rows.length:
            self._store(rows)
            if self._plan.ordered:
                times = rows.times(self._stream.time)
                self._times.append(times[:: max(1, -(-len(times) // SAMPLED_TIMES))])

    def _numbered(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with an id that no other row of the stream has."""
        ids = self._command.row_ids.of(self._task.slot, self._rows, chunk.num_rows)
        return chunk.append_column(id_column(self._stream.number), pa.array(ids))

    def _log_arrivals(self, chunk: pa.RecordBatch) -> None:
        """Log every on-time row, also rows that the selection removes: a row-based window counts all of them."""
        if chunk.num_rows == 0:
            return
        own = [name for name in chunk.schema.names if name == id_column(self._stream.number) or name[0] != "#"]
        times = chunk.column(self._stream.time).cast(pa.int64()).to_numpy()
        self._arrivals.add(0, 0, chunk.select(own), int(times.min()), int(times.max()))

    def close(self) -> IngestReport:
        """Complete the files, and report them."""
        stream, arrivals = self._stream.number, self._arrivals.close()
        arrival_log = None
        if arrivals is not None:
            arrival_log = ArrivalLog(stream, arrivals.file, arrivals.rows, arrivals.min_time, arrivals.max_time)
        return IngestReport(
            stream=stream,
            host=self._task.host,
            rows=self._rows,
            late_rows=self._late.rows,
            kept=self._kept,
            newest_us=self._newest,
            times=self._sampled_times(),
            keys=self._sample.counts(),
            numbers=NumberSample() if self._numbers is None else self._numbers.sample(),
            sample=self._row_sample.taken(),
            block=self._destination.close(),
            copies=self._destination.copies(),
            arrival_log=arrival_log,
            late_file=self._late.close(),
            payload_bytes=self._payload_bytes,
            payload=self._destination.payload(),
        )

    def _sampled_times(self) -> tuple[int, ...]:
        """A sample of the event times of the stored rows, for ordered queries."""
        if not self._times:
            return ()
        times = np.sort(np.concatenate(self._times))
        return tuple(int(time) for time in times[:: max(1, -(-len(times) // SAMPLED_TIMES))])

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
        self._kept += rows.length
        payload = payload_columns(self._plan, self._stream.number)
        self._payload_bytes += total_bytes(rows.columns[name] for name in payload)
        keys = common_keys(self._plan, self._stream.number, rows)
        if keys is not None:
            self._sample.add(keys, rows)
        self._row_sample.add(rows)
        if self._numbers is not None:
            self._numbers.add(rows)
        self._destination.add(rows)


def chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
