"""Corrected queries take over the steps that failed: with other keys, rows stored before, restarts and crashes.

Results found before the correction are those of the failed query, later ones those of the corrected query; a correction
that stored rows cannot serve is refused with the rows that are missing.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from braid.control.ordering import Ordering
from braid.engine.restart.correction import take_over
from braid.engine.restart.fingerprint import fingerprint
from braid.errors import PredicateError, RestartError
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import AlignedRouting, Auto, Biclique, CoordinatedRouting, Matrix, Strategy
from braid.state.files import LocalFiles
from braid.testing import FailingFiles, InjectedCrash, InlineQuery
from tests.budget import seeds
from tests.properties.corrections import (
    FAILING,
    SAME,
    Batches,
    Corrected,
    Predicate,
    correct,
    read,
    rewrite,
    some_batches,
    some_query,
    tables,
)

SEEDS = seeds(0, 30)
BATCHES = 7
REASONS = ("were left out unless", "were left out where", "were stored without", "were kept for")


class Life:
    """The life of a checkpoint: it runs steps under a query until one fails, and may crash in between."""

    def __init__(self, directory: Path, batches: Batches, chance: random.Random) -> None:
        self._directory, self._batches, self._chance = str(directory), batches, chance
        self.step = 0

    def start(self, query: Corrected, crash_at: int | None = None) -> InlineQuery:
        return InlineQuery(
            query.logical_plan(),
            self._directory,
            strategy=self._strategy(query),
            slots=self._chance.randint(1, 3),
            ordering=Ordering(self._chance.choice(("sync-filter", "filter-order")), 0.3) if query.ordered else None,
            files=FailingFiles(LocalFiles(), crash_at, self._chance.choice(("before", "after"))),
        )

    def run(self, query: Corrected, until: int) -> InlineQuery:
        """Commit the steps before `until`; the first of them is interrupted up to two times."""
        for _ in range(self._chance.choice((0, 1, 2))):
            try:
                self._advance(self.start(query, self._chance.randint(1, 40)), until)
            except InjectedCrash:
                continue
        running = self.start(query)
        self._advance(running, until)
        return running

    def fail(self, query: Corrected, monkeypatch: pytest.MonkeyPatch) -> None:
        """Fail in the next step: in its lookups, or before it has stored anything."""
        running = self.start(query)
        if self._chance.random() < 0.7:
            monkeypatch.setenv(FAILING, "yes")
            try:
                while self.step < BATCHES - 1:
                    self._advance(running, self.step + 1)
            except PredicateError:
                pass
            finally:
                monkeypatch.delenv(FAILING)
        running.checkpoint.write_failure(self.step, "a predicate failed")

    def _advance(self, running: InlineQuery, until: int) -> None:
        self.step = running.last_batch + 1
        while self.step < until:
            running.run(self.step, tables(self._batches[self.step]))
            self.step += 1

    def _strategy(self, query: Corrected) -> Strategy:
        choices: list[Strategy] = [Auto(), Biclique(3), Biclique(2, 2) if _keyed(query) else Biclique(2)]
        choices += [AlignedRouting("20 us", 3), CoordinatedRouting(2)]
        if len(query.streams) == 2:
            choices.append(Matrix(2, 2))
        elif all(stream.window_rows is None for stream in query.streams):
            choices.append(Biclique(2, shape="tree"))
        return self._chance.choice(choices)


def _keyed(query: Corrected) -> bool:
    return query.predicates == (Predicate("an exact key", ("r", "s")),) and len(query.streams) == 2


def continued(life: Life, query: Corrected, corrected: Corrected) -> Corrected:
    """The query that continues: the corrected one, or the failed one where that is refused for what is missing."""
    try:
        life.start(corrected)
    except RestartError as error:
        if not any(reason in error.detail for reason in REASONS):
            raise
        return query
    return corrected


def lived(seed: int, directory: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """What the output holds, and what it must hold, after up to two corrections."""
    chance = random.Random(seed)
    query = some_query(chance)
    names = "".join(stream.name for stream in query.streams)
    batches = some_batches(chance, names, BATCHES, nulls=chance.choice((0.0, 0.2)))
    life = Life(directory, batches, chance)
    wanted: Counter[tuple[Any, ...]] = Counter()
    began = 0
    for failing in sorted(chance.sample(range(1, BATCHES - 1), 2)):
        if life.step > failing:
            break
        life.run(query, failing)
        life.fail(query, monkeypatch)
        wanted += query.expected(batches, range(began, life.step))
        began = life.step
        query = continued(life, query, correct(chance, query))
    running = life.run(query, BATCHES)
    return read(running.published()), wanted + query.expected(batches, range(began, BATCHES))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_corrected_query_is_right_from_the_step_it_takes_over(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, wanted = lived(seed, tmp_path, monkeypatch)
    assert found == wanted


def test_most_corrections_are_accepted() -> None:
    """Those refused need columns or rows that were not stored."""
    accepted = 0
    for seed in range(100):
        chance = random.Random(seed)
        failed, corrected = (query.logical_plan() for query in _drawn(chance))
        saved = fingerprint(failed, build_plan(failed), pushdown=True)
        accepted += isinstance(take_over(saved, corrected), tuple)
    assert accepted > 35


def _drawn(chance: random.Random) -> tuple[Corrected, Corrected]:
    query = some_query(chance)
    return query, correct(chance, query)


@pytest.mark.parametrize("seed", SEEDS[:20])
def test_a_query_written_with_other_keys_gives_the_same_answer_in_order(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and results that wait for their order were stored under the keys of the failed query."""
    chance = random.Random(seed)
    keys = tuple(Predicate(kind, ("r", "s")) for kind in chance.sample(list(SAME), chance.randint(1, 2)))
    query = replace(some_query(chance), predicates=keys, selected=None, ordered=True)
    names = "".join(stream.name for stream in query.streams)
    if chance.random() < 0.4:
        first, *rest = query.streams
        query = replace(query, streams=(replace(first, window_us=None, window_rows=4), *rest))
    batches = some_batches(chance, names, BATCHES, nulls=0.0)
    life = Life(tmp_path, batches, chance)
    life.run(query, 3)
    life.fail(query, monkeypatch)
    corrected = rewrite(chance, query)
    running = life.run(corrected, BATCHES)
    running.steps.flush()
    published = read(running.published())
    assert published == query.expected(batches, range(BATCHES))
