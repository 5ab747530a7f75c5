"""A query of two streams, fed batch by batch, and where it stands in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from braid.control.ordering import Ordering
from braid.control.standing import Standing, standing_of
from braid.engine.status import message
from braid.optimizer.build import build_plan
from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal

SECOND = 1_000_000
BEHIND_MS = 20_000


def logical_plan(ordered: bool, lateness_s: int | None = 0, idle_after_ms: int | None = None) -> LogicalPlan:
    """f and w, joined on k within 10 seconds; w may fall idle."""
    draft = Draft()
    lateness = None if lateness_s is None else lateness_s * SECOND
    window = 10 * SECOND
    f = draft.stream("f", {"k": "bigint"}, window_us=window, lateness_us=lateness)
    w = draft.stream("w", {"k": "bigint"}, window_us=window, lateness_us=lateness, idle_after_ms=idle_after_ms)
    draft.on(equal(f["k"], w["k"]))
    return (draft.ordered() if ordered else draft).logical_plan()


def rows(*seconds: float | None) -> pa.Table:
    times = [None if second is None else round(second * SECOND) for second in seconds]
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": pa.array([1] * len(times), pa.int64())})


class WaitingQuery:
    """A query fed batch by batch, and where it stands."""

    def __init__(self, asked: LogicalPlan, directory: Path, policy: Any = "sync-filter") -> None:
        self._asked = asked
        self.plan = build_plan(asked)
        self.clock = ManualClock()
        ordering = Ordering(policy, 0.3) if asked.ordered else None
        self.query = InlineQuery(asked, str(directory), clock=self.clock, ordering=ordering)

    def feed(self, **tables: pa.Table) -> WaitingQuery:
        self.query.run(self.query.last_batch + 1, tables)
        return self

    @property
    def standing(self) -> Standing:
        return standing_of(self.plan, self.query.steps.manifest, self.query.steps.idle)

    def said(self, state: str = "waiting") -> str:
        return message(self.plan, self.standing, state)
