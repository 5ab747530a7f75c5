"""The joins that are cut for more and more slots, and their rows.

Rows are drawn so that a row finds about one and a quarter partners, whatever the number of rows: keys and values come
from a range as long as the rows of the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from braid.plan.logical import LogicalPlan
from braid.testing import Draft
from braid.testing.expressions import constant, equal, within

Kind = Literal["equality", "band", "nested loop"]

STEP_US = 1_000_000
STREAMS = ("r", "s")
PARTNERS = 1.25


@dataclass(frozen=True)
class Join:
    """A join of two streams with `rows` rows a step each, over windows of `window_steps` steps."""

    kind: Kind
    rows: int
    window_steps: int
    seed: int = 1

    @property
    def extent(self) -> float:
        """The length of the range of keys and values: a row sees the other stream's rows of the window and its step."""
        return self.rows * (self.window_steps + 0.5) / PARTNERS

    @property
    def near(self) -> float:
        """The squared distance within which a row has its partners in a square of that side."""
        return self.extent / np.pi

    @property
    def sql(self) -> str:
        texts: dict[Kind, str] = {
            "equality": "r.k = s.k",
            "band": "abs(r.v - s.v) <= 0.5D",
            "nested loop": f"(r.v - s.v) * (r.v - s.v) + (r.w - s.w) * (r.w - s.w) <= {self.near!r}D",
        }
        return texts[self.kind]

    def plan(self) -> LogicalPlan:
        """The join without Spark; the nested loop is measured on Spark only."""
        draft = Draft()
        columns = {"k": "bigint", "v": "double", "w": "double"}
        r, s = (draft.stream(name, columns, window_us=self.window_steps * STEP_US, lateness_us=0) for name in STREAMS)
        by_key, by_value = equal(r["k"], s["k"]), within(r["v"], s["v"], constant(0.5, "double"))
        return draft.on(by_key if self.kind == "equality" else by_value).logical_plan()

    def tables(self, step: int, share: float = 1.0) -> dict[str, pa.Table]:
        """The rows of a step, the same for the same join; or a share of so many rows, from the same ranges."""
        chance = np.random.default_rng([self.seed, step])
        rows = max(1, round(self.rows * share))
        return {name: self._table(chance, step, rows) for name in STREAMS}

    def _table(self, chance: np.random.Generator, step: int, rows: int) -> pa.Table:
        times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, rows))
        return pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
                "k": pa.array(chance.integers(0, max(1, round(self.extent)), rows)),
                "v": pa.array(chance.random(rows) * self.extent),
                "w": pa.array(chance.random(rows) * self.extent),
            }
        )
