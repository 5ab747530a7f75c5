"""Runs on the engine in one process: the paper's input, a slot for each unit, and what is counted and measured.

Rows have two numbers and a time, and results are only counted. What a unit has in memory are the bytes of the newest
parts of its groups, as the query counts them and decides by them. A step has the rows of some seconds; the clock of the
query is that of the input, so waits are as in the paper however fast the machine is.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from braid.control.idleness import SourceCheck
from braid.control.memory.decisions import Decided, Relocate, Spill
from braid.control.memory.deferring import returning_groups
from braid.control.memory.groups import MemoryState
from braid.control.memory.overflow import decide_overflow
from braid.control.memory.settings import MemorySettings
from braid.kernels.grouping import groups_of_keys
from braid.optimizer.strategies import Partitioned
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal
from experiments.dcape.input import group_values, rows_of_steps, steps_of
from experiments.dcape.model import Decide, Run

NAMES = "abcdefgh"
# Links of the paper's cluster, for what moves would transfer.
BYTES_A_SECOND = 125_000_000
US = 1000


@dataclass
class Ran:
    """What a run has counted: by step, and of its clean-up by unit."""

    results: list[int] = field(default_factory=list)
    """Found so far, after each step."""
    used: list[list[int]] = field(default_factory=list)
    """The bytes in memory of each unit, after each step."""
    adaptations: list[tuple[int, Spill | Relocate]] = field(default_factory=list)
    deferred_bytes: int = 0
    """Of the pushed parts at the end: what clean-up reads from the disk."""
    cleaned: int = 0
    """Results that clean-up has found."""
    clean_up_cpu: list[float] = field(default_factory=list)
    """CPU seconds of each unit's lookups in the clean-up."""
    clean_up_seconds: float = 0.0
    step_cpu: float = 0.0
    """Of all tasks of all steps before the clean-up."""
    opened_bytes: int = 0
    """Of pushed parts, by lookups of steps."""

    def kinds(self, kind: type[Spill] | type[Relocate]) -> list[int]:
        """The steps with adaptations of a kind."""
        return [step for step, adaptation in self.adaptations if isinstance(adaptation, kind)]


def strategy_of(run: Run) -> Partitioned:
    """The groups at the units that the run has them at first, which are contiguous."""
    counts = np.bincount(run.owners, minlength=run.units)
    shares = tuple((counts / counts.sum()).tolist())
    return Partitioned(run.units, groups=run.source.groups, assignment=shares)


def plan_of(streams: int, window_us: int | None) -> LogicalPlan:
    """The join of all streams by one key, with one column of the result."""
    draft = Draft()
    made = [
        draft.stream(NAMES[n], {"k": "bigint", "v": "bigint"}, window_us=window_us, lateness_us=0)
        for n in range(streams)
    ]
    for other in made[1:]:
        draft.on(equal(made[0]["k"], other["k"]))
    return draft.select(v=made[0]["v"]).logical_plan()


def tables_of(run: Run) -> Iterator[dict[str, pa.Table]]:
    """The rows of every step: the values of a group are numbers that the engine assigns to it."""
    source = run.source
    values = group_values(source, lambda numbers: groups_of_keys(numbers, source.groups))
    every, first = np.concatenate(values), np.cumsum([0, *map(len, values)])
    for number, step in enumerate(steps_of(source, rows_of_steps(run.load, run.rows))):
        tables = {}
        for stream, (groups, places) in enumerate(step):
            times = number * run.step_ms * US + np.arange(len(groups)) * run.step_ms * US // max(1, len(groups))
            columns = {"k": every[first[groups] + places], "v": np.arange(len(groups)) + number * run.rows}
            tables[NAMES[stream]] = pa.table({**columns, "ts": pa.array(times, pa.timestamp("us", "UTC"))})
        yield tables


def run_engine(
    run: Run,
    settings: MemorySettings | None,
    *,
    decide: Decide = decide_overflow,
    window_minutes: int | None = None,
) -> Ran:
    """A whole run and its clean-up; without settings nothing is decided.

    With windows, deferred results are also found between the steps, where memory has room for them again.
    """
    ran, clock = Ran(), ManualClock(0)
    window_us = None if window_minutes is None else window_minutes * 60_000_000

    def decided(state: MemoryState) -> Decided:
        found = decide(settings, state) if settings is not None else Decided((), state.history)
        ran.adaptations += [(state.step, one) for one in found.adaptations if isinstance(one, Spill | Relocate)]
        return found

    limit = None if settings is None else _limit(settings)
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        query = InlineQuery(
            plan_of(run.source.streams, window_us),
            directory,
            strategy=strategy_of(run),
            slots=run.units,
            clock=clock,
            rows_per_batch=100_000,
            memory=None if settings is None else decided,
            returning=partial(returning_groups, None if window_us is None else limit),
            results="counted",
        )
        for number, tables in enumerate(tables_of(run)):
            _count(ran, query, query.run(number, tables))
            if window_us is not None and (tick := _tick(query, clock(), run.source.streams)) is not None:
                _count(ran, query, tick)
            clock.advance(run.step_ms)
        _clean_up(ran, query, run.units)
    return ran


def _tick(query: InlineQuery, now_ms: int, streams: int) -> dict[str, Any] | None:
    return query.steps.tick(SourceCheck(now_ms, (True,) * streams))


def _count(ran: Ran, query: InlineQuery, progress: dict[str, Any] | None) -> None:
    if progress is None:
        raise AssertionError("the step was not run")
    before = ran.results[-1] if ran.results else 0
    found = before + progress["numOutputRows"]
    ran.step_cpu += sum(progress["cpuSeconds"].values())
    ran.opened_bytes += progress["deferred"].get("openedBytes", 0)
    if progress["sparkBatchId"] is None:
        ran.results[-1] = found
        return
    ran.results.append(found)
    manifest = query.steps.manifest
    used = [0] * manifest.layout.units[0]
    for unit, load in zip(manifest.layout.group_units, manifest.groups.loads if manifest.groups else (), strict=True):
        used[unit] += load.size
    ran.used.append(used)


def _clean_up(ran: Ran, query: InlineQuery, units: int) -> None:
    ran.clean_up_cpu = [0.0] * units
    state = query.steps.manifest.groups
    ran.deferred_bytes = 0 if state is None else sum(state.loads[group].pushed_size for group in state.owing)
    began = time.monotonic()
    while (progress := query.steps.clean_up()) is not None:
        ran.cleaned += progress["numOutputRows"]
        for unit in progress["units"]:
            ran.clean_up_cpu[unit["unit"]] += unit["cpuSeconds"]
    ran.clean_up_seconds = time.monotonic() - began


def _limit(settings: MemorySettings) -> MemoryLimit:
    return MemoryLimit(settings.limit_bytes, settings.overflow, settings.spill_at, settings.spill_share)
