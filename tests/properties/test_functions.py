"""Python functions in joins: the answer never depends on what is promised, guessed or measured of them."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.optimizer import check_orders, join_orders
from braid.optimizer.strategies import Biclique, Strategy
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


@pytest.mark.parametrize("seed", seeds(30_000, 40))
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
