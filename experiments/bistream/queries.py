"""The paper's three joins over TPC-H, as questions for the engine without Spark, with the rows they are asked of.

As in the paper, rows come at other rates in the two streams, so that both bring the same volume to the join: a scale
has all its suppliers and a part of its line items, and the second stream of Band has a sample of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.workloads.catalogue import workload
from benchmarks.workloads.workload import FIRST_SECOND, SECOND_US, Workload
from braid.plan.expressions import Expression
from braid.testing import Draft, DraftStream
from braid.testing.expressions import both, constant, either, equal, less, less_or_equal, within

QUERIES = ("q5", "q7", "band")
TITLES = {"q5": "Q5", "q7": "Q7", "band": "Band"}
# Of how many parts of the line items one is taken, and of how many rows of Band's second stream: chosen so that the
# bytes that pass the selections are equal in both streams.
EQUAL_VOLUME: dict[str, dict[str, int]] = {
    "q5": {"line_item_parts": 4214},
    "q7": {"line_item_parts": 3217},
    "band": {"one_in": 34},
}
SPARK_TYPES = {pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string", pa.date32(): "date"}
EPOCH = date(1970, 1, 1)
# The selections again, in SQL, for a count that is not the engine's.
SELECTIONS = {
    "q5": {"supplier": "region = 'ASIA'", "lineitem": "true"},
    "q7": {
        "supplier": "nation IN ('FRANCE', 'GERMANY')",
        "lineitem": "shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'",
    },
    "band": {"l1": "shipmode = 'TRUCK' AND quantity > 48", "l2": "shipinstruct = 'NONE'"},
}
Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class TpchQuery:
    """One of the joins over a whole history, or with a window, and the rows of both streams."""

    name: str
    scale_factor: float
    directory: Path
    options: tuple[tuple[str, Any], ...]

    @cached_property
    def workload(self) -> Workload:
        given = {"scale_factor": self.scale_factor, "batches": 1, "directory": self.directory, **dict(self.options)}
        return workload(f"tpch-{self.name}", given)

    def draft(self, window_seconds: float | None = None) -> tuple[Draft, DraftStream, DraftStream]:
        """The question, to be completed with a selection or an aggregation."""
        draft = Draft()
        window_us = None if window_seconds is None else round(window_seconds * SECOND_US)
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

    def whole(self) -> Tables:
        """All rows of both streams."""
        return _whole(self)

    def selected(self) -> Tables:
        """The rows that pass the selections, found by DuckDB."""
        return {name: _selected(table, SELECTIONS[self.name][name]) for name, table in self.whole().items()}


@lru_cache(maxsize=3)
def _whole(query: TpchQuery) -> Tables:
    return {feed.name: feed.second(0) for feed in query.workload.feeds}


def _selected(table: pa.Table, selection: str) -> pa.Table:
    with duckdb.connect() as connection:
        connection.register("input_rows", table)
        return connection.sql(f"SELECT * FROM input_rows WHERE {selection}").to_arrow_table().cast(table.schema)


def in_steps(tables: Tables, steps: int) -> list[Tables]:
    """The rows of both streams, cut into so many steps."""
    return [{name: _share(table, step, steps) for name, table in tables.items()} for step in range(steps)]


def paced(tables: Tables, rates: Iterable[float], step_seconds: float) -> Iterator[Tables]:
    """Steps with so many rows a second of both streams together, each in proportion to its table.

    Their times are spread over the step. Rows come again after the last.
    """
    total, come = sum(table.num_rows for table in tables.values()), 0.0
    for step, rate in enumerate(rates):
        share = rate * step_seconds / total
        yield {
            name: _at(_cycled(table, round(come * table.num_rows), round(share * table.num_rows)), step, step_seconds)
            for name, table in tables.items()
        }
        come += share


def _share(table: pa.Table, step: int, steps: int) -> pa.Table:
    begin, end = (table.num_rows * edge // steps for edge in (step, step + 1))
    return table.slice(begin, end - begin)


def _cycled(table: pa.Table, first: int, count: int) -> pa.Table:
    return table.take(pa.array((first + np.arange(count)) % table.num_rows))


def _at(table: pa.Table, step: int, seconds: float) -> pa.Table:
    begin = round((FIRST_SECOND + step * seconds) * SECOND_US)
    times = begin + np.arange(table.num_rows) * round(seconds * SECOND_US) // max(1, table.num_rows)
    place = table.schema.get_field_index("ts")
    return table.set_column(place, table.schema.field(place), pa.array(times).cast(table.schema.field(place).type))


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
