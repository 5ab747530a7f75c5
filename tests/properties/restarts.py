"""Queries as small data, which a restart can change: a logical plan for the engine, conditions for the oracle."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from braid.control.ordering import Ordering
from braid.optimizer.strategies import Auto, Biclique, Matrix, Strategy
from braid.plan.aggregation import Function, Updates
from braid.plan.expressions import Expression
from braid.plan.logical import LogicalPlan
from braid.testing import (
    Condition,
    Draft,
    DraftStream,
    OracleStream,
    add,
    constant,
    either,
    equal,
    less,
    less_or_equal,
    on_time_rows,
)
from braid.testing.drafts import ARROW_TYPES
from braid.testing.oracle import answer

Row = dict[str, Any]
Value = tuple[Any, ...]
Streams = dict[str, DraftStream]


@dataclass(frozen=True)
class Predicate:
    """A condition for both: an expression, and a function of one row of each stream. `reads` are its columns."""

    make: Callable[[Streams], Expression]
    condition: Condition
    reads: tuple[str, ...]


def _pairwise(
    make: Callable[[DraftStream, DraftStream], Expression], holds: Callable[[Row, Row], bool], *reads: str
) -> Predicate:
    return Predicate(lambda s: make(s["r"], s["s"]), Condition(("r", "s"), holds), reads)


PREDICATES: dict[str, Predicate] = {
    "k = k": _pairwise(lambda r, s: equal(r["k"], s["k"]), lambda r, s: r["k"] == s["k"], "k"),
    "k <= k": _pairwise(lambda r, s: less_or_equal(r["k"], s["k"]), lambda r, s: r["k"] <= s["k"], "k"),
    "v < v": _pairwise(lambda r, s: less(r["v"], s["v"]), lambda r, s: r["v"] < s["v"], "v"),
    "v < v + 2": _pairwise(
        lambda r, s: less(r["v"], add(s["v"], constant(2, s["v"].type))), lambda r, s: r["v"] < s["v"] + 2, "v"
    ),
    "t = t": _pairwise(lambda r, s: equal(r["t"], s["t"]), lambda r, s: r["t"] == s["t"], "t"),
    "t = t or k = k": _pairwise(
        lambda r, s: either(equal(r["t"], s["t"]), equal(r["k"], s["k"])),
        lambda r, s: r["t"] == s["t"] or r["k"] == s["k"],
        "t",
        "k",
    ),
    # Decided at ingest: the column it reads is not stored for its sake.
    "p <= 3": Predicate(
        lambda s: less_or_equal(s["r"]["p"], constant(3, s["r"]["p"].type)),
        Condition(("r",), lambda r: r["p"] <= 3),
        ("p",),
    ),
}
CALLS: tuple[tuple[Function, str], ...] = (
    ("sum", "s_v"),
    ("count", "r_v"),
    ("min", "r_t"),
    ("max", "s_v"),
    ("sum", "r_k"),
)
TYPES = {"k": ("bigint", "int"), "v": ("int", "bigint"), "t": ("string",), "p": ("int", "bigint"), "e": ("double",)}


def _near(limit: int, strict: bool) -> Callable[..., Any]:
    """Python predicates of one name, whose code or values differ."""

    def near(a: pa.Array, b: pa.Array) -> Any:
        return abs(np.asarray(a) - np.asarray(b)) <= limit

    def below(a: pa.Array, b: pa.Array) -> Any:
        return np.asarray(a) < np.asarray(b) + limit

    below.__name__ = "near"
    return below if strict else near


FUNCTIONS: tuple[tuple[Callable[..., Any], Condition], ...] = (
    (_near(2, strict=False), Condition(("r", "s"), lambda r, s: abs(r["v"] - s["v"]) <= 2)),
    (_near(3, strict=False), Condition(("r", "s"), lambda r, s: abs(r["v"] - s["v"]) <= 3)),
    (_near(2, strict=True), Condition(("r", "s"), lambda r, s: r["v"] < s["v"] + 2)),
)


@dataclass(frozen=True)
class Source:
    """A stream as asked for: columns with their types in the order of the source."""

    name: str
    columns: tuple[tuple[str, str], ...]
    window_us: int | None
    lateness_us: int | None
    idle_after_ms: int | None = None
    window_rows: int | None = None


@dataclass(frozen=True)
class Asked:
    """A query. Columns are written `stream_column`; without calls and not distinct it gives results one by one."""

    sources: tuple[Source, ...]
    predicates: tuple[str, ...]
    function: int | None
    version: str | None
    columns: tuple[tuple[str, str], ...]
    distinct: bool = False
    calls: tuple[tuple[Function, str], ...] = ()
    over_us: int | None = None
    updates: Updates = "batched"
    ordered: bool = False
    time_zone: str = "UTC"
    ansi: bool = True
    strategy: Strategy = Auto()  # noqa: RUF009 (frozen and without fields)
    policy: Ordering = Ordering("sync-filter", 0.3)  # noqa: RUF009 (frozen)
    slots: int = 2

    def logical_plan(self) -> LogicalPlan:
        draft = Draft()
        streams = {
            source.name: draft.stream(
                source.name,
                dict(source.columns),
                window_us=source.window_us,
                lateness_us=source.lateness_us,
                idle_after_ms=source.idle_after_ms,
                window_rows=source.window_rows,
            )
            for source in self.sources
        }
        for name in self.predicates:
            draft.on(PREDICATES[name].make(streams))
        if self.function is not None:
            function = FUNCTIONS[self.function][0]
            draft.on_function(function, streams["r"]["v"], streams["s"]["v"], version=self.version)
        chosen = {alias: streams[column[0]][column[2:]] for alias, column in self.columns}
        if self.calls:
            calls = [(f, (streams[c[0]][c[2:]],)) for f, c in self.calls]
            draft.aggregate(tuple(chosen.values()), *calls, over_us=self.over_us, updates=self.updates)
        elif self.distinct:
            draft.distinct(*chosen.values())
        else:
            draft.select(**chosen)
        logical_plan = draft.ordered().logical_plan() if self.ordered else draft.logical_plan()
        return replace(logical_plan, time_zone=self.time_zone, ansi=self.ansi)

    def tables(self, batch: dict[str, list[Row]]) -> dict[str, pa.Table]:
        """A batch's rows as this query's sources would bring them."""
        tables = {}
        for source in self.sources:
            types = {"ts": "timestamp", **dict(source.columns)}
            rows = batch.get(source.name, [])
            arrays = {n: pa.array([row.get(n) for row in rows], ARROW_TYPES[kind]) for n, kind in types.items()}
            tables[source.name] = pa.table(arrays)
        return tables

    def read(self) -> set[str]:
        """The columns of both streams that it reads after ingest, `stream_column`."""
        names = {column for _, column in self.columns} | {column for _, column in self.calls}
        names |= set() if self.function is None else {"r_v", "s_v"}
        for name in self.predicates:
            predicate = PREDICATES[name]
            names |= {f"{stream}_{column}" for stream in predicate.condition.streams for column in predicate.reads}
        return names


def expected(asked: Asked, batches: Sequence[dict[str, list[Row]]], clock_ms: Sequence[int]) -> Counter[Value]:
    """What the sink must hold in the end, by the oracle: results, distinct rows, or the newest totals of groups."""
    streams = [
        OracleStream(s.name, s.window_us, s.lateness_us, s.idle_after_ms, window_rows=s.window_rows)
        for s in asked.sources
    ]
    shaped = [
        {
            source.name: [
                {"ts": row["ts"], **{name: row.get(name) for name, _ in source.columns}}
                for row in batch.get(source.name, [])
            ]
            for source in asked.sources
        }
        for batch in batches
    ]
    conditions = [PREDICATES[name].condition for name in asked.predicates]
    conditions += [] if asked.function is None else [FUNCTIONS[asked.function][1]]
    results = answer(streams, on_time_rows(streams, shaped, clock_ms), conditions)
    places = {
        name: n for n, name in enumerate(f"{s.name}_{c}" for s in asked.sources for c in ("ts", *dict(s.columns)))
    }
    rows = list(results.elements())
    groups = [tuple(row[places[column]] for _, column in asked.columns) for row in rows]
    if asked.distinct:
        return Counter(set(groups))
    if not asked.calls:
        return Counter(groups)
    totals: Counter[Value] = Counter()
    for group in set(groups):
        members = [row for row, other in zip(rows, groups, strict=True) if other == group]
        totals[(*group, *(_total(f, [row[places[c]] for row in members]) for f, c in asked.calls))] += 1
    return totals


def _total(function: Function, values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    if function == "count":
        return len(known)
    if not known:
        return None
    return {"sum": sum, "min": min, "max": max}[function](known)


def newest(asked: Asked, files: Sequence[pa.Table]) -> Counter[Value]:
    """What a reader finds: every row, or of an aggregation the last row of each group; later steps come later."""
    rows = [tuple(row.values()) for table in files for row in table.to_pylist()]
    if not asked.calls:
        return Counter(rows)
    width, last = len(asked.columns) + len(asked.calls), {}
    for row in rows:
        last[row[: len(asked.columns)]] = row[:width]
    return Counter(last.values())


def some_batches(chance: random.Random, count: int) -> list[dict[str, list[Row]]]:
    batches, oldest = [], 0
    for _ in range(count):
        batch = {
            name: [
                {
                    "ts": oldest + chance.randint(0, 12),
                    "k": chance.randint(1, 4),
                    "v": chance.randint(0, 6),
                    "t": chance.choice(("a", "b", "c")),
                    "p": chance.randint(0, 5),
                }
                for _ in range(chance.choice((0, 5, 12)))
            ]
            for name in "rs"
        }
        batches.append(batch)
        oldest += chance.choice((0, 5, 15))
    return batches


def random_query(chance: random.Random) -> Asked:
    counted = chance.random() < 0.15
    lateness = chance.choice((0, 10, 30))
    columns = tuple((name, TYPES[name][0]) for name in "kvtp")
    sources = (
        Source("r", columns, None if counted else 40, lateness, window_rows=5 if counted else None),
        Source("s", columns, chance.choice((20, 40)), lateness, chance.choice((None, 1000))),
    )
    names = ["r_k", "r_v", "r_t", "s_k", "s_v", "s_t"]
    chosen = chance.sample(names, chance.randint(2, 4))
    asked = Asked(
        sources,
        tuple(chance.sample(list(PREDICATES), chance.randint(1, 3))),
        chance.choice((None, 0)),
        chance.choice((None, None, "1")),
        tuple((f"out_{name}", name) for name in chosen),
        ordered=counted or chance.random() < 0.25,
        strategy=chance.choice((Auto(), Matrix(2, 2), Biclique(2))),
    )
    shape = chance.choice(("rows", "distinct", "totals", "totals"))
    if shape == "distinct":
        return replace(asked, distinct=True)
    if shape == "totals":
        return replace(asked, columns=asked.columns[:2], calls=tuple(chance.sample(CALLS, 2)))
    return asked
