"""Slices that are redistributed and cut again while a join runs: the same rows as ever, and units with even loads."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control.ordering import Ordering
from braid.control.slicing import balancing
from braid.optimizer.strategies import Biclique, TimeSliced
from braid.plan.layout import Adapt, SlicingKind
from braid.testing import Draft, InlineQuery, ManualClock
from tests.budget import seeds
from tests.properties.cases import Case, make_case, results_of
from tests.properties.running import run_restarted
from tests.properties.slicing import some_slices

UNITS = 4
STEP_US = 1_000_000


@pytest.mark.parametrize("seed", seeds(42_000, 12))
def test_slices_of_any_kind_give_the_oracles_rows_over_restarts(seed: int, tmp_path: Path) -> None:
    """Every batch or two another run, with other units, other slices and another adaptation."""
    case, chance = make_case(seed).restarted(), random.Random(seed)
    used: list[TimeSliced] = []

    def choose() -> TimeSliced:
        used.append(some_slices(case.logical_plan, chance) if seed % 2 or not used else used[-1])
        return used[-1]

    got = run_restarted(case, tmp_path, chance, choose)
    assert got == case.expected, f"{case.describe()}\n{used}"


def windows_of(case: Case, kind: str, chance: random.Random) -> Case:
    """The case with windows of one kind."""
    made = []
    for number, stream in enumerate(case.streams):
        if kind == "rows" and number == 0:
            made.append(replace(stream, window_us=None, window_rows=chance.randint(1, 6), lateness_us=200))
        elif kind == "rows":
            made.append(replace(stream, window_us=30, lateness_us=200))
        else:
            window = None if kind == "unbounded" else (5, 20, 60, 11)[number]
            made.append(replace(stream, window_us=window))
    # A window of rows counts equal rows one by one.
    batches = tuple({name: [dict(row) for row in rows] for name, rows in batch.items()} for batch in case.batches)
    return replace(case, streams=tuple(made), batches=batches, ordered=kind == "rows")


@pytest.mark.parametrize("adapt", ["passive", "aggressive"])
@pytest.mark.parametrize("slicing", ["time", "count"])
@pytest.mark.parametrize("kind", ["rows", "different", "unbounded"])
def test_windows_of_every_kind(kind: str, slicing: SlicingKind, adapt: Adapt, tmp_path: Path) -> None:
    for seed in seeds(43_000, 2):
        chance = random.Random(f"{seed} {kind}")
        case = windows_of(make_case(seed, nothing_late=True, shares=(50, 50, 0)), kind, chance)
        clock = ManualClock(0)
        query = InlineQuery(
            case.logical_plan,
            str(tmp_path / str(seed)),
            strategy=TimeSliced(3, {case.streams[0].name: 2}, slicing=slicing, adapt=adapt),
            clock=clock,
            ordering=Ordering("adaptive", 0.3) if case.ordered else None,
        )
        for batch, now in enumerate(case.clock_ms):
            clock.now_ms = now
            query.run(batch, case.tables(batch))
        query.steps.flush()
        got = results_of(case, query.published())
        assert got == case.expected, f"{case.describe()}\n{kind}"


def modulo(left: pa.Array, right: pa.Array) -> np.ndarray:
    return np.asarray((left.to_numpy() + right.to_numpy()) % 3 == 0)


def chain(streams: int, windows: tuple[int, ...]) -> Draft:
    """A join of neighbours by a function."""
    draft = Draft()
    made = [
        draft.stream(f"s{n}", {"v": "bigint"}, window_us=windows[n % len(windows)] * STEP_US, lateness_us=10 * STEP_US)
        for n in range(streams)
    ]
    for one, other in itertools.pairwise(made):
        draft.on_function(modulo, one["v"], other["v"], raises=False, selectivity=1 / 3)
    return draft


def some_rows(chance: np.random.Generator, step: int, count: int) -> pa.Table:
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, count))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": chance.integers(0, 1000, count)})


@pytest.mark.parametrize("streams", [3, 5, 7, 9])
def test_joins_of_many_streams(streams: int, tmp_path: Path) -> None:
    chance = np.random.default_rng(streams)
    steps = [{f"s{n}": some_rows(chance, step, 3) for n in range(streams)} for step in range(3)]
    answers = []
    strategies = (TimeSliced(UNITS, {"s0": 1, "s1": 3}, slicing="count", adapt="aggressive"), Biclique(1))
    for number, strategy in enumerate(strategies):
        query = InlineQuery(
            chain(streams, (1, 2, 3)).logical_plan(), str(tmp_path / str(number)), strategy=strategy, slots=3
        )
        progress = [query.run(step, tables) or {} for step, tables in enumerate(steps)]
        answers.append(Counter(tuple(row.values()) for row in query.published().to_pylist()))
        if number == 0:
            assert any("redistributes slices" in text for step in progress for text in step["adaptations"])
    assert answers[0] == answers[1]
    assert answers[0]


def run_unequal(adapt: Adapt, tmp_path: Path, steps: int = 24) -> tuple[list[dict[str, Any]], InlineQuery]:
    """Three streams with rates 1:2:4 and windows 1:2:3; the first doubles its rate. Rings of 1, 2 and 4 units."""
    clock, chance = ManualClock(0), np.random.default_rng(5)
    draft = Draft()
    windows = zip("abc", (1, 2, 3), strict=True)
    made = [draft.stream(n, {"v": "bigint"}, window_us=2 * w * STEP_US, lateness_us=0) for n, w in windows]
    for one, other in itertools.pairwise(made):
        draft.on_function(selective, one["v"], other["v"], raises=False, selectivity=1 / 101)
    strategy = TimeSliced(UNITS, {"a": 1, "b": 2, "c": 4}, adapt=adapt)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=strategy, clock=clock)
    progress = []
    for step in range(steps):
        clock.advance(1000)
        rates = {"a": 30 if step < steps // 3 else 60, "b": 60, "c": 120}
        progress.append(query.run(step, {n: some_rows(chance, step, count) for n, count in rates.items()}) or {})
    return progress, query


def selective(left: pa.Array, right: pa.Array) -> np.ndarray:
    return np.asarray((7 * left.to_numpy() + right.to_numpy()) % 101 == 0)


def busiest(progress: list[dict[str, Any]]) -> float:
    """The share of pairs of the busiest unit, in multiples of an even share."""
    pairs: Counter[int] = Counter()
    for step in progress:
        pairs.update({unit["unit"]: unit["pairsCompared"] for unit in step["units"]})
    return max(pairs.values()) * UNITS / pairs.total()


def test_units_get_even_shares_of_the_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancing, "MAX_IMBALANCE", 1.05)
    answers = []
    for adapt in ("off", "passive", "aggressive"):
        progress, query = run_unequal(adapt, tmp_path / adapt)
        answers.append(Counter(tuple(row.values()) for row in query.published().to_pylist()))
        assert len(query.steps.manifest.layouts) <= balancing.MAX_LIVE_EPOCHS
        settled = busiest(progress[-6:])
        if adapt == "off":
            assert settled > 1.3
        else:
            assert settled <= 1.15, adapt
    assert answers[0] == answers[1] == answers[2]


def test_slices_by_count_keep_pairs_even_while_rates_go_up_and_down(tmp_path: Path) -> None:
    shares = {}
    for slicing in ("time", "count"):
        clock, chance = ManualClock(0), np.random.default_rng(3)
        draft = chain(2, (12,))
        strategy = TimeSliced(UNITS, UNITS, slicing=slicing, adapt="off")
        query = InlineQuery(draft.logical_plan(), str(tmp_path / slicing), strategy=strategy, clock=clock)
        found = []
        for step in range(40):
            clock.advance(1000)
            rows = 100 if step % 12 < 3 else 10
            progress = query.run(step, {name: some_rows(chance, step, rows) for name in ("s0", "s1")}) or {}
            pairs = [unit["pairsCompared"] for unit in progress["units"]]
            found.append(max(pairs) * UNITS / sum(pairs))
        shares[slicing] = sum(found[-24:]) / 24
    assert shares["count"] < 1.6 < 2.5 < shares["time"], shares


@pytest.mark.parametrize("adapt", ["passive", "aggressive"])
@pytest.mark.parametrize(("before", "after"), [(2, 5), (5, 2)])
def test_units_are_added_and_removed_by_a_restart(before: int, after: int, adapt: Adapt, tmp_path: Path) -> None:
    """Passively the old units are empty when their rows have expired; aggressively as soon as these have moved."""
    clock, chance = ManualClock(0), np.random.default_rng(1)
    draft = Draft()
    made = [draft.stream(n, {"v": "bigint"}, window_us=4 * STEP_US, lateness_us=0) for n in "ab"]
    draft.on_function(modulo, made[0]["v"], made[1]["v"], raises=False)
    plan, directory = draft.logical_plan(), str(tmp_path)
    expected = InlineQuery(plan, str(tmp_path / "expected"), strategy=Biclique(1), slots=1)
    stored = []
    for step in range(12):
        clock.advance(1000)
        query = InlineQuery(
            plan, directory, strategy=TimeSliced(before if step < 5 else after, adapt=adapt), clock=clock
        )
        tables = {name: some_rows(chance, step, 40) for name in "ab"}
        progress = query.run(step, tables) or {}
        expected.run(step, tables)
        stored.append({unit["unit"]: unit["rowsStored"] for unit in progress["units"] if unit["rowsStored"]})
    assert Counter(map(str, query.published().to_pylist())) == Counter(map(str, expected.published().to_pylist()))
    assert set(stored[4]) == set(range(before))
    assert set(stored[-1]) == set(range(after)), "rows of the old units have expired"
    moved = 7 if adapt == "aggressive" else 11
    assert len(stored[moved]) == after
    assert max(stored[moved].values()) * after / sum(stored[moved].values()) < 1.4
    if adapt == "passive" and after < before:
        assert set(stored[6]) == set(range(before)), "what is stored stays where it is"
