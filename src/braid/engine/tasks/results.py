"""Results as Parquet files in staging.

Buffers are bounded, so a step with any number of results needs the memory of one row group.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from braid.engine.commands import ProbeCommand
from braid.engine.reports import Output, ResultFile
from braid.engine.tasks.stamping import Stamp
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.allowance import after_piece
from braid.kernels.sizes import Buffer
from braid.state.files import Files
from braid.state.outputs import output_stack

ROWS_PER_GROUP = 1 << 17
ROWS_PER_FILE = 1 << 23


def open_result_files(task: SlotTask, command: ProbeCommand, name: str) -> ResultFiles:
    """The sink of a probe task whose results are written to staging."""
    return result_files(task, name, task.plan.output_schema, command.step)


def result_files(task: SlotTask, name: str, schema: pa.Schema, step: int) -> ResultFiles:
    locations = task.locations
    if locations.discard:
        return ResultFiles(None)
    files, staging = locations.open_staging()
    stamp = None if locations.step_column is None else Stamp(locations.step_column, step)
    return ResultFiles(ResultWriter(files, staging, name, schema, locations.compression, stamp))


class ResultFiles:
    """Results written to staging, or only counted if the run discards them."""

    def __init__(self, writer: ResultWriter | None) -> None:
        self._writer = writer
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        if self._writer is not None:
            self._writer.add(batch)

    def close(self) -> Output:
        if self._writer is None:
            return Output(self._rows)
        self._writer.close()
        return Output(self._rows, tuple(self._writer.written))


class ResultWriter:
    """Writes record batches to Parquet files of a bounded number of rows each."""

    def __init__(
        self,
        files: Files,
        directory: str,
        name: str,
        schema: pa.Schema,
        compression: str,
        stamp: Stamp | None = None,
    ) -> None:
        self._files = files
        self._directory = directory
        self._name = name
        self._stamp = stamp
        self._schema = schema if stamp is None else stamp.schema(schema)
        self._compression = compression
        self._buffered = Buffer(ROWS_PER_GROUP)
        self._file_rows = 0
        self._output = output_stack()
        self._writer: pq.ParquetWriter | None = None
        self._stream: Any = None
        self.written: list[ResultFile] = []

    def add(self, batch: pa.RecordBatch) -> None:
        batch = batch if self._stamp is None else self._stamp.batch(batch)
        size = batch.nbytes
        if not self._buffered.fits(size):
            self._flush()
        self._buffered.add(batch, batch.num_rows, size)
        if self._buffered.is_full:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._finish_file()

    def _flush(self) -> None:
        if not self._buffered.rows:
            return
        if self._writer is None:
            self._open()
        table = pa.Table.from_batches(self._buffered.take(), self._schema)
        if self._writer is not None:
            self._writer.write_table(table, row_group_size=2 * ROWS_PER_GROUP)
        self._file_rows += table.num_rows
        after_piece()
        if self._file_rows >= ROWS_PER_FILE:
            self._finish_file()

    def _open(self) -> None:
        path = f"{self._directory}/{self._current_name()}"
        self._stream = _CountingFile(self._output.enter_context(self._files.open_output(path)))
        file = pa.PythonFile(self._stream, "w")
        self._writer = self._output.enter_context(
            pq.ParquetWriter(file, self._schema, compression=self._compression, use_dictionary=False)
        )

    def _finish_file(self) -> None:
        if self._writer is None:
            return
        self._output.close()
        self.written.append(ResultFile(self._current_name(), self._file_rows, self._stream.size))
        self._writer, self._file_rows = None, 0

    def _current_name(self) -> str:
        return f"{self._name}-{len(self.written):05d}.parquet"


class _CountingFile:
    """A file that counts the bytes written to it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        self._file.write(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        return

    def close(self) -> None:
        self.closed = True
