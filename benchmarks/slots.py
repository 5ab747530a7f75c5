"""`python -m benchmarks.slots`: CPU of the task functions of a step by the number of slots, in one process.

The same 2 × 50,000 rows a step are cut for more and more slots, with as many ingest tasks as slots for each stream. No
Spark is involved, so Spark's cost of a task is not in the figures. Every answer has the same number of rows; if not,
the script fails.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import constant, equal, within

ROWS, STEP_US, WINDOW_STEPS = 50_000, 1_000_000, 5
# With this many keys, and as wide a range of values, both joins find about 1.25 results for each row.
KEYS = 200_000
STEPS, COUNTED = 16, 8


@dataclass(frozen=True)
class Measured:
    """Median CPU seconds of the counted steps: in ingest tasks, in probe tasks, and outside of both."""

    ingest: float
    probe: float
    driver: float
    results: int


def build_plan(kind: str) -> LogicalPlan:
    draft = Draft()
    r, s = (
        draft.stream(name, {"k": "bigint", "v": "double"}, window_us=WINDOW_STEPS * STEP_US, lateness_us=0)
        for name in ("r", "s")
    )
    draft.on(equal(r["k"], s["k"]) if kind == "equality" else within(r["v"], s["v"], constant(0.5, "double")))
    return draft.logical_plan()


def measure(kind: str, slots: int) -> Measured:
    chance, clock = np.random.default_rng(1), ManualClock(0)
    with tempfile.TemporaryDirectory() as directory:
        query = InlineQuery(
            build_plan(kind), directory, slots=slots, ingest_tasks=slots, clock=clock, rows_per_batch=10_000
        )
        spent = _watch(query)
        steps: list[tuple[float, float, float]] = []
        results = 0
        for step in range(STEPS):
            tables = {name: _rows(chance, step) for name in ("r", "s")}
            clock.advance(1000)
            spent.update(ingest=0.0, probe=0.0)
            began = time.process_time()
            progress = query.run(step, tables) or {}
            whole = time.process_time() - began
            steps.append((spent["ingest"], spent["probe"], whole - spent["ingest"] - spent["probe"]))
            results += progress["numOutputRows"]
    ingest, probe, driver = (statistics.median(step[n] for step in steps[-COUNTED:]) for n in range(3))
    return Measured(ingest, probe, driver, results)


def _watch(query: InlineQuery) -> dict[str, float]:
    """Adds up the CPU seconds of the task functions."""
    spent = {"ingest": 0.0, "probe": 0.0}
    cluster: Any = query.cluster

    def timed(phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            began = time.process_time()
            try:
                return function(*arguments)
            finally:
                spent[phase] += time.process_time() - began

        return run

    cluster._take, cluster._slot = timed("ingest", cluster._take), timed("probe", cluster._slot)
    return spent


def _rows(chance: np.random.Generator, step: int) -> pa.Table:
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, ROWS))
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(chance.integers(0, KEYS, ROWS)),
            "v": pa.array(chance.random(ROWS) * KEYS),
        }
    )


def main(arguments: list[str]) -> None:
    """The kinds and numbers of slots to measure; by default equality and band with 2, 8 and 32 slots."""
    kinds = [word for word in arguments if not word.isdigit()] or ["equality", "band"]
    numbers = [int(word) for word in arguments if word.isdigit()] or [2, 8, 32]
    for kind in kinds:
        results: set[int] = set()
        for slots in numbers:
            found = measure(kind, slots)
            results.add(found.results)
            print(
                f"{kind:9} {slots:4} slots: ingest {found.ingest:.3f} s, probe {found.probe:.3f} s, "
                f"driver {found.driver:.3f} s; {found.results:,} results",
                flush=True,
            )
        if len(results) > 1:
            sys.exit(f"the answers differ: {sorted(results)}")


if __name__ == "__main__":
    main(sys.argv[1:])
