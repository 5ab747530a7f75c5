"""Aggregations and distinct selections: what every step lets out, against results counted one by one.

The results themselves come from the same join without an aggregation, which has an oracle of its own.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.control import aggregate_state
from braid.engine.tasks.aggregate import partials
from braid.optimizer.strategies import AlignedRouting, Biclique, CoordinatedRouting, Matrix, Partitioned, Strategy
from braid.state.files import LocalFiles
from braid.testing import FailingFiles, InjectedCrash, InlineQuery
from tests.budget import seeds
from tests.properties.aggregates import Asked, Row, batches_of, draft, random_aggregation, rows_of, values_of

SEEDS = seeds(9000, 18)
CRASHED = seeds(9100, 14)


@pytest.fixture(autouse=True)
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are held, and few parts, so that small cases pass every way."""
    monkeypatch.setattr(partials, "MAX_BUFFERED_ROWS", 5)
    monkeypatch.setattr(aggregate_state, "MIN_PARTS", 3)


def steps_of(query: InlineQuery, batches: list[dict[str, pa.Table]]) -> Iterator[Counter[Row]]:
    """What each step lets out."""
    seen: Counter[Row] = Counter()
    for number, tables in enumerate(batches):
        query.run(number, tables)
        now = rows_of(query.published())
        yield now - seen
        seen = now


class Counting:
    """The aggregates of results counted one by one."""

    def __init__(self, asked: Asked, names: list[str]) -> None:
        self._asked = asked
        self._place = {name: number for number, name in enumerate(names)}
        self._results: list[Row] = []
        self._newest: Any = None
        self._known: set[Row] = set()
        self._silent = True

    def step(self, fresh: Counter[Row]) -> Counter[Row]:
        new = list(fresh.elements())
        if self._asked.calls is None:
            rows = {self._group(row) for row in new}
            out, self._known = rows - self._known, self._known | rows
            return Counter(out)
        before = self._live()
        self._results += new
        times = [row[-1] for row in new] + ([] if self._newest is None else [self._newest])
        self._newest = max(times, default=None)
        after = self._live()
        changed = {group for group in {**before, **after} if before.get(group, []) != after.get(group, [])}
        if self._silent and not self._asked.groups:
            changed.add(())
        self._silent = False
        return Counter((*group, *self._values(after.get(group, []))) for group in changed)

    def _live(self) -> dict[Row, list[Row]]:
        live: dict[Row, list[Row]] = defaultdict(list)
        for row in self._results:
            if self._asked.over_us is None or _us(row[-1]) >= _us(self._newest) - self._asked.over_us:
                live[self._group(row)].append(row)
        return dict(live)

    def _group(self, row: Row) -> Row:
        return tuple(row[self._place[name]] for name in self._asked.groups)

    def _values(self, rows: list[Row]) -> Row:
        return values_of(self._asked, self._place, rows)


def _us(time: Any) -> int:
    return round(time.timestamp() * 1_000_000)


def close(left: Counter[Row], right: Counter[Row]) -> bool:
    """Equal rows, averages up to rounding."""

    def rounded(rows: Counter[Row]) -> Counter[Row]:
        return Counter(
            tuple(round(value, 9) if isinstance(value, float) else value for value in row) for row in rows.elements()
        )

    return rounded(left) == rounded(right)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_step_emits_what_changed(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    asked, by_key, batches = random_aggregation(chance), chance.random() < 0.7, batches_of(chance)
    keyed, others = (
        (Partitioned(3), Biclique((2, 3), (2, 3))),
        (Matrix(2, 2), AlignedRouting("10 us", 3), CoordinatedRouting(2)),
    )
    strategy: Strategy = chance.choice(keyed if by_key else others)
    plain_query = InlineQuery(draft(None, by_key).logical_plan(), str(tmp_path / "plain"))
    summed = InlineQuery(
        draft(asked, by_key).logical_plan(),
        str(tmp_path / "summed"),
        strategy=strategy,
        slots=chance.randint(1, 3),
        exchange=chance.choice(("files", "shuffle")),
    )
    names = plain_query.published().schema.names
    counting = Counting(asked, names)
    results = steps_of(plain_query, batches)
    for number, (fresh, out) in enumerate(zip(results, steps_of(summed, batches), strict=True)):
        expected = counting.step(fresh)
        assert close(out, expected), f"step {number} of {asked}\nextra {out - expected}\nmissing {expected - out}"


@pytest.mark.parametrize("seed", CRASHED)
def test_a_crash_at_any_write_repeats_and_loses_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    asked, batches = random_aggregation(chance), batches_of(chance)
    logical_plan = draft(asked, by_key=True).logical_plan()
    whole = InlineQuery(logical_plan, str(tmp_path / "whole"))
    expected: Counter[Row] = sum(steps_of(whole, batches), Counter())
    directory, batch, crashes = str(tmp_path / "crashed"), 0, 0
    while batch < len(batches):
        at = chance.randint(1, 25) if crashes < 12 else None
        files = FailingFiles(LocalFiles(), at, chance.choice(("before", "after")))
        try:
            query = InlineQuery(logical_plan, directory, files=files, slots=chance.randint(1, 3))
            batch = max(batch, query.last_batch + 1)
            while batch < len(batches):
                query.run(batch, batches[batch])
                batch += 1
        except InjectedCrash:
            crashes += 1
    query = InlineQuery(logical_plan, directory)
    assert close(rows_of(query.published()), expected), asked
    view = query.steps.manifest.aggregate
    named = {block.file for block in query.steps.manifest.blocks} | set(query.steps.manifest.dropped)
    named |= {payload.file for payload in query.steps.manifest.payloads}
    named |= set() if view is None else {block.file for block in view.blocks}
    assert set(LocalFiles().list(f"{query.checkpoint.path}/blocks")) == named
