"""Rows exchanged between probe rounds, in block files with a segment per delta stream and route."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from braid.kernels.rows import Rows, concat_rows
from braid.kernels.sizes import Buffer
from braid.state.blocks import BlockWriter
from braid.state.files import Files

ROWS_PER_SEGMENT = 1 << 17


class ExchangedRows:
    """Buffers rows by delta stream and route, and writes them as segments whose unit is the delta stream."""

    def __init__(self, files: Files, directory: str, name: str) -> None:
        self._files = files
        self._path = f"{directory}/{name}.exchanged"
        self._buffered: dict[tuple[int, int], Buffer] = defaultdict(lambda: Buffer(ROWS_PER_SEGMENT))
        self._writer: BlockWriter | None = None

    def add(self, delta_stream: int, route: int, rows: Rows) -> None:
        buffered = self._buffered[delta_stream, route]
        for piece in rows.pieces():
            if not buffered.fits(piece.nbytes):
                self._write(delta_stream, route)
            buffered.add(piece, piece.length, piece.nbytes)
            if buffered.is_full:
                self._write(delta_stream, route)

    def close(self) -> dict[str, Any]:
        for delta_stream, route in list(self._buffered):
            self._write(delta_stream, route)
        if self._writer is None:
            return {"exchanged": None, "exchanged_rows": 0, "exchanged_bytes": 0}
        self._writer.__exit__(None, None, None)
        name = self._path.rsplit("/", 1)[1]
        return {"exchanged": name, "exchanged_rows": self._writer.rows, "exchanged_bytes": self._writer.size}

    def _write(self, delta_stream: int, route: int) -> None:
        buffered = self._buffered[delta_stream, route].take()
        if not buffered:
            return
        if self._writer is None:
            self._writer = BlockWriter(self._files, self._path)
            self._writer.__enter__()
        self._writer.add(delta_stream, route, concat_rows(buffered).to_batch(), 0, 0)
