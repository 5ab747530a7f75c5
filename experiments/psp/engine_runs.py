"""Runs of the engine in one process, a slot for each unit: chains of streams with few rows in a window."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from braid.optimizer.strategies import Strategy
from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery, ManualClock
from experiments.psp.images import PIXELS, alike, random_images, with_probability

WINDOW_SECONDS = 10
STEPS_A_WINDOW = 5
Tables = dict[str, pa.Table]
Progress = dict[str, Any]


@dataclass(frozen=True)
class Chain:
    """Streams s0, s1, ...: neighbours match. A window of each has `stored` rows, of which a row matches `matches`.

    Of numbers, pairs match with a probability; with `image` rows have images, alike where they show the same scene.
    """

    ways: int
    stored: int
    matches: float
    image: str | None = None

    @property
    def selectivity(self) -> float:
        return self.matches / self.stored

    @property
    def rows_a_step(self) -> int:
        return self.stored // STEPS_A_WINDOW

    def logical_plan(self) -> LogicalPlan:
        draft = Draft()
        kind = "bigint" if self.image is None else "binary"
        streams = [draft.stream(f"s{n}", {"v": kind}, window_us=WINDOW_SECONDS * 1_000_000) for n in range(self.ways)]
        function = with_probability(self.selectivity) if self.image is None else alike
        for one, other in pairwise(streams):
            draft.on_function(function, one["v"], other["v"], raises=False, selectivity=self.selectivity)
        return draft.select(time=streams[0]["ts"]).logical_plan()

    def steps(self, count: int) -> Iterator[Tables]:
        """Rows at random times, in the order of time from step to step."""
        chance = np.random.default_rng(self.ways)
        width_us = WINDOW_SECONDS * 1_000_000 // STEPS_A_WINDOW
        for step in range(count):
            yield {f"s{n}": self._table(step * width_us, width_us, chance) for n in range(self.ways)}

    def _table(self, begin_us: int, width_us: int, chance: np.random.Generator) -> pa.Table:
        times = np.sort(chance.integers(begin_us, begin_us + width_us, self.rows_a_step))
        values = pa.array(chance.integers(0, 1 << 62, self.rows_a_step))
        if self.image is not None:
            values = random_images(self.rows_a_step, PIXELS[self.image], round(1 / self.selectivity), chance)
        return pa.table({"ts": pa.array(times).cast(pa.timestamp("us", "UTC")), "v": values})


def count(chain: Chain, strategy: Strategy, units: int, counted: int) -> list[Progress]:
    """The progress of the counted steps, after the windows have filled."""
    warm_up, found = STEPS_A_WINDOW + 2, []
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        query = InlineQuery(
            chain.logical_plan(), directory, strategy=strategy, slots=units, ingest_tasks=2, clock=ManualClock(0)
        )
        for number, tables in enumerate(chain.steps(warm_up + counted)):
            step = query.run(number, tables)
            if step is None:
                raise AssertionError(f"step {number} was not run")
            found.append(step)
    return found[warm_up:]


def total(steps: list[Progress], what: str) -> int:
    return sum(int(step[what]) for step in steps)


def of_units(steps: list[Progress], what: str) -> int:
    return sum(int(unit[what]) for step in steps for unit in step["units"])
