"""Rows exchanged between probe rounds, in block files with a segment per delta stream and route."""

from __future__ import annotations

from collections import defaultdict

from braid.kernels.rows import Rows, concat_rows
from braid.kernels.sizes import Buffer
from braid.state.blocks import BlockWriter, WrittenBlock
from braid.state.files import Files

ROWS_PER_SEGMENT = 1 << 17


class ExchangedRows:
    """Buffers rows by delta stream and route, and writes them as segments whose unit is the delta stream."""

    def __init__(self, files: Files, path: str) -> None:
        self._buffered: dict[tuple[int, int], Buffer] = defaultdict(lambda: Buffer(ROWS_PER_SEGMENT))
        self._writer = BlockWriter(files, f"{path}.exchanged")

    def add(self, delta_stream: int, route: int, rows: Rows) -> None:
        buffered = self._buffered[delta_stream, route]
        for piece in rows.pieces():
            if not buffered.fits(piece.nbytes):
                self._write(delta_stream, route)
            buffered.add(piece, piece.length, piece.nbytes)
            if buffered.is_full:
                self._write(delta_stream, route)

    def close(self) -> WrittenBlock | None:
        for delta_stream, route in list(self._buffered):
            self._write(delta_stream, route)
        return self._writer.close()

    def _write(self, delta_stream: int, route: int) -> None:
        buffered = self._buffered[delta_stream, route].take()
        if buffered:
            self._writer.add(delta_stream, route, concat_rows(buffered).to_batch(), 0, 0)
