"""Restarts with random changes of the query: each one is refused by name, or right by the oracle."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.errors import RestartError
from braid.testing import InlineQuery, ManualClock
from tests.budget import seeds
from tests.properties.query_changes import CHANGES, Change
from tests.properties.restarts import Asked, expected, newest, random_query, some_batches

SEEDS = seeds(0, 300)
BATCHES = 4


def started(asked: Asked, directory: Path) -> InlineQuery:
    return InlineQuery(
        asked.logical_plan(),
        str(directory),
        strategy=asked.strategy,
        slots=asked.slots,
        clock=ManualClock(),
        ordering=asked.policy if asked.ordered else None,
    )


def files_of(directory: Path) -> list[pa.Table]:
    return [pq.read_table(path) for path in sorted((directory / "out").glob("part-*.parquet"))]


def drawn(seed: int) -> tuple[Asked, Change]:
    """A query, and one change of it that has a meaning there."""
    chance = random.Random(seed)
    asked = random_query(chance)
    changing = chance.sample(CHANGES, len(CHANGES))
    return asked, next(change for make in changing if (change := make(chance, asked)) is not None)


def test_every_kind_of_change_occurs() -> None:
    """Over the seeds each kind of change is drawn, and enough of them are safe."""
    changes = [drawn(seed)[1] for seed in range(300)]
    words = Counter(change.words[0].partition(":")[0] if change.words else "safe" for change in changes)
    assert len(words) > 14, words
    assert words["safe"] > 30, words


@pytest.mark.parametrize("seed", SEEDS)
def test_a_changed_query_is_refused_by_name_or_right(seed: int, tmp_path: Path) -> None:
    (asked, change), batches = drawn(seed), some_batches(random.Random(seed), BATCHES)
    query = started(asked, tmp_path)
    for number in range(BATCHES // 2):
        query.run(number, asked.tables(batches[number]))
    if change.words:
        with pytest.raises(RestartError) as caught:
            started(change.asked, tmp_path)
        assert all(word in caught.value.detail for word in change.words), (change.words, str(caught.value))
        change = Change(asked, ())
    query = started(change.asked, tmp_path)
    for number in range(BATCHES // 2, BATCHES):
        query.run(number, change.asked.tables(batches[number]))
    query.steps.flush()
    wanted = expected(change.asked, batches, [0] * BATCHES)
    assert newest(change.asked, files_of(tmp_path)) == wanted, asked
