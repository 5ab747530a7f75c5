"""The paper's three joins over TPC-H, as questions for the engine without Spark, with the rows they are asked of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa

from benchmarks.workloads.catalogue import workload
from benchmarks.workloads.workload import Workload
from braid.plan.expressions import Expression
from braid.testing import Draft, DraftStream
from braid.testing.expressions import both, constant, either, equal, less, less_or_equal, within

QUERIES = ("q5", "q7", "band")
SPARK_TYPES = {pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string", pa.date32(): "date"}
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class TpchQuery:
    """One of the joins over a whole history, or over a window of it, cut into batches of a second each."""

    name: str
    scale_factor: float
    batches: int
    directory: Path
    window_seconds: float | None = None

    @property
    def workload(self) -> Workload:
        options = {"scale_factor": self.scale_factor, "batches": self.batches, "directory": self.directory}
        return workload(f"tpch-{self.name}", options)

    def draft(self) -> tuple[Draft, DraftStream, DraftStream]:
        """The question, to be completed with a selection or an aggregation."""
        draft = Draft()
        window_us = None if self.window_seconds is None else round(self.window_seconds * 1_000_000)
        left, right = (
            draft.stream(
                feed.name,
                {f.name: SPARK_TYPES[f.type] for f in feed.schema if f.name != "ts"},
                window_us=window_us,
            )
            for feed in self.workload.feeds
        )
        for condition in _conditions(self.name, left, right):
            draft.on(condition)
        return draft, left, right

    def whole(self) -> list[dict[str, pa.Table]]:
        """All rows in one batch."""
        batches = list(self.tables())
        return [{name: pa.concat_tables([tables[name] for tables in batches]) for name in batches[0]}]

    def tables(self) -> Iterator[dict[str, pa.Table]]:
        """The rows of each batch."""
        feeds = self.workload.feeds
        for second in range(self.batches):
            yield {feed.name: feed.second(second) for feed in feeds}


def _conditions(name: str, left: DraftStream, right: DraftStream) -> list[Expression]:
    if name == "q5":
        return [equal(left["suppkey"], right["suppkey"]), equal(left["region"], constant("ASIA", "string"))]
    if name == "q7":
        nations = [equal(left["nation"], constant(nation, "string")) for nation in ("FRANCE", "GERMANY")]
        first, last = (constant((day - EPOCH).days, "date") for day in (date(1995, 1, 1), date(1996, 12, 31)))
        shipped = both(less_or_equal(first, right["shipdate"]), less_or_equal(right["shipdate"], last))
        return [equal(left["suppkey"], right["suppkey"]), either(*nations), shipped]
    return [
        within(left["orderkey"], right["orderkey"], constant(1, "bigint")),
        equal(left["shipmode"], constant("TRUCK", "string")),
        equal(right["shipinstruct"], constant("NONE", "string")),
        less(constant(48, "bigint"), left["quantity"]),
    ]
