"""The queries that are measured under a limit: two streams of wide rows with unbounded windows, so state only grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from braid.optimizer.strategies import Auto, Partitioned, Strategy, TimeSliced
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit, Overflow
from braid.testing import Draft
from braid.testing.expressions import equal

UNITS = SLOTS = 2
GROUPS = 300
TEXT_BYTES, KEYS = 200, 1 << 62
# What a row takes in a block, its text, key and time with it.
ROW_BYTES = 225

Shape = Literal["join", "ordered", "totals"]
"""What becomes of the results: emitted, emitted in order, or added up for groups as wide as the rows."""


@dataclass(frozen=True)
class Scenario:
    """A query, and what it does over the limit. All rows have a partner where results are what fills the memory."""

    strategy: Strategy
    overflow: Overflow = "read-through"
    shape: Shape = "join"
    spill_at: float = 0.9

    @property
    def partners(self) -> Literal["few", "all"]:
        return "few" if self.shape == "join" else "all"

    def limit(self, limit_bytes: int) -> MemoryLimit | None:
        """The limit of a run; 0: none."""
        return MemoryLimit(limit_bytes, self.overflow, self.spill_at) if limit_bytes else None

    def expected(self, steps: int, rows: int) -> int:
        """How many results so many steps have."""
        return rows * steps if self.partners == "all" else (steps - 1) * 2 * rows // 100 + rows // 100


SCENARIOS: dict[str, Scenario] = {
    "partitioned": Scenario(Partitioned(units=UNITS)),
    "time-sliced": Scenario(TimeSliced(units=UNITS)),
    "auto": Scenario(Auto()),
    # Units push groups all the time, and the clean-up at the end reads several times the limit.
    "lazy-disk": Scenario(Partitioned(units=UNITS, groups=GROUPS), "lazy-disk", spill_at=0.5),
    "ordered": Scenario(Partitioned(units=UNITS), shape="ordered"),
    "totals": Scenario(Partitioned(units=UNITS), shape="totals"),
}


def two_streams(shape: Shape) -> LogicalPlan:
    """The query in one process."""
    draft = Draft()
    a = draft.stream("a", {"k": "bigint", "p": "string"}, window_us=None)
    b = draft.stream("b", {"k": "bigint", "p": "string"}, window_us=None)
    draft.on(equal(a["k"], b["k"]))
    if shape == "ordered":
        draft.ordered()
    if shape == "totals":
        draft.aggregate([a["p"]], ("count", ()))
    return draft.logical_plan()


def batch(step: int, rows: int, partners: Literal["few", "all"]) -> dict[str, pa.Table]:
    """Rows of both streams. `few`: one of a hundred has a partner in its own step, and one in the step before."""
    chance = np.random.default_rng(step + 1)
    before = np.random.default_rng(step).integers(0, KEYS, rows)
    tables: dict[str, pa.Table] = {}
    for name in "ab":
        keys = chance.integers(0, KEYS, rows)
        if partners == "few":
            keys[: rows // 100] = before[rows // 100 : rows // 50]
        elif name == "b":
            keys = chance.permutation(tables["a"]["k"].to_numpy())
        times = pa.array(np.arange(rows) + step * rows, pa.timestamp("us", "UTC"))
        letters = np.frombuffer(chance.bytes(rows * TEXT_BYTES // 2).hex().encode(), np.uint8)
        offsets = np.arange(rows + 1, dtype=np.int32) * TEXT_BYTES
        texts = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters))
        tables[name] = pa.table({"k": keys, "p": texts, "ts": times})
    return tables


def steps_for(state_bytes: int, rows: int) -> int:
    """How many steps of so many rows a stream give that much state."""
    return max(2, -(-state_bytes // (2 * rows * ROW_BYTES)))
