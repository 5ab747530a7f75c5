"""Intermediate results: what a round of a tree finds, placed, sorted and stored as blocks.

They are written once, by the task that finds them, like the rows of a stream at ingest. Buffers are bounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa

from braid.engine.commands import ProbeCommand
from braid.engine.tasks.storing import placed_rows, sorted_segments
from braid.kernels.rows import Rows, concat_rows
from braid.kernels.sizes import Buffer
from braid.plan.join import JoinPlan, SortOrder
from braid.state.blocks import BlockWriter, WrittenBlock
from braid.state.files import Files
from braid.state.manifest import Block, stored_block

ROWS_PER_SEGMENT = 1 << 17


class IntermediateRows:
    """Writes a block for each intermediate result, and ignores all other rows.

    `salt` varies the unit at which round-robin placement starts.
    """

    def __init__(self, plan: JoinPlan, command: ProbeCommand, files: Files, path: str, salt: int) -> None:
        self._plan = plan
        self._command = command
        self._files = files
        self._path = path
        self._salt = salt
        self._buffered: dict[int, Buffer] = defaultdict(lambda: Buffer(ROWS_PER_SEGMENT))
        self._writers: dict[int, BlockWriter] = {}

    def add(self, joined: Iterable[int], rows: Rows) -> None:
        """Store rows of the `joined` streams, if these are the streams of an intermediate result."""
        number = self._plan.intermediate_of(joined)
        if number is None or rows.length == 0:
            return
        buffered = self._buffered[number]
        for piece in self._stored(number, rows).pieces():
            if not buffered.fits(piece.nbytes):
                self._write(number)
            buffered.add(piece, piece.length, piece.nbytes)
            if buffered.is_full:
                self._write(number)

    def close(self) -> tuple[Block, ...]:
        for number in list(self._buffered):
            self._write(number)
        closed = [(number, writer.close()) for number, writer in self._writers.items()]
        return tuple(self._block(number, written) for number, written in closed if written is not None)

    def _stored(self, number: int, rows: Rows) -> Rows:
        """The stored columns, in the types of the plan: rows that came through the JVM may have other types."""
        columns = {field.name: _as(rows.array(field.name), field.type) for field in self._plan.schema_of(number)}
        return Rows(columns, rows.types, rows.length)

    def _write(self, number: int) -> None:
        buffered = self._buffered[number].take()
        if not buffered:
            return
        rows = concat_rows(buffered)
        writer = self._writers.get(number)
        if writer is None:
            writer = self._writers[number] = BlockWriter(self._files, f"{self._path}-d{number}.block")
        placed = placed_rows(self._plan, self._command.layouts[-1], number, rows, self._salt + writer.rows)
        for segment in sorted_segments(self._plan, number, rows, placed, SortOrder()):
            writer.add(*segment)

    def _block(self, number: int, written: WrittenBlock) -> Block:
        step, layout = self._command.step, self._command.layouts[-1]
        return stored_block(written, number, (step, step), layout.epoch)


def _as(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    return array if array.type.equals(wanted) else array.cast(wanted)
