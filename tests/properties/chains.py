"""Chains of streams joined by functions, in fixed sequences, with what brute force says of their lookups."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from braid.optimizer.strategies import Strategy
from braid.testing import Draft, InlineQuery, ManualClock
from tests.properties.cases import some_exchange

Row = tuple[int, int, int]
"""Stream, step, event time."""
STEPS = 4
# The watermark stays behind all rows, so nothing expires.
LATENESS_US = 10_000


def everything(left: pa.Array, right: pa.Array) -> np.ndarray:
    return np.ones(len(left), bool)


def third(left: pa.Array, right: pa.Array) -> np.ndarray:
    return np.asarray((left.to_numpy() + right.to_numpy()) % 3 == 0)


class Chain:
    """A random chain of two to four streams and its rows; `orders` are its sequences of lookups."""

    def __init__(self, seed: int, steps: int = STEPS) -> None:
        self.chance = chance = random.Random(seed)
        self.streams, self.steps = chance.choice((2, 3, 3, 4)), steps
        self.windows = [chance.choice((3, 10, 25)) for _ in range(self.streams)]
        self.orders = tuple(_outwards(head, self.streams) for head in range(self.streams))
        self.passes = [chance.choice((everything, third)) for _ in range(self.streams - 1)]
        self.rows: list[Row] = [
            (stream, step, 8 * step + chance.randint(0, 10))
            for step in range(steps)
            for stream in range(self.streams)
            for _ in range(chance.randint(0, 5))
        ]

    def start(self, strategy: Strategy, directory: Path) -> InlineQuery:
        logical_plan = self._draft().logical_plan()
        return InlineQuery(
            logical_plan,
            directory,
            strategy=strategy,
            slots=self.chance.choice((1, 2, 3)),
            ingest_tasks=self.chance.choice((1, 2)),
            clock=ManualClock(0),
            exchange=some_exchange(logical_plan, self.chance),
        )

    def feed(self, query: InlineQuery) -> Iterator[dict[str, Any]]:
        """The progress of each step, as it ends."""
        for step in range(self.steps):
            yield query.run(step, {f"s{stream}": self._table(stream, step) for stream in range(self.streams)}) or {}

    def run(self, strategy: Strategy, directory: Path) -> list[dict[str, Any]]:
        """The progress of each step."""
        return list(self.feed(self.start(strategy, directory)))

    def results(self, step: int) -> int:
        return self.count(step)[2]

    def count(self, step: int, is_here: Callable[[Row], bool] = lambda _: True) -> tuple[int, int, int]:
        """The rows that the lookups of a step begin with, the pairs that they compare, and the results.

        A pair is compared if it is within the windows of what is joined so far. Only rows that are `here` take part.
        """
        probing = compared = results = 0
        for head, order in enumerate(self.orders):
            joined: list[tuple[Row, ...]] = [(row,) for row in self.rows if row[:2] == (head, step) and is_here(row)]
            for stream in order:
                probing += len(joined)
                stored = [row for row in self.rows if row[0] == stream and self._sees(head, step, row) and is_here(row)]
                pairs = [(*rows, row) for rows in joined for row in stored if self._in_window((*rows, row), row)]
                compared += len(pairs)
                joined = [rows for rows in pairs if self._passes(rows)]
            results += len(joined)
        return probing, compared, results

    def _draft(self) -> Draft:
        draft = Draft()
        made = [
            draft.stream(f"s{n}", {"v": "bigint"}, window_us=window, lateness_us=LATENESS_US)
            for n, window in enumerate(self.windows)
        ]
        for (one, other), function in zip(itertools.pairwise(made), self.passes, strict=True):
            draft.on_function(function, one["v"], other["v"], raises=False)
        return draft

    def _table(self, stream: int, step: int) -> pa.Table:
        times = [time for own, when, time in self.rows if (own, when) == (stream, step)]
        return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": pa.array(times, pa.int64())})

    def _sees(self, head: int, step: int, row: Row) -> bool:
        return row[1] <= step if row[0] < head else row[1] < step

    def _in_window(self, rows: tuple[Row, ...], added: Row) -> bool:
        newest = max(time for _, _, time in rows[:-1])
        reach = min(time + self.windows[stream] for stream, _, time in rows[:-1])
        return newest - self.windows[added[0]] <= added[2] <= reach

    def _passes(self, rows: tuple[Row, ...]) -> bool:
        times = {stream: time for stream, _, time in rows}
        return all(
            function is everything or one not in times or one + 1 not in times or (times[one] + times[one + 1]) % 3 == 0
            for one, function in enumerate(self.passes)
        )


def _outwards(head: int, streams: int) -> tuple[int, ...]:
    """A sequence in which every stream is joined to a neighbour: down to the first, then up to the last."""
    return (*range(head - 1, -1, -1), *range(head + 1, streams))
