"""Aligned routing: the oracle's rows, each once; the copies and the pairs are those that brute force counts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from braid.engine import delta
from braid.optimizer.strategies import AlignedRouting, Strategy
from tests.budget import seeds
from tests.properties.cases import aligned, make_case, strategies
from tests.properties.chains import STEPS, Chain, Row
from tests.properties.running import explain, run, run_restarted


class Aligned:
    """A chain by aligned routing, and by brute force the units that store a row."""

    def __init__(self, seed: int) -> None:
        self.chain = Chain(seed)
        chance = self.chain.chance
        self.width, self.units = chance.choice((2, 7, 20, 100)), chance.randint(1, 5)
        self.master = chance.randrange(self.chain.streams)

    def steps(self, directory: Path) -> list[dict[str, Any]]:
        strategy = AlignedRouting(timedelta(microseconds=self.width), self.units, f"s{self.master}")
        return self.chain.run(strategy, directory)

    def stored_at(self, row: Row) -> set[int]:
        """Every unit with a segment in which a row of the master stream could be within the windows of both."""
        stream, _, time = row
        if stream == self.master:
            return {time // self.width % self.units}
        meeting = range(time - self.chain.windows[self.master], time + self.chain.windows[stream] + 1)
        return {other // self.width % self.units for other in meeting}

    def at(self, unit: int) -> Callable[[Row], bool]:
        return lambda row: unit in self.stored_at(row)


@pytest.mark.parametrize("seed", seeds(42_000, 22))
def test_every_unit_compares_the_pairs_of_its_own_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Aligned(seed)
    monkeypatch.setattr(delta, "best_orders", lambda *_: run.chain.orders)
    for step, progress in enumerate(run.steps(tmp_path)):
        expected = {unit: run.chain.count(step, run.at(unit))[1] for unit in range(run.units)}
        found = {unit["unit"]: unit["pairsCompared"] for unit in progress["units"]}
        assert {unit: n for unit, n in found.items() if n} == {unit: n for unit, n in expected.items() if n}
        assert progress["numOutputRows"] == run.chain.results(step)


@pytest.mark.parametrize("seed", seeds(43_000, 15))
def test_the_copies_are_those_of_brute_force(seed: int, tmp_path: Path) -> None:
    run = Aligned(seed)
    for step, progress in enumerate(run.steps(tmp_path)):
        came = [row for row in run.chain.rows if row[1] <= step]
        assert progress["stateRows"] == sum(len(run.stored_at(row)) for row in came)
        assert progress["copies"] == sum(len(run.stored_at(row)) - 1 for row in came)
        at = Counter(unit for row in came for unit in run.stored_at(row))
        assert {u["unit"]: u["rowsStored"] for u in progress["units"] if u["rowsStored"]} == at
        assert sum(unit["copies"] for unit in progress["units"]) == progress["copies"]


@pytest.mark.parametrize("seed", seeds(44_000, 15))
def test_random_queries_give_the_oracles_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed, shares=(30, 50, 20)), random.Random(seed)
    strategy = aligned(case.logical_plan, chance)
    got = run(case, tmp_path, strategy, slots=chance.randint(1, 4), ingest_tasks=chance.randint(1, 3))
    assert got == case.expected, explain(case, got, strategy)


@pytest.mark.parametrize("seed", seeds(45_000, 18))
def test_restarts_from_and_to_aligned_routing_give_the_same_rows(seed: int, tmp_path: Path) -> None:
    """Rows of several layouts are live together: an intermediate result of both has no unit of its own."""
    case, chance = make_case(seed, shares=(20, 50, 30)).restarted(), random.Random(seed)
    others = strategies(case.logical_plan, chance)

    def choose() -> Strategy:
        return aligned(case.logical_plan, chance) if chance.random() < 0.6 else chance.choice(others)

    got = run_restarted(case, tmp_path, chance, choose)
    assert got == case.expected, explain(case, got, others)


def test_longer_segments_have_fewer_copies(tmp_path: Path) -> None:
    """The same rows: segments as long as all of them have none but at their ends."""
    found = []
    for length in (5, 20, 80):
        chain = Chain(7)
        last = chain.run(AlignedRouting(timedelta(microseconds=length), 4), tmp_path / str(length))[STEPS - 1]
        assert last["stateRows"] - last["copies"] == len(chain.rows)
        found.append(last["copies"])
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]
