"""Runs that count: the engine in one process, with its own steps, blocks and tasks, and no clock that matters."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from braid.optimizer.strategies import Strategy
from braid.plan.logical import LogicalPlan
from braid.testing import InlineQuery

ROWS_PER_BATCH = 1 << 16
SLOTS = 2


@dataclass(frozen=True)
class Counted:
    """The progress of every step, and the rows that had come by then."""

    steps: tuple[dict[str, Any], ...]

    @property
    def volumes(self) -> list[int]:
        total, volumes = 0, []
        for step in self.steps:
            total += step["numInputRows"]
            volumes.append(total)
        return volumes

    @property
    def last(self) -> dict[str, Any]:
        return self.steps[-1]

    def total(self, what: str) -> int:
        return sum(int(step[what]) for step in self.steps)

    @property
    def bytes_taken_in(self) -> int:
        """Bytes that were stored, without those sent to units to probe."""
        received = sum(int(unit["bytesReceived"]) for step in self.steps for unit in step["units"])
        return self.total("bytesModelled") - received


def count(logical_plan: LogicalPlan, strategy: Strategy, batches: Iterable[dict[str, pa.Table]]) -> Counted:
    """Run a logical plan over its batches, and keep what each step reported."""
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        query = InlineQuery(logical_plan, directory, strategy=strategy, slots=SLOTS, rows_per_batch=ROWS_PER_BATCH)
        steps = [query.run(number, tables) for number, tables in enumerate(batches)]
    return Counted(tuple(step for step in steps if step is not None))
