"""Rows carried from one probe round to the next, in block files with a segment per head and route."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from braid.kernels.rows import Rows, concat_rows
from braid.kernels.sizes import Buffer
from braid.state.blocks import BlockWriter
from braid.state.files import Files

ROWS_PER_SEGMENT = 1 << 17


class CarriedRows:
    """Buffers rows by head and route, and writes them as segments whose unit is the head."""

    def __init__(self, files: Files, directory: str, name: str) -> None:
        self._files = files
        self._path = f"{directory}/{name}.carried"
        self._held: dict[tuple[int, int], Buffer] = defaultdict(lambda: Buffer(ROWS_PER_SEGMENT))
        self._writer: BlockWriter | None = None

    def add(self, head: int, route: int, rows: Rows) -> None:
        held = self._held[head, route]
        for piece in rows.pieces():
            if not held.has_room(piece.nbytes):
                self._write(head, route)
            held.add(piece, piece.length, piece.nbytes)
            if held.is_full:
                self._write(head, route)

    def close(self) -> dict[str, Any]:
        for head, route in list(self._held):
            self._write(head, route)
        if self._writer is None:
            return {"carried": None, "carried_rows": 0, "carried_bytes": 0}
        self._writer.__exit__(None, None, None)
        name = self._path.rsplit("/", 1)[1]
        return {"carried": name, "carried_rows": self._writer.rows, "carried_bytes": self._writer.size}

    def _write(self, head: int, route: int) -> None:
        held = self._held[head, route].take()
        if not held:
            return
        if self._writer is None:
            self._writer = BlockWriter(self._files, self._path)
            self._writer.__enter__()
        self._writer.add(head, route, concat_rows(held).to_batch(), 0, 0)
