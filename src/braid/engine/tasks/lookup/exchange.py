"""Rows exchanged between probe rounds, in block files with segments by delta stream and route.

Where a layout has ranges, rows that reach about the same stored numbers are written together, and a segment says what
its rows reach: a slot reads only those that reach its own ranges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from braid.engine.commands import ProbeCommand
from braid.engine.tasks.lookup.arrivals import ANY_ROUTE
from braid.engine.tasks.lookup.reaching import Reaches, reach_of, segment_reaches
from braid.kernels.rows import Rows, concat_rows
from braid.kernels.sizes import Buffer, piece_bytes
from braid.optimizer.join_orders import build_probe_orders
from braid.plan.join import JoinPlan
from braid.state.blocks import BlockWriter, WrittenBlock
from braid.state.files import Files

ROWS_PER_SEGMENT = 1 << 17
BUFFERED_PIECES = 4


class ExchangedRows:
    """Buffers rows by delta stream and route, and writes them as segments whose unit is the delta stream."""

    def __init__(self, plan: JoinPlan, command: ProbeCommand, files: Files, path: str) -> None:
        self._plan = plan
        self._layout = command.layouts[-1]
        orders = build_probe_orders(plan, command.join_orders)
        self._following = [order.probe_in(command.last_round + 1) for order in orders]
        self._buffered: dict[tuple[int, int], Buffer] = defaultdict(lambda: Buffer(ROWS_PER_SEGMENT))
        self._size = 0
        self._writer = BlockWriter(files, f"{path}.exchanged")

    def add(self, delta_stream: int, route: int, rows: Rows) -> None:
        buffered = self._buffered[delta_stream, route]
        for piece in rows.pieces():
            if not buffered.fits(piece.nbytes):
                self._write(delta_stream, route)
            buffered.add(piece, piece.length, piece.nbytes)
            self._size += piece.nbytes
            if buffered.is_full:
                self._write(delta_stream, route)
        # The buffers of all routes together are bounded too.
        if self._size > BUFFERED_PIECES * piece_bytes():
            for place in list(self._buffered):
                self._write(*place)
            self._size = 0

    def close(self) -> WrittenBlock | None:
        for delta_stream, route in list(self._buffered):
            self._write(delta_stream, route)
        return self._writer.close()

    def _write(self, delta_stream: int, route: int) -> None:
        buffered = self._buffered[delta_stream, route].take()
        if buffered:
            for rows, reaches in self._parts(delta_stream, route, concat_rows(buffered)):
                self._writer.add(delta_stream, route, rows.to_batch(), 0, 0, reaches)

    def _parts(self, delta_stream: int, route: int, rows: Rows) -> Iterator[tuple[Rows, Reaches]]:
        """The rows by the range at which what they reach begins, where ranges decide who looks them up."""
        probe, ranges = self._following[delta_stream], self._layout.ranges
        if ranges is None or probe is None or not probe.routing or route != ANY_ROUTE:
            yield rows, ()
            return
        side = self._plan.members(probe.stream)[0]
        reach = reach_of(probe.routing, side, rows)
        lowest = np.nan_to_num(reach.limits.lower, nan=-np.inf)
        place = np.searchsorted(np.array(ranges[side]), lowest, side="right")
        positions = np.argsort(place, kind="stable")
        starts = np.flatnonzero(np.diff(place[positions], prepend=-1))
        ordered = rows.take(positions)
        reaches = segment_reaches([reach], positions, starts)
        for start, stop, found in zip(starts, [*starts[1:], rows.length], reaches, strict=True):
            yield ordered.slice(int(start), int(stop)), found
