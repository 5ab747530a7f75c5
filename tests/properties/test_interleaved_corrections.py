"""A corrected query with rounds of earlier steps left: those steps have emitted nothing, and begin again with it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from braid.control.idleness import SourceCheck
from braid.optimizer.strategies import Strategy, TimeSliced
from braid.state.files import LocalFiles
from braid.testing import FailingFiles, InlineQuery, OracleStream
from tests.budget import seeds
from tests.properties.corrections import Corrected, correct, read, some_batches, some_predicates, tables
from tests.properties.test_corrections import BATCHES, Life, continued

SEEDS = seeds(35_000, 18)


class InterleavedLife(Life):
    """Runs of which some interleave the rounds of their steps."""

    def start(self, query: Corrected, crash_at: int | None = None) -> InlineQuery:
        chance = self._chance
        return InlineQuery(
            query.logical_plan(),
            self._directory,
            strategy=self._strategy(query),
            slots=chance.randint(2, 3),
            files=FailingFiles(LocalFiles(), crash_at, chance.choice(("before", "after"))),
        )

    def _strategy(self, query: Corrected) -> Strategy:
        if self._chance.random() < 0.8:
            return TimeSliced(3, 4, interleave=3)
        return super()._strategy(query)


def three_streams(chance: random.Random) -> Corrected:
    window = chance.choice((None, 15, 30))
    streams = tuple(OracleStream(name, window, chance.choice((0, 8))) for name in "rsu")
    return Corrected(streams, some_predicates(chance, "rsu", 2))


def unfinished(life: InterleavedLife, query: Corrected) -> set[int]:
    """The steps with rounds left; every step of these tests is a batch."""
    manifest = life.start(query).checkpoint.last_manifest()
    return set() if manifest is None else {term.step for term in manifest.terms}


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_with_rounds_left_are_answered_by_the_corrected_query(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    query = three_streams(chance)
    batches = some_batches(chance, "rsu", BATCHES, nulls=chance.choice((0.0, 0.2)))
    life = InterleavedLife(tmp_path, batches, chance)
    wanted: Counter[tuple[Any, ...]] = Counter()
    open_steps = set(range(BATCHES))
    for failing in sorted(chance.sample(range(1, BATCHES - 1), 2)):
        if life.step > failing:
            break
        life.run(query, failing)
        life.fail(query, monkeypatch)
        over = {step for step in open_steps if step < life.step} - unfinished(life, query)
        wanted += query.expected(batches, over)
        open_steps -= over
        query = continued(life, query, correct(chance, query))
    running = life.run(query, BATCHES)
    running.steps.tick(SourceCheck(0, (True,) * 3))
    assert running.steps.manifest.terms == ()
    assert read(running.published()) == wanted + query.expected(batches, open_steps)


def test_unfinished_steps_are_answered_by_the_corrected_query_alone(tmp_path: Path) -> None:
    """So the answer to a query that fails in its second step is that of the corrected one."""
    chance = random.Random(1)
    query = replace(three_streams(chance), predicates=())
    batches = some_batches(chance, "rsu", 2, nulls=0.0)
    strategy = TimeSliced(3, 4, interleave=3)
    first = InlineQuery(query.logical_plan(), str(tmp_path), strategy=strategy)
    first.run(0, tables(batches[0]))
    assert [term.next_round for term in first.steps.manifest.terms] == [1]
    first.checkpoint.write_failure(1, "a predicate failed")
    corrected = replace(query, predicates=some_predicates(random.Random(2), "rsu", 2))
    second = InlineQuery(corrected.logical_plan(), str(tmp_path), strategy=strategy)
    second.run(1, tables(batches[1]))
    assert second.steps.manifest.terms == ()
    assert read(second.published()) == corrected.expected(batches, range(2))
