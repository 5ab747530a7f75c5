"""What one node does for one probing row, as measured: comparing it with some stored rows, sending and receiving it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.claims import Measured
from experiments.psp.images import alike, random_images

STORED = (1, 3, 10, 30, 125)  # a quarter of a window: the most that one of four nodes has
SCENES = 10
LINK_BYTES_PER_SECOND = 1.25e8
WIRE_SECONDS = 1e-4
REPEATS = 9


@dataclass(frozen=True)
class NodeWork:
    """Seconds of comparing a row with `stored` rows, measured at some numbers of them; of sending; and bytes of a row.

    `wire_seconds` is the latency of a link, whatever it carries.
    """

    stored: tuple[float, ...]
    seconds: tuple[float, ...]
    row_seconds: float
    row_bytes: float
    wire_seconds: float = WIRE_SECONDS
    link_bytes_per_second: float = LINK_BYTES_PER_SECOND

    @staticmethod
    def of(measured: Measured) -> NodeWork:
        return NodeWork(
            tuple(measured["stored"]), tuple(measured["seconds"]), measured["row_seconds"], measured["row_bytes"]
        )

    def comparing(self, rows: int) -> float:
        """Between measured numbers of rows the time is interpolated; beyond them it goes on as it grew."""
        table = self._table
        while rows >= len(table):
            table = self._extend(rows)
        return table[rows]

    def _extend(self, rows: int) -> list[float]:
        points, seconds = np.array([0.0, *self.stored]), np.array([0.0, *self.seconds])
        slope = (seconds[-1] - seconds[-2]) / (points[-1] - points[-2])
        numbers = np.arange(max(rows + 1, 2 * len(self._table)))
        inside = np.interp(numbers, points, seconds)
        beyond = np.maximum(numbers - points[-1], 0.0) * slope
        self._table[:] = (inside + beyond).tolist()
        return self._table

    @cached_property
    def _table(self) -> list[float]:
        return [0.0]

    def pair_seconds(self) -> float:
        """The time of a pair among the most rows that were measured."""
        return self.seconds[-1] / self.stored[-1]

    def transfer_seconds(self, rows: int) -> float:
        return rows * self.row_bytes / self.link_bytes_per_second


def measure_work(pixels: int, repeats: int = REPEATS) -> Measured:
    """By the vectorised function on pairs gathered as lookups gather them, and by Arrow's format for messages."""
    chance = np.random.default_rng(pixels)
    images = random_images(max(STORED), pixels, SCENES, chance)
    one = images.slice(0, 1)
    seconds = []
    for count in STORED:
        left = one.take(pa.array(np.zeros(count, np.int64)))
        right = images.slice(0, count)
        seconds.append(_least_seconds(partial(alike, left, right), repeats))
    table = pa.table({"image": one})
    return {
        "pixels": pixels,
        "stored": list(STORED),
        "seconds": seconds,
        "row_seconds": _least_seconds(lambda: _sent_and_received(table), 4 * repeats),
        "row_bytes": len(one[0].as_py()),
    }


def _sent_and_received(table: pa.Table) -> pa.Table:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _least_seconds(run: Callable[[], Any], repeats: int) -> float:
    """The shortest of some runs: what else the machine does can only make a run longer."""
    run()
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return min(taken)
