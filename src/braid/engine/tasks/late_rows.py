"""Late rows of an ingest task: stored whole, with the reason, the step and the watermark."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from braid.plan.instants import clipped
from braid.plan.join import StreamPlan
from braid.state.files import Files
from braid.state.outputs import output_stack

# The column `batch` of late rows has the number of the step, like `batchId` in progress.
LATE_BATCH = "batch"
LATE_WATERMARK = "watermark"
LATE_ROW = "row"
LATE_REASON = "reason"
REASONS = np.array(["no event time", "ahead of the clock", "below the watermark"], dtype=object)
ON_TIME, NO_TIME, AHEAD, BELOW = (np.int8(place) for place in (-1, 0, 1, 2))


class LateRowWriter:
    """Writes the late rows of a task to one file, created with the first of them."""

    def __init__(self, files: Files, path: str, stream: StreamPlan, step: int, watermark_us: int | None) -> None:
        self._files = files
        self._path = path
        self._stream = stream
        self._step = step
        self._watermark_us = watermark_us
        self._output = output_stack()
        self._writer: pq.ParquetWriter | None = None
        self.rows = 0

    def add(self, chunk: pa.RecordBatch, reasons: npt.NDArray[np.int8]) -> None:
        """Rows with the reason of each, an index into `REASONS`."""
        self.rows += chunk.num_rows
        table = self._table(chunk, reasons)
        if self._writer is None:
            file = self._output.enter_context(self._files.open_output(self._path))
            self._writer = self._output.enter_context(pq.ParquetWriter(file, table.schema))
        self._writer.write_table(table)

    def close(self) -> str | None:
        """The name of the file; None if there were no late rows."""
        if self._writer is None:
            return None
        self._output.close()
        return self._path.rsplit("/", 1)[1]

    def _table(self, chunk: pa.RecordBatch, reasons: npt.NDArray[np.int8]) -> pa.Table:
        own = [name for name in chunk.schema.names if not name.startswith("#")]
        prefix = len(self._stream.name) + 1
        row = pa.StructArray.from_arrays([chunk.column(name) for name in own], [name[prefix:] for name in own])
        shown = None if self._watermark_us is None else clipped(self._watermark_us)
        time_type = chunk.schema.field(self._stream.time).type
        return pa.table(
            {
                LATE_BATCH: pa.repeat(pa.scalar(self._step, pa.int64()), len(row)),
                LATE_WATERMARK: pa.repeat(pa.scalar(shown, pa.int64()), len(row)).cast(time_type),
                LATE_ROW: row,
                LATE_REASON: pa.array(REASONS[reasons], pa.string()),
            }
        )
