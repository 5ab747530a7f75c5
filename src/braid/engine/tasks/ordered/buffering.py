"""Buffered results: a task writes its results, sorted by result time, to a block until they are released.

The last column of buffered rows is their result time. It is part of the output only where a reader needs it to sort.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.engine.commands import ProbeCommand
from braid.engine.reports import BufferedFile, Output
from braid.engine.tasks.task import SlotTask
from braid.kernels.sizes import Buffer, batch_pieces
from braid.state.blocks import BlockWriter
from braid.state.files import Files

# Sorting a segment in memory stays cheap at this number of rows.
ROWS_PER_SEGMENT = 1 << 17
# Sampled result times a block: enough to divide a release evenly among slots.
CUTS = 32

Times = npt.NDArray[np.int64]


def released_at(names: Collection[str]) -> str:
    """The name of the released rows' time column: unlike every other column, also if case is ignored."""
    name, taken = "#time", {name.lower() for name in names}
    while name in taken:
        name = f"#{name}"
    return name


def open_buffer(task: SlotTask, command: ProbeCommand, name: str) -> BufferSink:
    """The sink of a probe task whose results are buffered."""
    return BufferSink(*task.block_path(f"{name}.buffered"))


class BufferSink:
    """Buffers a task's results, and writes them as sorted segments."""

    def __init__(self, files: Files, path: str) -> None:
        self._buffered = Buffer(ROWS_PER_SEGMENT)
        self._rows = 0
        self._writer = BlockWriter(files, path)
        self._cuts: list[Times] = []

    def add(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        for piece in batch_pieces(batch):
            if not self._buffered.fits(piece.nbytes):
                self._write()
            self._buffered.add(piece, piece.num_rows, piece.nbytes)
            if self._buffered.is_full:
                self._write()

    def close(self) -> Output:
        self._write()
        block = self._writer.close()
        if block is None:
            return Output()
        return Output(self._rows, buffered=BufferedFile(block, tuple(even_cuts(self._cuts, CUTS))))

    def _write(self) -> None:
        rows = [batch for batch in self._buffered.take() if batch.num_rows]
        if not rows:
            return
        batch = in_order(rows)
        times = result_times(batch)
        self._cuts.append(times[:: max(1, len(times) // CUTS)])
        self._writer.add(0, 0, batch, int(times[0]), int(times[-1]))


def result_times(batch: pa.RecordBatch) -> Times:
    """The result times of buffered rows, in microseconds."""
    times: Times = batch.column(batch.num_columns - 1).view(pa.int64()).to_numpy(zero_copy_only=False)
    return times


def in_order(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Rows of several batches as one batch, sorted by result time."""
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    times = result_times(whole)
    if (times[1:] >= times[:-1]).all():
        return whole
    return whole.take(pa.array(np.argsort(times, kind="stable")))


def even_cuts(samples: Sequence[Times], most: int) -> list[int]:
    """At most `most` times that divide the sampled times evenly."""
    every = np.sort(np.concatenate(samples))
    return [int(time) for time in every[:: max(1, -(-len(every) // most))]]
