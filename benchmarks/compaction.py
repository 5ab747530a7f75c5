"""`python -m benchmarks.compaction`: the duration of steps while the state grows to 50 million rows, in one process.

An equality join of narrow rows with two slots. The window is as long as the run, so blocks of all ages are merged and
none expires before the end. The slots run one after the other; the CPU time of the slower one is what a step would
take with a core for each. Prints the median and the 99th percentile of both, and the largest of what was merged.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal

STATE_ROWS, ROWS, STEP_US = 50_000_000, 125_000, 1_000_000
STEPS = STATE_ROWS // (2 * ROWS)
# At the end one row in ten has a partner: what grows is the state, not the results.
KEYS = STATE_ROWS * 5
SLOTS = 2
# The first steps import modules and fill no blocks.
WARM = 10


@dataclass(frozen=True)
class Measured:
    """One step: its duration, the CPU seconds of its slower slot, the rows it merged, and what is stored after it."""

    seconds: float
    slot_cpu: float
    merged_rows: int
    state_rows: int
    blocks: int


def build_plan() -> LogicalPlan:
    draft = Draft()
    r, s = (draft.stream(name, {"k": "bigint"}, window_us=STEPS * STEP_US, lateness_us=0) for name in ("r", "s"))
    draft.on(equal(r["k"], s["k"]))
    return draft.logical_plan()


def measure() -> list[Measured]:
    chance, clock = np.random.default_rng(1), ManualClock(0)
    with tempfile.TemporaryDirectory() as directory:
        query = InlineQuery(
            build_plan(), directory, slots=SLOTS, ingest_tasks=SLOTS, clock=clock, rows_per_batch=10_000
        )
        spent, merged = _watch(query)
        steps: list[Measured] = []
        for step in range(STEPS):
            tables = {name: _rows(chance, step) for name in ("r", "s")}
            clock.advance(1000)
            spent.clear()
            merged.clear()
            began = time.monotonic()
            progress = query.run(step, tables) or {}
            seconds = time.monotonic() - began
            state = query.steps.manifest.blocks
            steps.append(
                Measured(seconds, max(spent.values()), sum(merged), sum(block.rows for block in state), len(state))
            )
            if step % 20 == 19:
                print(f"step {step}: {steps[-1]}, {progress['numOutputRows']:,} results", flush=True)
    return steps


def _watch(query: InlineQuery) -> tuple[dict[int, float], list[int]]:
    """The CPU seconds of each slot's probe task, and the rows of the blocks that were merged, of the current step."""
    spent: dict[int, float] = {}
    merged: list[int] = []
    cluster: Any = query.cluster
    run_slot: Callable[..., Any] = cluster._slot

    def timed(*arguments: Any) -> Any:
        began = time.process_time()
        report = run_slot(*arguments)
        spent[report.slot] = spent.get(report.slot, 0.0) + time.process_time() - began
        merged.extend(part.rows for part in report.merged)
        return report

    cluster._slot = timed
    return spent, merged


def _rows(chance: np.random.Generator, step: int) -> pa.Table:
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, ROWS))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": pa.array(chance.integers(0, KEYS, ROWS))})


def _figures(name: str, values: list[float]) -> str:
    median, high = np.percentile(values, [50, 99])
    return f"{name}: median {median:.3f} s, p99 {high:.3f} s ({high / median:.2f} x), longest {max(values):.3f} s"


def main() -> None:
    steps = measure()
    counted = steps[WARM:]
    print(f"{len(counted)} steps of {2 * ROWS:,} rows, {steps[-1].state_rows:,} rows of state at the end")
    print(_figures("step", [step.seconds for step in counted]))
    print(_figures("CPU of the slower slot", [step.slot_cpu for step in counted]))
    print(f"merged in one step: at most {max(step.merged_rows for step in steps):,} rows")
    print(f"live blocks: at most {max(step.blocks for step in steps)}")


if __name__ == "__main__":
    main()
