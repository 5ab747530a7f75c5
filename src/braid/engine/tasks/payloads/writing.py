"""Payloads on their way to a payload file: an ingest task writes them in the order in which its rows arrive."""

from __future__ import annotations

import pyarrow as pa

from braid.engine.commands import IngestCommand
from braid.engine.tasks.task import Task
from braid.kernels.rows import Rows
from braid.plan.join import JoinPlan
from braid.plan.payloads import payload_column, payload_columns
from braid.state.blocks import BlockWriter
from braid.state.files import Files
from braid.state.paging.payload_files import PayloadFile

SIGNED = 1 << 63


class PayloadWriter:
    """The payload file of one ingest task."""

    def __init__(
        self, plan: JoinPlan, stream: int, command: IngestCommand, task: Task, files: Files, directory: str
    ) -> None:
        self._stream, self._command, self._task = stream, command, task.slot
        self._columns = payload_columns(plan, stream)
        self._block = BlockWriter(files, f"{directory}/{task.file_name(command, f'{stream}-')}.payload")
        self._rows = 0

    def addressed(self, rows: Rows) -> Rows:
        """The rows with the addresses of their payloads, which are written."""
        self._block.add(0, 0, rows.to_batch(self._columns), 0, 0)
        addresses = self._command.row_ids.of(self._task, self._rows, rows.length)
        self._rows += rows.length
        columns = {name: column for name, column in rows.columns.items() if name not in self._columns}
        return Rows({**columns, payload_column(self._stream): pa.array(addresses)}, rows.types, rows.length)

    def close(self) -> PayloadFile | None:
        """Complete the file; None if it has no rows."""
        written, ids = self._block.close(), self._command.row_ids
        if written is None:
            return None
        return PayloadFile(
            file=written.file,
            stream=self._stream,
            step=self._command.step,
            task=self._task,
            first_id=(ids.first + SIGNED) % (2 * SIGNED) - SIGNED,
            stride=ids.stride,
            rows=written.rows,
            size=written.size,
            columns=self._columns,
        )
