"""A band join on a skewed attribute: how full the fullest unit is, in rows and in pairs compared.

Values are Zipf distributed with exponent 1.2, and one of them has a fifth of the rows. They lie in a random order on
the axis, one apart, so a band finds a value and its two neighbours.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.scale.rows import STEP_US, STREAMS
from benchmarks.strategies import strategy_of
from braid.errors import BraidError
from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import constant, within

EXPONENT, HOT_SHARE, VALUES = 1.2, 0.2, 10_000
# Units of each stream, each on a slot of its own.
WINDOW_STEPS, UNITS, SLOTS = 5, 16, 16


def skewed_plan() -> LogicalPlan:
    """Results are only counted: the frequent value alone has millions of them."""
    draft = Draft()
    window = WINDOW_STEPS * STEP_US
    r, s = (draft.stream(name, {"v": "double"}, window_us=window, lateness_us=0) for name in STREAMS)
    draft.on(within(r["v"], s["v"], constant(1.0, "double")))
    return draft.aggregate([], ("count", ())).logical_plan()


def skewed_values(chance: np.random.Generator, rows: int) -> np.ndarray:
    """Rank 0 has its own share, the others share the rest by Zipf's law; ranks are shuffled over the axis."""
    weights = np.arange(2, VALUES + 1, dtype=float) ** -EXPONENT
    shares = np.concatenate(([HOT_SHARE], (1 - HOT_SHARE) * weights / weights.sum()))
    places = np.random.default_rng(0).permutation(VALUES).astype(float)
    return places[chance.choice(VALUES, rows, p=shares)]


def measure_skew(strategy: str, rows: int, steps: int) -> dict[str, Any]:
    """The fullest unit after some steps, as a multiple of the even share of its side."""
    clock, chance = ManualClock(0), np.random.default_rng(7)
    with tempfile.TemporaryDirectory(prefix="braid-scale-") as directory:
        try:
            query = InlineQuery(
                skewed_plan(),
                directory,
                strategy=strategy_of(strategy),
                slots=SLOTS,
                ingest_tasks=SLOTS,
                clock=clock,
                rows_per_batch=10_000,
            )
        except BraidError as error:
            return {"strategy": strategy, "error": error.message}
        progress: dict[str, Any] = {}
        for step in range(steps):
            times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, rows))
            stamps = pa.array(times, pa.timestamp("us", "UTC"))
            clock.advance(1000)
            tables = {name: pa.table({"ts": stamps, "v": skewed_values(chance, rows)}) for name in STREAMS}
            progress = query.run(step, tables) or {}
    return {"strategy": strategy, **fullest(progress["units"])}


def fullest(units: list[dict[str, Any]]) -> dict[str, Any]:
    """The largest unit of each side over the mean of its side, the larger of both; empty units may be missing."""

    def largest(what: str) -> float:
        shares = []
        for side in range(len(STREAMS)):
            numbers = [int(unit[what]) for unit in units if unit["unit"] // UNITS == side]
            shares.append(max(numbers, default=0) * UNITS / max(1, sum(numbers)))
        return max(shares)

    return {"rows": largest("rowsStored"), "pairs": largest("pairsCompared")}
