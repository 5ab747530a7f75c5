"""Partition groups give the answer of the oracle: with any groups and assignment, and while they change their units."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from braid.control import compaction, merging
from braid.control.ordering import Ordering
from braid.engine.tasks.merging import slices
from braid.errors import RestartError
from braid.optimizer.strategies import Biclique, Partitioned
from braid.state.blocks import BlockReader
from braid.testing import InlineQuery, ManualClock
from tests.budget import seeds
from tests.properties.cases import Case, make_keyed_case, results_of
from tests.properties.grouped import any_grouped_case, moving, some_groups, start

PLAIN = seeds(61_000, 8)
MOVING = seeds(62_000, 12)
RESTARTED = seeds(63_000, 8)
ORDERED = seeds(64_000, 6)


@pytest.fixture(autouse=True)
def merge_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FAN_IN", 3)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    monkeypatch.setattr(merging, "MAX_LIVE_ASSIGNMENTS", 2)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 2)


def run(case: Case, query: InlineQuery, clock: ManualClock) -> Counter[tuple[Any, ...]]:
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
    return results_of(case, query.published())


def check_footers(query: InlineQuery) -> None:
    """The manifest has the bytes and results of every group: those of all together, and as many groups as given."""
    manifest = query.steps.manifest
    state, files = manifest.groups, query.checkpoint.files
    assert state is not None
    assert len(state.loads) == len(manifest.layout.group_units)
    paths = [f"{query.checkpoint.path}/blocks/{block.file}" for block in manifest.blocks if block.is_sorted]
    segments = [segment for path in paths for segment in BlockReader(files.map(path), path).segments]
    # The last step merges after it has counted.
    assert sum(load.size for load in state.loads) == pytest.approx(sum(s.length for s in segments), rel=0.5)
    assert sum(load.results for load in state.loads) == query.published().num_rows


@pytest.mark.parametrize("seed", PLAIN)
def test_any_groups_and_assignment_give_the_oracles_rows(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), any_grouped_case(seed)
    clock, strategy = ManualClock(case.clock_ms[0]), some_groups(chance)
    query = start(case, tmp_path, chance, clock, strategy=strategy)
    got = run(case, query, clock)
    assert got == case.expected, (case.describe(), strategy, case.expected - got, got - case.expected)
    check_footers(query)


@pytest.mark.parametrize("seed", MOVING)
def test_groups_that_move_between_units_give_the_oracles_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:
        # Merges are cut into slices, which several steps write.
        monkeypatch.setattr(compaction, "LEAST_ROWS", 5)
        monkeypatch.setattr(compaction, "SHARE", 0)
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock, strategy = ManualClock(case.clock_ms[0]), some_groups(chance, units=chance.randint(2, 4))
    query = start(case, tmp_path, chance, clock, strategy=strategy, memory=moving(seed))
    got = run(case, query, clock)
    assert got == case.expected, (case.describe(), strategy, case.expected - got, got - case.expected)
    manifest = query.steps.manifest
    assert manifest.layout.epoch > 0
    # Blocks of old assignments are rewritten, so few of them are live.
    assert len(manifest.layouts) <= 2 * merging.MAX_LIVE_ASSIGNMENTS


@pytest.mark.parametrize("seed", RESTARTED)
def test_groups_survive_restarts_with_other_units_and_strategies(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock, groups = ManualClock(case.clock_ms[0]), chance.choice((5, 30))
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        others = (Partitioned(3), Biclique(2), Partitioned(2, groups=groups), Partitioned(4, groups=groups))
        query = start(case, tmp_path, chance, clock, strategy=chance.choice(others), memory=moving(seed))
        query.run(batch, case.tables(batch))
    got = results_of(case, query.published())
    assert got == case.expected, (case.describe(), case.expected - got, got - case.expected)


@pytest.mark.parametrize("seed", ORDERED)
def test_buffered_rows_follow_their_groups(seed: int, tmp_path: Path) -> None:
    """Rows that wait for their order start at the unit that owns their group when they are admitted."""
    chance, case = random.Random(seed), make_keyed_case(seed)
    plan, clock = replace(case, ordered=True), ManualClock(case.clock_ms[0])
    given = {"strategy": some_groups(chance, units=3), "memory": moving(seed)}
    query = start(plan, tmp_path, chance, clock, ordering=Ordering("sync-filter", 0.3), **given)
    run(plan, query, clock)
    query.steps.flush()
    got = results_of(plan, query.published())
    assert got == case.expected, (case.describe(), case.expected - got, got - case.expected)


def test_other_groups_are_refused(tmp_path: Path) -> None:
    case, clock = make_keyed_case(0), ManualClock(0)
    query = start(case, tmp_path, random.Random(0), clock, strategy=Partitioned(2, groups=8))
    query.run(0, case.tables(0))
    with pytest.raises(RestartError, match=r"8 partition groups.*groups=9"):
        start(case, tmp_path, random.Random(0), clock, strategy=Partitioned(2, groups=9))
    assert start(case, tmp_path, random.Random(0), clock, strategy=Partitioned(3, groups=8)).last_batch == 0
