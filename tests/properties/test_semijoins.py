"""Streams at distant sites: whatever is sent between them, the answer is the oracle's."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from braid.control import merging
from braid.engine.tasks.sites import tables
from braid.optimizer.strategies import Auto, Semijoin
from braid.plan.logical import LogicalPlan
from braid.state.files import LocalFiles
from braid.testing import InlineQuery, ManualClock
from tests.budget import seeds
from tests.properties.cases import Case, make_case, make_keyed_case, results_of, some_exchange
from tests.properties.sites import at_sites, some_semijoins

ANY, KEYED = seeds(91_000, 14), seeds(92_000, 10)
RESTARTED = seeds(93_000, 6)


@pytest.fixture(autouse=True)
def rewrite_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge blocks and write whole tables after a few steps."""
    monkeypatch.setattr(merging, "FAN_IN", 3)
    monkeypatch.setattr(merging, "BASE_ROWS", 4)
    monkeypatch.setattr(tables, "MIN_CHANGED_ROWS", 8)


def start(
    case: Case, path: Path, chance: random.Random, clock: ManualClock, logical_plan: LogicalPlan | None = None
) -> InlineQuery:
    """A run of a case, its streams at some sites, with sequences that may change between steps."""
    placed = at_sites(case.logical_plan, chance) if logical_plan is None else logical_plan
    return InlineQuery(
        placed,
        str(path),
        strategy=some_semijoins(chance),
        slots=chance.randint(1, 5),
        ingest_tasks=chance.randint(1, 2),
        clock=clock,
        exchange=some_exchange(placed, chance),
    )


def run(case: Case, query: InlineQuery, clock: ManualClock, first: int = 0, last: int | None = None) -> None:
    for batch, now in list(enumerate(case.clock_ms))[first:last]:
        clock.now_ms = now
        query.run(batch, case.tables(batch))


def found_in(case: Case, query: InlineQuery) -> Counter[tuple[Any, ...]]:
    return results_of(case, query.published())


@pytest.mark.parametrize("seed", ANY)
def test_any_join_is_the_oracles(seed: int, tmp_path: Path) -> None:
    case, clock = make_case(seed), ManualClock(0)
    query = start(case, tmp_path, random.Random(seed), clock)
    run(case, query, clock)
    assert found_in(case, query) == case.expected, case.describe()


@pytest.mark.parametrize("seed", KEYED)
def test_a_join_by_a_common_key_is_the_oracles(seed: int, tmp_path: Path) -> None:
    case, clock = make_keyed_case(seed), ManualClock(0)
    query = start(case, tmp_path, random.Random(seed), clock)
    run(case, query, clock)
    assert found_in(case, query) == case.expected, case.describe()


@pytest.mark.parametrize("seed", RESTARTED)
def test_restarts_with_other_sequences_and_slots_lose_nothing(seed: int, tmp_path: Path) -> None:
    """Another number of slots places rows at other units: they move, and all copies begin again."""
    chance = random.Random(seed)
    case, clock = make_keyed_case(seed, batches=8).restarted(), ManualClock(0)
    logical_plan = at_sites(case.logical_plan, chance)
    for batch in range(len(case.batches)):
        query = start(case, tmp_path, chance, clock, logical_plan)
        run(case, query, clock, batch, batch + 1)
    assert found_in(case, query) == case.expected, case.describe()


@pytest.mark.parametrize("seed", seeds(97_000, 4))
def test_chosen_sequences_give_what_given_ones_do(seed: int, tmp_path: Path) -> None:
    chance, clock = random.Random(seed), ManualClock(0)
    case = make_keyed_case(seed)
    strategy = Semijoin(optimizer=chance.choice(("greedy", "exhaustive")))
    logical_plan = at_sites(case.logical_plan, chance)
    query = InlineQuery(logical_plan, str(tmp_path), strategy=strategy, slots=chance.randint(1, 4), clock=clock)
    run(case, query, clock)
    assert found_in(case, query) == case.expected, case.describe()


def test_streams_without_a_site_are_together(tmp_path: Path) -> None:
    case, clock = make_keyed_case(92_000), ManualClock(0)
    query = InlineQuery(case.logical_plan, str(tmp_path), strategy=Semijoin(), clock=clock)
    run(case, query, clock)
    assert found_in(case, query) == case.expected
    other = InlineQuery(case.logical_plan, str(tmp_path), strategy=Auto(), clock=clock)
    assert other.steps.manifest.sites is not None


@pytest.mark.parametrize("seed", seeds(98_000, 6))
def test_sites_keep_their_rows_in_storage_of_their_own_and_remove_what_is_not_needed(seed: int, tmp_path: Path) -> None:
    chance, clock = random.Random(seed), ManualClock(0)
    case = make_keyed_case(seed, batches=10).restarted()
    placed = at_sites(case.logical_plan, chance, storage=tmp_path)
    for batch in range(len(case.batches)):
        if batch % 4 == 0:
            query = start(case, tmp_path, chance, clock, placed)
        run(case, query, clock, batch, batch + 1)
    assert found_in(case, query) == case.expected, case.describe()
    manifest = query.steps.manifest
    assert manifest.sites is not None
    needed = {block.file for block in manifest.blocks} | manifest.sites.files
    shared = set(LocalFiles().list(f"{query.checkpoint.path}/blocks"))
    assert needed.isdisjoint(shared), "rows are at their sites alone"
    stored = {name for site in "abcd" for name in LocalFiles().list(str(tmp_path / site))}
    left = stored - needed - set(manifest.dropped) - set(manifest.sites.unneeded)
    assert needed <= stored
    assert left == set(), "the next step removes what the last two dropped"
