"""Aggregations and distinct selections: what every step lets out, against results counted one by one.

The results themselves come from the same join without a summary, which has an oracle of its own. `BRAID_SEED=n` runs
one case alone.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.control import views
from braid.optimizer.strategies import Biclique, Matrix, Partitioned, Strategy
from braid.plan.summary import Function, Updates
from braid.runtime.tasks import partials
from braid.state.files import LocalFiles
from braid.testing import Draft, FailingFiles, InjectedCrash, InlineQuery
from braid.testing.expressions import equal, less_or_equal

ONLY = os.environ.get("BRAID_SEED")
SEEDS = [int(ONLY)] if ONLY else list(range(9000, 9060))
CRASHED = [int(ONLY)] if ONLY else list(range(9100, 9125))

Row = tuple[Any, ...]
WINDOW_US = 40


@pytest.fixture(autouse=True)
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are held, and few parts, so that small cases pass every way."""
    monkeypatch.setattr(partials, "ROWS_HELD", 5)
    monkeypatch.setattr(views, "FEWEST_PARTS", 3)


@dataclass(frozen=True)
class Asked:
    """A summary in the test's own words: columns by name, calls by function and names; None: distinct rows."""

    groups: tuple[str, ...]
    calls: tuple[tuple[Function, tuple[str, ...]], ...] | None
    over_us: int | None
    updates: Updates


def draft(asked: Asked | None, by_key: bool) -> Draft:
    written = Draft()
    columns = {"k": "bigint", "f": "double", "t": "string"}
    r = written.stream("r", columns, window_us=WINDOW_US, lateness_us=15)
    s = written.stream("s", columns, window_us=WINDOW_US, lateness_us=15)
    written.on(equal(r["k"], s["k"]) if by_key else less_or_equal(r["k"], s["k"]))
    named = {f"{stream}_{name}": side[name] for stream, side in (("r", r), ("s", s)) for name in ("k", "f", "t", "ts")}
    if asked is not None and asked.calls is None:
        return written.distinct(*(named[name] for name in asked.groups))
    if asked is not None and asked.calls is not None:
        calls = [(function, tuple(named[name] for name in names)) for function, names in asked.calls]
        groups = [named[name] for name in asked.groups]
        return written.aggregate(groups, *calls, over_us=asked.over_us, updates=asked.updates)
    return written


def some_rows(chance: random.Random, count: int, oldest: int) -> pa.Table:
    floats = (0.0, -0.0, 1.5, -2.0, 8.0, math.nan, None)
    return pa.table(
        {
            "ts": pa.array([oldest + chance.randint(0, 20) for _ in range(count)], pa.timestamp("us", "UTC")),
            "k": pa.array([chance.choice((1, 2, 3, 4)) for _ in range(count)], pa.int64()),
            "f": pa.array([chance.choice(floats) for _ in range(count)], pa.float64()),
            "t": pa.array([chance.choice(("a", "b", "", "ä\0x", None)) for _ in range(count)], pa.string()),
        }
    )


def random_summary(chance: random.Random) -> Asked:
    names = ("r_k", "r_f", "r_t", "s_f", "s_t", "s_ts")
    groups = tuple(chance.sample(names, chance.randint(0, 2)))
    if chance.random() < 0.2:
        return Asked(tuple(chance.sample(names, chance.randint(1, 3))), None, None, "batched")
    possible: list[tuple[Function, tuple[str, ...]]] = [
        ("count", ()),
        ("count", ("s_f",)),
        ("count", ("s_t",)),
        ("sum", ("s_k",)),
        ("sum", ("r_f",)),
        ("avg", ("s_k",)),
        ("avg", ("s_f",)),
        ("min", ("s_f",)),
        ("max", ("s_f",)),
        ("min", ("s_t",)),
        ("max", ("r_ts",)),
        ("count_distinct", ("s_f",)),
        ("count_distinct", ("s_t", "r_k")),
        ("count_distinct", ("s_ts",)),
    ]
    calls = tuple(chance.sample(possible, chance.randint(1, 4)))
    over = chance.choice((None, None, 0, 10, 30, 1000))
    return Asked(groups, calls, over, chance.choice(("batched", "batched", "immediate")))


def batches_of(chance: random.Random) -> list[dict[str, pa.Table]]:
    batches, oldest = [], 0
    for _ in range(chance.randint(3, 8)):
        batches.append({name: some_rows(chance, chance.choice((0, 3, 8, 15)), oldest) for name in "rs"})
        oldest += chance.choice((0, 7, 25))
    return batches


def plain(value: Any) -> Any:
    """A value that equals itself: NaN is one value, and a zero has no sign."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def rows_of(table: pa.Table) -> Counter[Row]:
    return Counter(tuple(plain(value) for value in row.values()) for row in table.to_pylist())


def steps_of(query: InlineQuery, batches: list[dict[str, pa.Table]]) -> Iterator[Counter[Row]]:
    """What each step lets out."""
    seen: Counter[Row] = Counter()
    for number, tables in enumerate(batches):
        query.run(number, tables)
        now = rows_of(query.published())
        yield now - seen
        seen = now


class Counting:
    """The summary of results counted one by one."""

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
        return tuple(self._value(function, names, rows) for function, names in self._asked.calls or ())

    def _value(self, function: Function, names: tuple[str, ...], rows: list[Row]) -> Any:
        taken = [tuple(row[self._place[name]] for name in names) for row in rows]
        valid = [values for values in taken if None not in values]
        if function == "count":
            return len(valid)
        if function == "count_distinct":
            return len(set(valid))
        numbers = [values[0] for values in valid]
        if not numbers:
            return None
        if function in ("min", "max"):
            ordered = sorted(numbers, key=lambda value: (value == "NaN", 0 if value == "NaN" else value))
            return ordered[0] if function == "min" else ordered[-1]
        total = "NaN" if "NaN" in numbers else sum(numbers)
        return total if function == "sum" or total == "NaN" else total / len(numbers)


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
def test_every_step_lets_out_what_changed(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    asked, by_key, batches = random_summary(chance), chance.random() < 0.7, batches_of(chance)
    strategy: Strategy = chance.choice((Partitioned(3), Biclique((2, 3), (2, 3)))) if by_key else Matrix(2, 2)
    plain_query = InlineQuery(draft(None, by_key).question(), str(tmp_path / "plain"))
    summed = InlineQuery(
        draft(asked, by_key).question(), str(tmp_path / "summed"), strategy=strategy, slots=chance.randint(1, 3)
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
    asked, batches = random_summary(chance), batches_of(chance)
    question = draft(asked, by_key=True).question()
    whole = InlineQuery(question, str(tmp_path / "whole"))
    expected: Counter[Row] = sum(steps_of(whole, batches), Counter())
    directory, batch, crashes = str(tmp_path / "crashed"), 0, 0
    while batch < len(batches):
        at = chance.randint(1, 25) if crashes < 12 else None
        files = FailingFiles(LocalFiles(), at, chance.choice(("before", "after")))
        try:
            query = InlineQuery(question, directory, files=files, slots=chance.randint(1, 3))
            batch = max(batch, query.last_batch + 1)
            while batch < len(batches):
                query.run(batch, batches[batch])
                batch += 1
        except InjectedCrash:
            crashes += 1
    query = InlineQuery(question, directory)
    assert close(rows_of(query.published()), expected), asked
    view = query.steps.manifest.view
    named = {block.file for block in query.steps.manifest.blocks}
    named |= set() if view is None else {block.file for block in view.blocks}
    assert set(LocalFiles().list(f"{query.checkpoint.path}/blocks")) == named
