"""The exchange of a step's rows by a shuffle: pieces of rows for the slots, and the blocks that the slots make of them.

An ingest task cuts its rows into pieces, each for one slot and in Arrow's format: what is shuffled are a few rows of
bytes. The task of a slot sorts all of its rows and stores them as one block, so no slot has to gather them.

If pieces are lost, the shuffle runs their ingest task again after some slots have read its first pieces and others have
not. So the unit of a row depends on the values of the row and on the step alone, not on its place in the task's input.
The report of an ingest task travels like a piece, to one slot: whichever attempt that slot reads, one report arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from braid.engine.commands import IngestCommand
from braid.engine.locations import Locations
from braid.engine.reports import IngestReport, report_text
from braid.engine.tasks.ingest import IngestTask, chunks
from braid.engine.tasks.storing import placed_rows, sorted_segments
from braid.engine.tasks.task import Task
from braid.engine.tasks.task_errors import TASK_ERRORS, serialize_error
from braid.engine.tasks.worker.allowance import measured
from braid.kernels.hashing import row_hashes
from braid.kernels.keys import Keys
from braid.kernels.rows import Rows
from braid.kernels.sizes import batch_pieces, byte_cuts, piece_bytes, row_sizes
from braid.placement.sites import stored_plan
from braid.placement.units import Numbers, Placed, copied_rows, is_dealt, slot_of, units_of
from braid.plan.join import JoinPlan
from braid.plan.stored_types import column_types
from braid.state.blocks import BlockWriter, WrittenBlock
from braid.state.outputs import closing_outputs
from braid.state.usage import Meter

SLOT, SENDER, ROWS, REPORT = "slot", "sender", "rows", "report"
PIECES = pa.schema([(SLOT, pa.int32()), (SENDER, pa.int32()), (ROWS, pa.binary()), (REPORT, pa.string())])
Piece = tuple[int, int, bytes | None, str | None]
UNITS, ROUTES = "#unit", "#route"
# Spark sends a number of pieces to Python at once, whatever their size (`spark/settings.py`).
PIECE_BYTES = 1 << 16
BYTES_AT_ONCE = 1 << 25


@dataclass(frozen=True)
class ShuffleTask:
    """What a task on either side of the shuffle knows: whose rows, to how many slots, by which command."""

    plan: JoinPlan
    stream: int
    locations: Locations
    slots: int
    command: IngestCommand
    task: Task
    meter: Meter

    def units(self, slot: int) -> tuple[int, ...]:
        """The units of a slot that store rows of the stream."""
        units = (unit for unit in units_of(self.command.layout, len(self.plan.streams)) if self.stream in unit.streams)
        return tuple(unit.number for unit in units if slot_of(unit, self.slots) == slot)

    def open_block(self, slot: int) -> BlockWriter:
        layout = self.command.layout
        home = layout.sites[layout.homes[self.stream]].name if layout.sites else None
        files, blocks = self.locations.open_blocks(home)
        name = replace(self.task, slot=slot).file_name(self.command, f"{self.stream}-")
        return BlockWriter(files, f"{blocks}/{name}.block")


def send_rows(own: ShuffleTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """An ingest task: its rows as pieces for the slots, then its report."""
    pieces = Pieces(own)
    try:
        with own.meter.running(), closing_outputs():
            work = IngestTask(own.plan, own.stream, own.locations, own.command, own.task, pieces)
            for chunk in chunks(batches):
                work.take(chunk)
                yield from pieces.take()
            report = work.close()
        report = replace(report, usage=own.meter.usage(), memory=measured(), site_bytes=tuple(pieces.site_bytes))
        text = report_text(report)
    except TASK_ERRORS as error:
        text = report_text(serialize_error(error))
    yield _batch([(own.task.slot % own.slots, own.task.slot, None, text)])


def store_rows(own: ShuffleTask, batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
    """The task of a slot: the reports of ingest tasks that came with the pieces, and the report of the slot's block.

    It relies on all pieces of a slot being in one task, not on each slot having a task of its own.
    """
    try:
        with own.meter.running(), closing_outputs():
            blocks, texts = _received(own, batches)
            reports = [block.close() for _, block in sorted(blocks.items())]
            reports = reports or [IngestReport(own.stream, own.task.host)]
        reports[0] = replace(reports[0], usage=own.meter.usage(), memory=measured())
        yield from (*texts, *map(report_text, reports))
    except TASK_ERRORS as error:
        yield report_text(serialize_error(error))


def _received(own: ShuffleTask, batches: Iterator[pa.RecordBatch]) -> tuple[dict[int, SlotBlock], list[str]]:
    """The block of each slot with the pieces that came for it, and the reports that came with them."""
    blocks: dict[int, SlotBlock] = {}
    texts: list[str] = []
    for batch in batches:
        slots, senders = (batch.column(name).to_pylist() for name in (SLOT, SENDER))
        rows = batch.column(ROWS)
        texts += batch.column(REPORT).drop_null().to_pylist()
        for place in np.flatnonzero(rows.is_valid().to_numpy(zero_copy_only=False)).tolist():
            piece, slot = rows[place].as_buffer(), slots[place]
            if slot not in blocks:
                blocks[slot] = SlotBlock(own, slot)
            blocks[slot].add(_read(piece))
            if senders[place] % own.slots != slot:
                own.meter.count_moved(piece.size)
    return blocks, texts


class SlotBlock:
    """The block of a slot: rows are stored as soon as there are enough of them for segments of bounded size."""

    def __init__(self, own: ShuffleTask, slot: int) -> None:
        self._own = own
        self._slot = slot
        self._block = own.open_block(slot)
        self._types = column_types(stored_plan(own.plan, own.command.layout), own.stream)
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0

    def add(self, rows: pa.RecordBatch) -> None:
        for piece in batch_pieces(rows):
            if self._waiting and self._size + piece.nbytes > piece_bytes():
                self._store()
            self._waiting.append(piece)
            self._size += piece.nbytes

    def close(self) -> IngestReport:
        """It lists all units of the slot, so that the blocks of a slot can be merged."""
        self._store()
        own = self._own
        copies = copied_rows(own.command.layout, own.stream, self._block.segments)
        units = own.units(self._slot)
        return IngestReport(own.stream, own.task.host, block=self._block.close(), units=units, copies=copies)

    def _store(self) -> None:
        own, joined = self._own, pa.concat_batches(self._waiting)
        self._waiting, self._size = [], 0
        layout, order = own.command.layout, own.command.sort_order(own.stream)
        reaching, groups = layout.ranges is not None, len(layout.group_units)
        units, routes = (np.asarray(joined.column(name)).astype(np.int64) for name in (UNITS, ROUTES))
        rows = Rows.from_batch(joined.drop_columns([UNITS, ROUTES]), self._types)
        for segment in sorted_segments(own.plan, own.stream, rows, Placed(units, routes), order, reaching, groups):
            self._block.add(*segment)


class Pieces:
    """The pieces of an ingest task that were not sent yet."""

    def __init__(self, own: ShuffleTask) -> None:
        self._own = own
        units = units_of(own.command.layout, len(own.plan.streams))
        self._slots_of_units = np.array([slot_of(unit, own.slots) for unit in units])
        self._waiting: list[tuple[Rows, Placed]] = []
        self.site_bytes = [0] * len(own.command.layout.sites)

    def add(self, rows: Rows) -> None:
        plan, command, stream = self._own.plan, self._own.command, self._own.stream
        hashes = _hashes(rows) if is_dealt(command.layout, stream) else None
        self._waiting.append((rows, placed_rows(plan, command.layout, stream, rows, command.step, hashes)))

    def take(self) -> Iterator[pa.RecordBatch]:
        """The pieces since the last call, in batches of bounded size."""
        waiting, self._waiting = self._waiting, []
        found: list[Piece] = []
        size = 0
        layout = self._own.command.layout
        for rows, placed in waiting:
            for slot, piece in self._cut(rows, placed):
                found.append((slot, self._own.task.slot, piece, None))
                size += len(piece)
                if layout.sites:
                    self.site_bytes[layout.homes[self._own.stream]] += len(piece)
                if size >= BYTES_AT_ONCE:
                    yield _batch(found)
                    found, size = [], 0
        if found:
            yield _batch(found)

    def payload(self) -> None:
        """Rows are stored once, with their payloads: there is nothing to gather."""

    def copies(self) -> int:
        """The slots count them."""
        return 0

    def close(self) -> WrittenBlock | None:
        """Nothing is written: the slots store the pieces."""
        return None

    def _cut(self, rows: Rows, placed: Placed) -> Iterator[tuple[int, bytes]]:
        """The rows of each slot with their units and routes; rows stored several times go to several slots."""
        slots = self._slots_of_units[placed.units]
        order = np.argsort(slots, kind="stable")
        edges = np.flatnonzero(np.diff(slots[order])) + 1
        for own in np.split(order, edges):
            for part in self._bounded(rows, placed, own):
                yield int(slots[own[0]]), part

    def _bounded(self, rows: Rows, placed: Placed, own: Numbers) -> Iterator[bytes]:
        taken = rows.take(own if placed.rows is None else placed.rows[own])
        numbers = {UNITS: placed.units[own], ROUTES: placed.routes[own]}
        places = {name: pa.array(values.astype(np.int32)) for name, values in numbers.items()}
        batch = pa.RecordBatch.from_pydict({**taken.columns, **places})
        small = taken.nbytes <= PIECE_BYTES
        sizes = None if small else row_sizes(taken.columns.values(), taken.length)
        for cut in [slice(0, taken.length)] if sizes is None else byte_cuts(sizes, PIECE_BYTES):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch.slice(cut.start, cut.stop - cut.start))
            yield sink.getvalue().to_pybytes()


def _hashes(rows: Rows) -> Keys:
    """A hash of the values of each row; nested ones do not count."""
    plain = [column for column in rows.columns.values() if not pa.types.is_nested(column.type)]
    return row_hashes(plain, rows.length)


def _batch(pieces: Sequence[Piece]) -> pa.RecordBatch:
    columns = [pa.array(values, field.type) for values, field in zip(zip(*pieces, strict=True), PIECES, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=PIECES)


def _read(piece: pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(piece) as stream:
        return stream.read_next_batch()
