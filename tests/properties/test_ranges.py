"""Range routing: the same rows with numbers of every kind, ranges that change and hot values; and visits are saved."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.errors import PredicateError, StrategyError
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Auto, Biclique, Strategy
from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import constant, equal, less, within
from tests import budget

STEP_US = 1_000_000
STEPS = 7


def band(kind: str = "double", window_steps: int | None = 3, width: float = 1.0) -> LogicalPlan:
    draft = Draft()
    window = None if window_steps is None else window_steps * STEP_US
    r, s = (draft.stream(name, {"v": kind}, window_us=window, lateness_us=0) for name in ("r", "s"))
    draft.on(within(r["v"], s["v"], constant(int(width) if kind == "bigint" else width, kind)))
    return draft.logical_plan()


def numbers(chance: np.random.Generator, step: int, rows: int, kind: str) -> np.ndarray[Any, Any]:
    """Even, skewed or drifting numbers with a hot value and, if they are doubles, some without a place."""
    values = chance.choice((chance.random(rows) * 50, chance.random(rows) ** 4 * 50, step * 20 + chance.random(rows)))
    values = np.where(chance.random(rows) < 0.2, 7.0, values)
    if kind == "bigint":
        return np.asarray(np.where(chance.random(rows) < 0.01, 2**62, values)).astype(np.int64)
    strange = chance.choice([np.nan, np.inf, -np.inf, -0.0, 1e308, 5e-324], rows)
    return np.where(chance.random(rows) < 0.03, strange, values)


def table(step: int, values: np.ndarray[Any, Any], chance: np.random.Generator) -> pa.Table:
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, len(values)))
    nulls = chance.random(len(values)) < 0.02
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": pa.array(values, mask=nulls)})


def results(query: InlineQuery) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in query.published().to_pylist())


def start(plan: LogicalPlan, path: Path, strategy: Strategy, slots: int) -> tuple[InlineQuery, ManualClock]:
    clock = ManualClock(0)
    query = InlineQuery(plan, str(path), strategy=strategy, slots=slots, ingest_tasks=2, clock=clock)
    return query, clock


def adaptations(progress: list[dict[str, Any]]) -> list[str]:
    return [text for step in progress for text in step["adaptations"] if text.startswith("changes ranges")]


@pytest.mark.parametrize("seed", budget.seeds(24_000, 12))
def test_ranges_change_no_rows(seed: int, tmp_path: Path) -> None:
    chance = np.random.default_rng(seed)
    window = None if seed % 4 == 3 else 3
    steps = [
        {name: table(step, numbers(chance, step, 60, "double"), chance) for name in ("r", "s")} for step in range(STEPS)
    ]
    answers, changed = [], []
    units = tuple(int(n) for n in chance.integers(2, 6, 2))
    for number, strategy in enumerate((Biclique(1), Biclique(units, routing="range"), Auto())):
        query, clock = start(band(window_steps=window), tmp_path / str(number), strategy, 1 if number == 0 else 3)
        progress = []
        for step, tables in enumerate(steps):
            clock.advance(1000)
            progress.append(query.run(step, tables) or {})
            if number == 1 and step == STEPS // 2:
                query, clock = start(band(window_steps=window), tmp_path / str(number), strategy, 3)
        answers.append(results(query))
        changed.append(adaptations(progress))
    assert answers[0] == answers[1] == answers[2]
    assert sum(answers[0].values()) > 100
    assert changed[0] == []
    assert changed[1]
    assert changed[2]


def test_a_sum_that_overflows_is_found_in_every_range(tmp_path: Path) -> None:
    """Under ANSI rules the difference of far integers raises, although no such pair is within the band."""
    chance = np.random.default_rng(3)
    query, _ = start(band("bigint"), tmp_path, Biclique(4, routing="range"), 4)
    for step in range(3):
        tables = {name: table(step, np.arange(100, dtype=np.int64), chance) for name in ("r", "s")}
        progress = query.run(step, tables) or {}
    assert query.steps.manifest.layout.groups != (1, 1)
    assert progress["numOutputRows"] > 0
    far = {
        "r": table(3, np.array([2**63 - 1], np.int64), chance),
        "s": table(3, np.array([-(2**63) + 1], np.int64), chance),
    }
    with pytest.raises(PredicateError):
        query.run(3, far)


def test_a_row_visits_few_units(tmp_path: Path) -> None:
    """With 8 ranges a row is compared in its own and seldom in a second one; at random in all 8."""
    probes = {}
    for routing in ("random", "range"):
        chance = np.random.default_rng(4)
        query, clock = start(band(), tmp_path / routing, Biclique(8, routing=routing), 8)
        for step in range(8):
            tables = {name: table(step, chance.random(2000) * 1000, chance) for name in ("r", "s")}
            clock.advance(1000)
            progress = query.run(step, tables) or {}
        probes[routing] = sum(unit["rowsProbed"] for unit in progress["units"])
        assert len({unit["unit"] for unit in progress["units"]}) == 16
    assert probes["range"] < probes["random"] / 5


def test_three_streams_exchange_only_what_a_range_reaches(tmp_path: Path) -> None:
    draft = Draft()
    a, b, c = (draft.stream(name, {"v": "double"}, window_us=3 * STEP_US, lateness_us=0) for name in ("a", "b", "c"))
    draft.on(within(a["v"], b["v"], constant(1.0, "double"))).on(less(b["v"], c["v"]))
    answers = []
    for number, strategy in enumerate((Biclique(1), Biclique(3, routing="range"))):
        chance = np.random.default_rng(5)
        query, clock = start(draft.logical_plan(), tmp_path / str(number), strategy, 3)
        for step in range(5):
            tables = {name: table(step, chance.random(12) * 20, chance) for name in ("a", "b", "c")}
            clock.advance(1000)
            query.run(step, tables)
        answers.append(results(query))
    assert answers[0] == answers[1]
    assert sum(answers[0].values()) > 100


def test_ranges_need_a_number_that_a_comparison_bounds() -> None:
    draft = Draft()
    r, s = (draft.stream(name, {"k": "string"}, window_us=STEP_US, lateness_us=0) for name in ("r", "s"))
    draft.on(equal(r["k"], s["k"]))
    with pytest.raises(StrategyError, match="no comparison of two streams bounds a number"):
        Biclique(routing="range").layout(build_plan(draft.logical_plan()), 4)
    with pytest.raises(StrategyError, match="'random', 'contrand' or 'range'"):
        Biclique(routing="hash")  # type: ignore[arg-type]  # a wrong value is the case
    assert Auto().layout(build_plan(band()), 4).ranges == ((), ())
