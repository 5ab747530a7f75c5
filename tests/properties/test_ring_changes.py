"""Rings chosen by what was measured: others at every restart or between steps, and the same answer."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control.ordering import Ordering
from braid.control.slicing import lengths
from braid.optimizer import ring_estimates
from braid.optimizer.strategies import TimeSliced
from braid.placement.slices import ring_lengths
from braid.state.slice_state import SliceState
from braid.testing import Draft, InlineQuery, ManualClock
from tests.budget import seeds
from tests.properties.cases import make_case, results_of
from tests.properties.slicing import adapt_often, change_rings_often
from tests.properties.test_functions import Case, table
from tests.properties.test_interleaving import SHARES, finish, start
from tests.properties.test_ordered import check, oracle, ordered_case

ADAPTS = ("passive", "aggressive")


def run(case: Case, directory: Path, *, restarting: bool) -> list[dict[str, Any]]:
    """The progress of all steps, each in a run of its own or all in one; the answer is checked."""
    query, progress = case.query(directory), []
    for number, step in enumerate(case.steps):
        query = case.query(directory) if restarting else query
        progress.append(query.run(number, {name: table(rows) for name, rows in step.items()}) or {})
    query.steps.tick()
    published = query.published()
    columns = [
        zip(published[f"{name}_ts"].cast(pa.int64()).to_pylist(), published[name].to_pylist(), strict=True)
        for name in case.streams
    ]
    assert Counter(zip(*columns, strict=True)) == case.expected()
    return progress


def changes(progress: list[dict[str, Any]]) -> int:
    return sum(text.startswith("other rings: ") for step in progress for text in step["adaptations"])


@pytest.mark.parametrize("seed", seeds(64_000, 24))
def test_other_rings_at_every_step_change_no_rows(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_rings_often(monkeypatch)
    case, chance = Case(seed), random.Random(seed)
    case.strategy = TimeSliced(
        chance.randint(1, 6),
        interleave=chance.choice((1, 1, 3)),
        slicing=chance.choice(("time", "count")),
        adapt=chance.choice(("off", *ADAPTS)),
    )
    progress = run(case, tmp_path, restarting=bool(seed % 2))
    if case.strategy.adapt == "off" and seed % 2 == 0:
        assert changes(progress) == 0


@pytest.mark.parametrize("adapt", ADAPTS)
def test_rings_do_change_between_steps_and_only_for_latency(
    adapt: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_rings_often(monkeypatch)
    case = Case(64_007)
    for goal, restarting in (("latency", False), ("latency", True), ("throughput", False)):
        case.strategy = TimeSliced(6, goal=goal, adapt=adapt)
        found = changes(run(case, tmp_path / f"{goal} {restarting}", restarting=restarting))
        assert (found > 1) == (goal == "latency")
    case.strategy = TimeSliced(6, slices=6, adapt=adapt)
    assert changes(run(case, tmp_path / "given", restarting=False)) == 0


@pytest.mark.parametrize("seed", seeds(65_000, 12))
def test_rings_change_under_every_other_adaptation_order_and_interleaving(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_rings_often(monkeypatch)
    adapt_often(monkeypatch)
    chance = random.Random(seed)
    strategy = TimeSliced(chance.randint(2, 4), adapt=chance.choice(ADAPTS), slicing=chance.choice(("time", "count")))
    strategy = replace(strategy, interleave=chance.choice((1, 2, 3)))
    case = ordered_case(seed, small=True, shares=SHARES) if seed % 2 else make_case(seed, small=True, shares=SHARES)
    clock, releases = ManualClock(case.clock_ms[0]), oracle(case) if seed % 2 else None
    ordering = Ordering("adaptive", 0.3) if seed % 2 else None
    query = start(case, tmp_path, chance, clock, strategy=strategy, ordering=ordering)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
        if releases is not None:
            releases.batch(case.batches[batch], now)
    finish(query, clock)
    if releases is None:
        assert results_of(case, query.published()) == case.expected, case.describe()
    else:
        check(case, query, releases, strategy)


def never(left: pa.Array, right: pa.Array) -> np.ndarray:
    return np.zeros(len(left), bool)


class Steady:
    """Two streams of 60 rows a step in windows of five steps; every pair is compared, which takes next to nothing."""

    def __init__(self, directory: Path, function: Callable[..., Any] = never) -> None:
        draft, self.clock = Draft(), ManualClock(0)
        made = [draft.stream(n, {"v": "bigint"}, window_us=5_000_000, lateness_us=0) for n in "ab"]
        draft.on_function(function, made[0]["v"], made[1]["v"], raises=False)
        self.query = InlineQuery(
            draft.logical_plan(), str(directory), strategy=TimeSliced(4), clock=self.clock, slots=4
        )

    def step(self) -> dict[str, Any]:
        number = self.query.last_batch + 1
        self.clock.advance(1000)
        chance = np.random.default_rng(number)
        tables = {}
        for name in "ab":
            times = np.sort(chance.integers(number * 1_000_000, (number + 1) * 1_000_000, 60))
            tables[name] = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": chance.integers(0, 9, 60)})
        return self.query.run(number, tables) or {}

    @property
    def rings(self) -> tuple[int, ...]:
        return ring_lengths(self.query.steps.manifest.layout)


def test_rings_follow_a_change_once_and_do_not_flap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit more costs much, and later little again; in between that varies by a fifth from step to step."""
    monkeypatch.setattr(ring_estimates, "MIN_ROWS", 100.0)
    feed = Steady(tmp_path)
    seconds = [1e-6]
    monkeypatch.setattr(
        ring_estimates, "_hop_seconds", lambda _, manifest: seconds[0] * (1.2 if manifest.step % 2 else 0.8)
    )
    progress = [feed.step() for _ in range(16)]
    assert (changes(progress), feed.rings) == (0, (4, 4))
    seconds[0] = 1.0
    progress = [feed.step() for _ in range(lengths.PATIENCE)]
    assert changes(progress) == 0, "so many steps have to find so"
    text = "other rings: a at 1 instead of 4 units, b at 1 instead of 4 units; expected to be "
    (found,) = feed.step()["adaptations"]
    assert found.startswith(text)
    progress = [feed.step() for _ in range(24)]
    assert (changes(progress), feed.rings) == (0, (1, 1))
    assert len(feed.query.steps.manifest.layouts) == 1, "the rows of the rings before have expired"
    seconds[0] = 1e-9
    progress = [feed.step() for _ in range(24)]
    assert changes(progress) == 1
    assert max(feed.rings) == 4


def test_tasks_measure_what_lookups_take_besides_comparing(tmp_path: Path) -> None:
    """Four slots have a lookup of each of two streams, in the first step of one; the time of comparing is left out."""
    feed, lookups = Steady(tmp_path, function=slowly), 0.0
    for new in (4, 8, 8):
        feed.step()
        state = feed.query.steps.manifest.slice_state
        assert isinstance(state, SliceState)
        lookups = 0.9 * lookups + new
        assert state.hops.lookups == pytest.approx(lookups, rel=1e-3)
        assert 0 < state.hops.seconds / state.hops.lookups < 0.04, "a lookup calls the function at least once"


def slowly(left: pa.Array, right: pa.Array) -> np.ndarray:
    time.sleep(0.05)
    return np.zeros(len(left), bool)
