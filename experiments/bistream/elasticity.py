"""Units that follow the load, and no false move during a short fluctuation (Figure 12), on a compressed clock."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from braid.control.elasticity import Elasticity
from braid.optimizer.strategies import Biclique
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal
from experiments.bistream.counting import ROWS_PER_BATCH
from experiments.bistream.size import Size
from experiments.outcome import Claim, Curve, Outcome

MINUTES = 50
STEP_SECONDS = 15
WINDOW_SECONDS = 300
BASE_LOAD = 0.55  # of eight units at the first rate
FLUCTUATION = (22, 31)
# From which minute on rows come at which multiple of the first rate.
RATES = ((0, 1.0), (10, 1.6), (22, 1.9), (24, 1.1), (26, 1.9), (28, 1.1), (30, 1.6), (34, 0.62))


@dataclass(frozen=True)
class Minute:
    """The state of the run at a step."""

    minute: float
    rate: float
    units: int
    load_bytes: float
    adaptations: tuple[str, ...]


def following(size: Size) -> Outcome:
    """Fifty minutes of a rate that rises, wavers and falls, with a window of five."""
    rows = 1_000 if size.name == "quick" else 4_000
    steady = _run(rows, None, minutes=8)
    capacity = round(steady[-1].load_bytes / 4 / BASE_LOAD)
    settings = Elasticity(
        low=0.3,
        high=0.8,
        target=0.6,
        patience=3,
        period_ms=60_000,
        capacity_bytes=capacity,
        min_units=3,
        max_units=None,
    )
    steps = _run(rows, settings, minutes=MINUTES)
    moves = [(step.minute, text) for step in steps for text in step.adaptations]
    units = [step.units for step in steps]
    added, removed = max(units) - units[0], max(units) - units[-1]
    false = [move for move in moves if FLUCTUATION[0] <= move[0] < FLUCTUATION[1]]
    claims = (
        Claim("units added when the load rises", "4", str(added), added == 4),
        Claim("units removed when it falls", "6", str(removed), removed == 6),
        Claim(
            "moves while the rate wavers, minutes 22 to 31",
            "none",
            str(len(false)) if false else "none",
            not false,
        ),
    )
    return Outcome(
        "following",
        "Units following the load, window of five minutes",
        f"{rows} rows a stream and step at first, steps of {STEP_SECONDS} s on a clock that the run moves; thresholds "
        "0.3 and 0.8, target 0.6, three equal wishes, at least three units a side. Nothing migrates: rows expire where "
        "they are.",
        "Figure 12",
        claims,
        ("minute", "what"),
        tuple((f"{minute:.1f}", text) for minute, text in moves),
        (
            Curve("units", tuple((step.minute, step.units) for step in steps)),
            Curve("rate, × 10", tuple((step.minute, 10 * step.rate) for step in steps)),
        ),
        ("minute", "units; rate"),
    )


def _run(rows: int, settings: Elasticity | None, minutes: int) -> list[Minute]:
    draft = Draft()
    window_us = WINDOW_SECONDS * 1_000_000
    r = draft.stream("r", {"k": "bigint"}, window_us=window_us)
    s = draft.stream("s", {"k": "bigint"}, window_us=window_us)
    logical_plan = draft.on(equal(r["k"], s["k"])).logical_plan()
    clock = ManualClock(0)
    random = np.random.default_rng(7)
    found = []
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        query = InlineQuery(
            logical_plan,
            directory,
            strategy=Biclique((4, 4)),
            clock=clock,
            elasticity=settings,
            rows_per_batch=ROWS_PER_BATCH,
        )
        for step in range(minutes * 60 // STEP_SECONDS):
            second = step * STEP_SECONDS
            clock.now_ms = second * 1000
            rate = _rate(second / 60)
            tables = {name: _rows(random, round(rows * rate), second) for name in "rs"}
            progress: dict[str, Any] | None = query.run(step, tables)
            manifest = query.steps.manifest
            load = sum(load.size for load in manifest.loads) / 2
            said = tuple(progress["adaptations"]) if progress else ()
            found.append(Minute(second / 60, rate, sum(manifest.layout.units), load, said))
    return found


def _rate(minute: float) -> float:
    return next(rate for begin, rate in reversed(RATES) if minute >= begin)


def _rows(random: np.random.Generator, count: int, second: int) -> pa.Table:
    times = second * 1_000_000 + np.sort(random.integers(0, STEP_SECONDS * 1_000_000, count))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": random.integers(0, 1 << 40, count)})
