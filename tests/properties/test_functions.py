"""Python functions in joins: the answer never depends on what is promised, guessed or measured of them.

What is measured decides in which order they are called.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.optimizer import check_orders, join_orders
from braid.optimizer.strategies import Biclique, Strategy, TimeSliced
from braid.testing import Draft, InlineQuery, ManualClock
from tests.budget import seeds

WINDOW_US = 40
NAMES = ("a", "b", "c", "d")


def modulo(divisor: int, rest: int) -> Any:
    def passes(left: pa.Array, right: pa.Array) -> np.ndarray:
        return (left.to_numpy() + 3 * right.to_numpy()) % divisor == rest

    return passes


class Case:
    """A join of two to four streams by functions of neighbouring and other streams, with random promises."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.streams = NAMES[: chance.choice((2, 3, 3, 4))]
        pairs = list(itertools.combinations(range(len(self.streams)), 2))
        chosen = [(n, n + 1) for n in range(len(self.streams) - 1)] + chance.sample(
            pairs, chance.randint(0, len(pairs))
        )
        self.functions = [(one, other, chance.choice((2, 3, 5)), chance.randint(0, 1)) for one, other in chosen]
        self.promises = [
            (chance.random() < 0.6, chance.choice((None, 0.0, 0.01, 1.0)), chance.choice((None, 0.0, 1e-6, 1.0)))
            for _ in self.functions
        ]
        self.steps = [
            {
                name: [(step * 10 + chance.randint(0, 12), chance.randint(0, 9)) for _ in range(chance.randint(0, 4))]
                for name in self.streams
            }
            for step in range(5)
        ]
        self.strategy: Strategy = chance.choice((Biclique(), Biclique(3), Biclique(2, shape="tree")))
        self.slots = chance.choice((1, 2, 3))

    def query(self, directory: Path) -> InlineQuery:
        draft = Draft()
        streams = [draft.stream(n, {"v": "bigint"}, window_us=WINDOW_US, lateness_us=100) for n in self.streams]
        for (one, other, divisor, rest), (raises, selectivity, cost) in zip(self.functions, self.promises, strict=True):
            draft.on_function(
                modulo(divisor, rest),
                streams[one]["v"],
                streams[other]["v"],
                raises=raises,
                selectivity=selectivity,
                cost=cost,
            )
        draft.select(
            **{name: stream["v"] for name, stream in zip(self.streams, streams, strict=True)},
            **{f"{name}_ts": stream["ts"] for name, stream in zip(self.streams, streams, strict=True)},
        )
        return InlineQuery(
            draft.logical_plan(), directory, strategy=self.strategy, slots=self.slots, clock=ManualClock(0)
        )

    def expected(self) -> Counter[tuple[tuple[int, int], ...]]:
        rows = [[row for step in self.steps for row in step[name]] for name in self.streams]
        found: Counter[tuple[tuple[int, int], ...]] = Counter()
        for joined in itertools.product(*rows):
            newest = max(time for time, _ in joined)
            if all(newest - time <= WINDOW_US for time, _ in joined) and all(
                (joined[one][1] + 3 * joined[other][1]) % divisor == rest
                for one, other, divisor, rest in self.functions
            ):
                found[joined] += 1
        return found


def table(rows: list[tuple[int, int]]) -> pa.Table:
    times, values = ([row[place] for row in rows] for place in range(2))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": pa.array(values, pa.int64())})


@pytest.mark.parametrize("seed", seeds(30_000, 30))
def test_promises_and_measured_costs_change_no_rows(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_orders, "MIN_PAIRS", 3.0)
    monkeypatch.setattr(check_orders, "MIN_SAMPLED", 3.0)
    monkeypatch.setattr(join_orders, "MIN_PROBES", 3.0)
    case = Case(seed)
    query = case.query(tmp_path)
    for number, step in enumerate(case.steps):
        query.run(number, {name: table(rows) for name, rows in step.items()})
    published = query.published()
    columns = [
        zip(published[f"{name}_ts"].cast(pa.int64()).to_pylist(), published[name].to_pylist(), strict=True)
        for name in case.streams
    ]
    assert Counter(zip(*columns, strict=True)) == case.expected()


SLOW_SECONDS = 5e-5
slow_pairs: list[int] = []


def slow(left: pa.Array, right: pa.Array) -> np.ndarray:
    """Half of the pairs, after 50 µs of work for each."""
    slow_pairs.append(len(left))
    until = time.perf_counter() + SLOW_SECONDS * len(left)
    while time.perf_counter() < until:
        pass
    return np.asarray((left.to_numpy() + right.to_numpy()) % 2 == 0)


def selective(left: pa.Array, right: pa.Array) -> np.ndarray:
    """One pair in a hundred."""
    return np.asarray((7 * left.to_numpy() + right.to_numpy()) % 100 == 0)


def test_functions_that_are_described_wrongly_are_ordered_by_what_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The expensive one, given as cheap and selective, is called for a tenth of its pairs at most."""
    draft = Draft()
    streams = [draft.stream(name, {"v": "bigint"}, window_us=WINDOW_US, lateness_us=0) for name in "ab"]
    values = [stream["v"] for stream in streams]
    draft.on_function(slow, *values, raises=False, cost=1e-9, selectivity=0.01)
    draft.on_function(selective, *values, raises=False, cost=1.0, selectivity=0.99)
    called, answers = [], []
    for name in ("measured", "given"):
        if name == "given":
            monkeypatch.setattr(check_orders, "MIN_PAIRS", math.inf)
            monkeypatch.setattr(check_orders, "MIN_SAMPLED", math.inf)
        chance, clock = random.Random(1), ManualClock(0)
        query = InlineQuery(draft.logical_plan(), tmp_path / name, strategy=TimeSliced(2), clock=clock)
        for step in range(5):
            slow_pairs.clear()
            rows = {n: [(10 * step + chance.randint(0, 9), chance.randint(0, 9999)) for _ in range(20)] for n in "ab"}
            query.run(step, {n: table(sorted(rows[n])) for n in "ab"})
        called.append(sum(slow_pairs))
        answers.append(Counter(tuple(row.values()) for row in query.published().to_pylist()))
    assert answers[0] == answers[1]
    assert 0 < 10 * called[0] <= called[1]
