"""`python -m benchmarks.slicing`: how evenly the units of time slices share the pairs that are compared.

Eight units, three streams with rates 1:2:4 and windows 1:2:3, joined by functions; after a third of the run the rate
of one stream doubles. The engine runs in one process and counts pairs. A figure is the share of the busiest unit, in
multiples of an even share: over all steps of the last 30 together, and the mean of these steps one by one. Every run of
a case has the same number of results, or the script fails.

The first case has rings as unequal as the streams: two, four and eight units. In the second each stream has as many
slices as there are units, and the rate of the stream goes up and down fivefold.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from braid.optimizer.strategies import TimeSliced
from braid.testing import Draft, InlineQuery, ManualClock

UNITS, STEPS, CHANGE, MEASURED = 8, 180, 60, 30
STEP_US = 1_000_000
ONE_IN = 199
RATES = {"a": 20, "b": 40, "c": 80}
WINDOWS = {"a": 10, "b": 20, "c": 30}
UNEQUAL = {"a": 2, "b": 4, "c": 8}

Rate = Callable[[str, int], int]


def passing(left: pa.Array, right: pa.Array) -> np.ndarray:
    """About one pair in two hundred."""
    return np.asarray((7 * left.to_numpy() + 11 * right.to_numpy()) % ONE_IN == 0)


def doubling(stream: str) -> Rate:
    """Even rates, of which one doubles after a third of the run."""
    return lambda name, step: RATES[name] * (2 if name == stream and step >= CHANGE else 1)


def waves(name: str, step: int) -> int:
    """Rates that go up and down fivefold, every stream by a period of its own."""
    period = WINDOWS[name]
    return RATES[name] * (5 if step % period < period // 3 else 1)


@dataclass(frozen=True)
class Measured:
    """What a run has counted: the pairs of each unit step by step, all results, and its adaptations."""

    pairs: Sequence[Mapping[int, int]]
    results: int
    adaptations: Sequence[tuple[int, str]]

    def together(self) -> float:
        """The busiest unit over the measured steps, in multiples of an even share."""
        counts = [sum(step.get(unit, 0) for step in self.pairs[-MEASURED:]) for unit in range(UNITS)]
        return max(counts) * UNITS / max(1, sum(counts))

    def by_step(self) -> float:
        """The busiest unit of each measured step, on average."""
        shares = [max(step.values()) * UNITS / max(1, sum(step.values())) for step in self.pairs[-MEASURED:]]
        return sum(shares) / len(shares)


def run(strategy: TimeSliced, rate: Rate, steps: int = STEPS) -> Measured:
    """The join of the streams with these rates."""
    draft = Draft()
    made = {n: draft.stream(n, {"v": "bigint"}, window_us=w * STEP_US, lateness_us=0) for n, w in WINDOWS.items()}
    draft.on_function(passing, made["a"]["v"], made["b"]["v"], raises=False, selectivity=1 / ONE_IN)
    draft.on_function(passing, made["b"]["v"], made["c"]["v"], raises=False, selectivity=1 / ONE_IN)
    chance, clock = np.random.default_rng(7), ManualClock(0)
    pairs, results, adaptations = [], 0, []
    with tempfile.TemporaryDirectory() as directory:
        query = InlineQuery(draft.logical_plan(), directory, strategy=strategy, slots=2, clock=clock)
        for step in range(steps):
            clock.advance(1000)
            tables = {name: _rows(chance, step, rate(name, step)) for name in RATES}
            progress: dict[str, Any] = query.run(step, tables) or {}
            pairs.append({unit["unit"]: unit["pairsCompared"] for unit in progress["units"]})
            results += progress["numOutputRows"]
            adaptations += [(step, text) for text in progress["adaptations"]]
    return Measured(pairs, results, adaptations)


def _rows(chance: np.random.Generator, step: int, count: int) -> pa.Table:
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, count))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": chance.integers(0, 10_000, count)})


def compare(title: str, rate: Rate, strategies: Sequence[TimeSliced]) -> None:
    print(title)
    answers = set()
    for strategy in strategies:
        measured = run(strategy, rate)
        answers.add(measured.results)
        print(
            f"  {strategy.describe()}: {measured.together():.3f} over {MEASURED} steps together, "
            f"{measured.by_step():.3f} step by step; {len(measured.adaptations)} adaptations",
            flush=True,
        )
        for step, text in measured.adaptations if strategy.slicing == "time" else ():
            print(f"    step {step}: {text}")
    if len(answers) > 1:
        sys.exit(f"the answers differ: {answers} rows")


def main() -> None:
    for stream in RATES:
        title = f"the rate of {stream} doubles at step {CHANGE}; busiest unit, in multiples of an even share:"
        unequal = [TimeSliced(UNITS, UNEQUAL, adapt=adapt) for adapt in ("off", "passive", "aggressive")]
        compare(title, doubling(stream), [TimeSliced(UNITS, adapt="off"), *unequal])
    few = [TimeSliced(UNITS, UNITS, slicing=kind, adapt="off") for kind in ("time", "count")]
    compare("rates go up and down fivefold:", waves, few)


if __name__ == "__main__":
    main()
