"""`python -m benchmarks.functions`: expensive Python functions, in the order that was given and in the measured one.

Two functions decide a pair, and both are described wrongly: one keeps a core busy for 50 µs a pair and is given as
cheap and selective, the other passes one pair in a hundred and is given as expensive. The engine runs in one process,
in the order given and in the measured one by turns; every answer has the same number of rows, or the script fails.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
import time
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from braid.optimizer import check_orders
from braid.testing import Draft, InlineQuery, ManualClock

ROWS, STEPS, WARM, ROUNDS = 40, 8, 2, 3
STEP_US = 1_000_000
PAIR_SECONDS = 5e-5
LEARNING = ("MIN_PAIRS", "MIN_SAMPLED")


def slow(left: pa.Array, right: pa.Array) -> np.ndarray:
    """Half of the pairs, after 50 µs of work for each."""
    until = time.perf_counter() + PAIR_SECONDS * len(left)
    while time.perf_counter() < until:
        pass
    return np.asarray((left.to_numpy() + right.to_numpy()) % 2 == 0)


def selective(left: pa.Array, right: pa.Array) -> np.ndarray:
    """One pair in a hundred."""
    return np.asarray((7 * left.to_numpy() + right.to_numpy()) % 100 == 0)


def run(measured: bool) -> tuple[float, int]:
    """Seconds of a warm step, the median, and all results; without what was measured the given order stays."""
    draft = Draft()
    window = 5 * STEP_US
    r, s = (draft.stream(name, {"v": "bigint"}, window_us=window, lateness_us=0) for name in ("r", "s"))
    draft.on_function(slow, r["v"], s["v"], raises=False, cost=1e-9, selectivity=0.01)
    draft.on_function(selective, r["v"], s["v"], raises=False, cost=1.0, selectivity=0.99)
    chance, clock, seconds, results = np.random.default_rng(1), ManualClock(0), [], 0
    least: dict[str, Any] = {name: getattr(check_orders, name) if measured else math.inf for name in LEARNING}
    with tempfile.TemporaryDirectory() as directory, mock.patch.multiple(check_orders, **least):
        query = InlineQuery(draft.logical_plan(), directory, clock=clock)
        for step in range(STEPS):
            tables = {name: _rows(chance, step) for name in ("r", "s")}
            clock.advance(1000)
            began = time.perf_counter()
            progress: dict[str, Any] = query.run(step, tables) or {}
            seconds.append(time.perf_counter() - began)
            results += progress["numOutputRows"]
    return statistics.median(seconds[WARM:]), results


def _rows(chance: np.random.Generator, step: int) -> pa.Table:
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, ROWS))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": chance.integers(0, 10_000, ROWS)})


def main() -> None:
    ratios = []
    for number in range(ROUNDS):
        (given, results), (measured, same) = run(measured=False), run(measured=True)
        if results != same:
            sys.exit(f"the answers differ: {results} and {same} rows")
        ratios.append(given / measured)
        print(
            f"round {number + 1}: a step takes {1000 * given:.0f} ms in the order given, {1000 * measured:.0f} ms in "
            f"the measured one: {ratios[-1]:.1f} times faster; {results:,} results",
            flush=True,
        )
    print(f"median {statistics.median(ratios):.1f} times faster, {min(ratios):.1f} to {max(ratios):.1f}")


if __name__ == "__main__":
    main()
