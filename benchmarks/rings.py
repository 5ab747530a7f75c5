"""`python -m benchmarks.rings`: whether the lengths of rings that the cost model chooses are good ones in the engine.

Three streams joined by functions, on eight slots with a unit each. The engine runs in one process, one task after
another. A figure is the modelled time of a step's lookups, if every slot had a core of its own: job by job, the slowest
slot. Rings of all lengths are compared, and those that are chosen by what the run with rings of eight has measured.
Every run of a case has the same number of results, or the script fails.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from braid.optimizer.build import build_plan
from braid.optimizer.ring_estimates import RingEstimate, estimate_rings
from braid.optimizer.ring_lengths import initial_lengths
from braid.optimizer.strategies import TimeSliced
from braid.placement.slices import with_rings
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery, ManualClock

UNITS, STEPS, MEASURED, ROUNDS = 8, 16, 10, 3
STEP_US = 1_000_000
WINDOW = 6
# Rows of each stream a step, and how often the function computes what it compares: from cheap steps to expensive ones.
CASES = ((40, 1), (150, 1), (150, 20))

Lengths = tuple[int, ...]


@dataclass(frozen=True)
class Rings:
    """Time slices with rings of given lengths, which do not change."""

    lengths: Lengths

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        layout = TimeSliced(UNITS, adapt="off").layout(plan, slots)
        return replace(with_rings(layout, plan, self.lengths), goal=None)

    def describe(self) -> str:
        return f"rings of {self.lengths}"


def similar(repeated: int) -> Any:
    def passes(left: pa.Array, right: pa.Array) -> np.ndarray:
        one, other = left.to_numpy(), right.to_numpy()
        found = (7 * one + 11 * other) % 997
        for _ in range(1, repeated):
            found = (7 * one + 11 * other) % 997
        return np.asarray(found < 3)

    return passes


def query_of(repeated: int) -> LogicalPlan:
    draft = Draft()
    a, b, c = (draft.stream(n, {"v": "bigint"}, window_us=WINDOW * STEP_US, lateness_us=0) for n in "abc")
    draft.on_function(similar(repeated), a["v"], b["v"], raises=False, selectivity=3e-3)
    draft.on_function(similar(repeated), b["v"], c["v"], raises=False, selectivity=3e-3)
    return draft.logical_plan()


def run(lengths: Lengths, rows: int, repeated: int) -> tuple[float, int, RingEstimate]:
    """The modelled seconds of a step's lookups, the results of all steps, and what was measured."""
    plan, chance, clock = query_of(repeated), np.random.default_rng(7), ManualClock(0)
    slowest: list[float] = []
    seconds, results = [], 0
    with tempfile.TemporaryDirectory() as directory:
        query = InlineQuery(plan, directory, strategy=Rings(lengths), slots=UNITS, clock=clock)
        task: Any = query.cluster.run

        def timed(command: Any) -> Any:
            reports = task(command)
            slowest.append(max(report.usage.seconds for report in reports))
            return reports

        vars(query.cluster)["run"] = timed
        for step in range(STEPS):
            clock.advance(1000)
            slowest.clear()
            progress = query.run(step, {name: _rows(chance, step, rows) for name in "abc"}) or {}
            seconds.append(sum(slowest))
            results += progress["numOutputRows"]
        estimate = estimate_rings(build_plan(plan), query.steps.manifest)
    return median(seconds[-MEASURED:]), results, estimate


def _rows(chance: np.random.Generator, step: int, count: int) -> pa.Table:
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, count))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": chance.integers(0, 10_000, count)})


def compare(rows: int, repeated: int) -> None:
    even = [(length,) * 3 for length in range(1, UNITS + 1)]
    _, results, estimate = run(even[-1], rows, repeated)
    chosen, answers = initial_lengths(estimate.works, UNITS), {results}
    times: dict[Lengths, list[float]] = {lengths: [] for lengths in (*even, chosen)}
    for _ in range(ROUNDS):
        for lengths, seconds in times.items():
            measured, results, _ = run(lengths, rows, repeated)
            seconds.append(measured)
            answers.add(results)
    if len(answers) > 1:
        sys.exit(f"the answers differ: {answers} rows")
    found = {lengths: median(seconds) for lengths, seconds in times.items()}
    best = min(found, key=found.__getitem__)
    hop = f"a unit more {1000 * estimate.hop_seconds:.2f} ms"
    print(f"{rows} rows a stream and step, function repeated {repeated} times; {hop}")
    print(f"  rings of 1 to {UNITS}, modelled, ms: {_texts([found[lengths] for lengths in even])}")
    print(f"  by equation 5, ms: {_texts([estimate.latency(lengths) for lengths in even])}")
    print(f"  chosen {chosen}: {found[chosen] / found[best]:.2f} times the best, {best}", flush=True)


def _texts(seconds: Sequence[float]) -> str:
    return ", ".join(f"{1000 * value:.1f}" for value in seconds)


def main() -> None:
    for rows, repeated in CASES:
        compare(rows, repeated)


if __name__ == "__main__":
    main()
