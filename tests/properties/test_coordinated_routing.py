"""Coordinated routing: the oracle's rows, each once; every pair is compared once, whatever copies there are."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from braid.engine import delta
from braid.optimizer.strategies import CoordinatedRouting, Strategy
from tests.budget import seeds
from tests.properties.cases import coordinated, make_case, strategies
from tests.properties.chains import Chain
from tests.properties.running import explain, run, run_restarted


class Coordinated:
    """A chain by coordinated routing."""

    def __init__(self, seed: int) -> None:
        self.chain = Chain(seed)
        chance = self.chain.chance
        self.copies = chance.choice((2, 3, 4))
        self.units = 2 * self.copies + chance.randint(0, 3)

    def steps(self, directory: Path) -> list[dict[str, Any]]:
        return self.chain.run(CoordinatedRouting(self.copies, self.units), directory)


@pytest.mark.parametrize("seed", seeds(46_000, 22))
def test_every_pair_is_compared_at_one_of_its_copies(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Coordinated(seed)
    monkeypatch.setattr(delta, "best_orders", lambda *_: run.chain.orders)
    for step, progress in enumerate(run.steps(tmp_path)):
        probing, compared, results = run.chain.count(step)
        assert sum(unit["pairsCompared"] for unit in progress["units"]) == compared
        assert progress["numOutputRows"] == results
        assert all(unit["visits"] <= probing for unit in progress["units"])


@pytest.mark.parametrize("seed", seeds(47_000, 15))
def test_every_row_is_stored_at_the_given_number_of_units(seed: int, tmp_path: Path) -> None:
    run = Coordinated(seed)
    for step, progress in enumerate(run.steps(tmp_path)):
        came = sum(row[1] <= step for row in run.chain.rows)
        assert progress["stateRows"] == run.copies * came == sum(unit["rowsStored"] for unit in progress["units"])
        assert progress["copies"] == (run.copies - 1) * came == sum(unit["copies"] for unit in progress["units"])


@pytest.mark.parametrize("seed", seeds(48_000, 15))
def test_random_queries_give_the_oracles_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed, shares=(30, 50, 20)), random.Random(seed)
    strategy = coordinated(case.logical_plan, chance)
    got = run(case, tmp_path, strategy, slots=chance.randint(1, 4), ingest_tasks=chance.randint(1, 3))
    assert got == case.expected, explain(case, got, strategy)


@pytest.mark.parametrize("seed", seeds(49_000, 18))
def test_restarts_from_and_to_coordinated_routing_give_the_same_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed, shares=(20, 50, 30)).restarted(), random.Random(seed)
    others = strategies(case.logical_plan, chance)

    def choose() -> Strategy:
        return coordinated(case.logical_plan, chance) if chance.random() < 0.6 else chance.choice(others)

    got = run_restarted(case, tmp_path, chance, choose)
    assert got == case.expected, explain(case, got, others)
