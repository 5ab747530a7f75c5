"""Runs that count: the engine in one process, with its own steps, blocks and tasks, and no clock that matters."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from braid.engine.commands import Command
from braid.engine.reports import ProbeReport
from braid.optimizer.strategies import Strategy
from braid.plan.logical import LogicalPlan
from braid.testing import InlineQuery
from experiments.bistream.queries import Tables

ROWS_PER_BATCH = 1 << 16
SLOTS = 2


@dataclass(frozen=True)
class Counted:
    """The progress of every step, and the rows that each slot looked up, by slot and stream."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    looked_up: Counter[tuple[int, int]] = field(default_factory=Counter)

    @property
    def last(self) -> dict[str, Any]:
        return self.steps[-1]

    @property
    def volumes(self) -> list[int]:
        """The rows that had come after each step."""
        total, volumes = 0, []
        for step in self.steps:
            total += step["numInputRows"]
            volumes.append(total)
        return volumes

    def total(self, what: str) -> int:
        return sum(int(step[what]) for step in self.steps)

    def fullest(self, units: int) -> list[int]:
        """The bytes of the unit that has most, after each step."""
        return [max(unit_bytes(step, units)) for step in self.steps]

    def mean(self, units: int) -> list[float]:
        """The bytes of a unit after each step, empty ones included."""
        return [sum(unit_bytes(step, units)) / units for step in self.steps]


def unit_bytes(step: dict[str, Any], units: int) -> list[int]:
    """What each unit stores; a unit that reports nothing stores nothing."""
    found = [int(unit["bytes"]) for unit in step["units"]]
    return found + [0] * (units - len(found))


def count(
    logical_plan: LogicalPlan,
    strategy: Strategy,
    batches: Iterable[Tables],
    slots: int = SLOTS,
    ingest_tasks: int = 1,
) -> Counted:
    """Run a logical plan over its batches, and keep what each step reported."""
    found = Counted()
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        query = InlineQuery(
            logical_plan,
            directory,
            strategy=strategy,
            slots=slots,
            ingest_tasks=ingest_tasks,
            rows_per_batch=ROWS_PER_BATCH,
        )
        _count_lookups(query, found.looked_up)
        for number, tables in enumerate(batches):
            step = query.run(number, tables)
            if step is None:
                raise AssertionError(f"step {number} was not run")
            found.steps.append(step)
    return found


def _count_lookups(query: InlineQuery, looked_up: Counter[tuple[int, int]]) -> None:
    """Add up the rows that reached each slot to be looked up, as its tasks report them."""
    cluster: Any = query.cluster
    run = cluster.run

    def counted(command: Command[Any]) -> list[Any]:
        reports: list[Any] = run(command)
        for report in reports:
            if isinstance(report, ProbeReport):
                for lookup in report.lookups:
                    looked_up[report.slot, lookup.delta_stream] += lookup.probes
        return reports

    cluster.run = counted
