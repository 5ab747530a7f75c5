"""Corrected queries as small data: predicates with other keys, for the engine, as Spark's SQL, and for the oracle."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from braid.plan.expressions import Call, Column, Constant, Expression
from braid.plan.logical import LogicalPlan
from braid.plan.predicate import Conjunct
from braid.testing import (
    Condition,
    Draft,
    DraftStream,
    OracleStream,
    add,
    answer,
    coalesce,
    constant,
    either,
    equal,
    equal_or_both_null,
    less,
    less_or_equal,
    on_time_rows,
    within,
)
from braid.testing.drafts import ARROW_TYPES

Row = dict[str, Any]
Batches = Sequence[dict[str, list[Row]]]
FAILING = "BRAID_TEST_FAILING"
COLUMNS = {"k": "bigint", "j": "bigint", "t": "string", "v": "bigint"}
SIGNS = {"eq": "=", "eq_null_safe": "<=>", "lt": "<", "le": "<=", "add": "+", "subtract": "-", "or": "OR", "and": "AND"}


@dataclass(frozen=True)
class Kind:
    """A predicate of two streams, or of the first one alone."""

    make: Callable[[DraftStream, DraftStream], Expression]
    holds: Callable[[Row, Row], bool | None]
    alone: bool = False


def _compared(left: str, right: str, compare: Callable[[Any, Any], bool]) -> Callable[[Row, Row], bool | None]:
    return lambda a, b: None if a[left] is None or b[right] is None else compare(a[left], b[right])


def _zero() -> Constant:
    return constant(0, "bigint")


KINDS: dict[str, Kind] = {
    "an exact key": Kind(lambda a, b: equal(a["k"], b["k"]), _compared("k", "k", lambda x, y: x == y)),
    "another exact key": Kind(lambda a, b: equal(a["k"], b["j"]), _compared("k", "j", lambda x, y: x == y)),
    "a hashed key": Kind(lambda a, b: equal(a["t"], b["t"]), _compared("t", "t", lambda x, y: x == y)),
    "a key of NULLs": Kind(lambda a, b: equal_or_both_null(a["t"], b["t"]), lambda a, b: a["t"] == b["t"]),
    "a key of numbers and NULLs": Kind(lambda a, b: equal_or_both_null(a["k"], b["k"]), lambda a, b: a["k"] == b["k"]),
    "a key with a default": Kind(
        lambda a, b: equal(coalesce(a["k"], _zero()), coalesce(b["k"], _zero())),
        lambda a, b: (a["k"] or 0) == (b["k"] or 0),
    ),
    "a key that may overflow": Kind(
        lambda a, b: equal(add(a["k"], a["v"]), add(b["k"], b["v"])),
        lambda a, b: None if a["k"] is None or b["k"] is None else a["k"] + a["v"] == b["k"] + b["v"],
    ),
    "a band": Kind(
        lambda a, b: within(a["v"], b["v"], constant(2, "bigint")), _compared("v", "v", lambda x, y: abs(x - y) <= 2)
    ),
    "an inequality": Kind(lambda a, b: less(a["v"], b["v"]), _compared("v", "v", lambda x, y: x < y)),
    "one of two": Kind(
        lambda a, b: either(equal(a["v"], b["v"]), equal(a["j"], b["j"])),
        lambda a, b: a["v"] == b["v"] or a["j"] == b["j"],
    ),
    "a condition": Kind(lambda a, b: less(a["v"], constant(5, "bigint")), lambda a, b: bool(a["v"] < 5), alone=True),
    "another condition": Kind(
        lambda a, b: less_or_equal(constant(1, "bigint"), a["j"]), lambda a, b: bool(a["j"] >= 1), alone=True
    ),
}
# With rows without NULLs these are true for the same pairs, whatever the keys that they give; none of the first leaves
# out rows that the others need.
SAME: dict[str, tuple[str, ...]] = {
    "a key with a default": ("an exact key", "a key of numbers and NULLs"),
    "a key of numbers and NULLs": ("an exact key", "a key with a default"),
    "a key of NULLs": ("a hashed key",),
}


def steady(values: pa.Array, others: pa.Array) -> Any:
    """A predicate of the user's that is always true, or fails while a test says so."""
    if os.environ.get(FAILING):
        raise ValueError("asked to fail")
    return np.ones(len(values), bool)


@dataclass(frozen=True)
class Predicate:
    """A kind of predicate between two streams."""

    kind: str
    streams: tuple[str, str]

    @property
    def condition(self) -> Condition:
        kind = KINDS[self.kind]
        if kind.alone:
            return Condition(self.streams[:1], lambda a: kind.holds(a, a))
        return Condition(self.streams, kind.holds)


@dataclass(frozen=True)
class Corrected:
    """A query with the predicates that it has before or after a correction."""

    streams: tuple[OracleStream, ...]
    predicates: tuple[Predicate, ...]
    selected: tuple[str, ...] | None = None
    ordered: bool = False

    def logical_plan(self) -> LogicalPlan:
        draft = Draft()
        streams = {
            s.name: draft.stream(
                s.name, COLUMNS, window_us=s.window_us, lateness_us=s.lateness_us, window_rows=s.window_rows
            )
            for s in self.streams
        }
        for predicate in self.predicates:
            draft.on(KINDS[predicate.kind].make(*(streams[name] for name in predicate.streams)))
        draft.on_function(steady, streams["r"]["ts"], streams["s"]["ts"])
        if self.selected is not None:
            draft.select(**{name: streams[name[0]][name[2:]] for name in self.selected})
        plan = draft.ordered().logical_plan() if self.ordered else draft.logical_plan()
        return replace(plan, conjuncts=tuple(_in_sql(conjunct) for conjunct in plan.conjuncts))

    def expected(self, batches: Batches, steps: Container[int]) -> Counter[tuple[Any, ...]]:
        """The results whose last row comes in one of these steps."""
        numbered = [
            {name: [{**row, "n": n} for row in rows] for name, rows in batch.items()} for n, batch in enumerate(batches)
        ]
        found_in = Condition(tuple(s.name for s in self.streams), lambda *rows: max(row["n"] for row in rows) in steps)
        rows = on_time_rows(self.streams, numbered)
        conditions = [*(predicate.condition for predicate in self.predicates), found_in]
        names = [f"{s.name}_{column}" for s in self.streams for column in ("ts", *COLUMNS, "n")] + ["result_time"]
        chosen = [n for n in names if not n.endswith("_n")] if self.selected is None else list(self.selected)
        found: Counter[tuple[Any, ...]] = Counter()
        for row, count in answer(self.streams, rows, conditions).items():
            by_name = dict(zip(names, row, strict=True))
            found[tuple(by_name[name] for name in chosen)] += count
        return found


def _in_sql(conjunct: Conjunct) -> Conjunct:
    """The conjunct with the text that Spark's analysis gives, instead of the readable one of drafts."""
    if conjunct.expression is None:
        return conjunct
    equality = conjunct.equality
    if equality is not None:
        sides = [
            replace(side, sql=_sql(side.expression)) for side in (equality.left, equality.right) if side.expression
        ]
        equality = replace(equality, left=sides[0], right=sides[1])
    text = _sql(conjunct.expression)
    return replace(conjunct, sql=text, written=text, equality=equality)


def _sql(expression: Expression) -> str:
    if isinstance(expression, Column):
        return f"`{expression.name}`"
    if isinstance(expression, Call):
        arguments = [_sql(argument) for argument in expression.arguments]
        if expression.function in SIGNS:
            return f"({f' {SIGNS[expression.function]} '.join(arguments)})"
        return f"{expression.function}({', '.join(arguments)})"
    return str(expression.value)


def tables(batch: dict[str, list[Row]]) -> dict[str, pa.Table]:
    types = {"ts": "timestamp", **COLUMNS}
    return {
        name: pa.table({c: pa.array([row[c] for row in rows], ARROW_TYPES[kind]) for c, kind in types.items()})
        for name, rows in batch.items()
    }


def read(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Published rows, with times as microseconds."""
    plain = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    return Counter(zip(*(column.to_pylist() for column in plain), strict=True))


def some_batches(chance: random.Random, names: str, count: int, nulls: float) -> Batches:
    def row(oldest: int) -> Row:
        return {
            "ts": oldest + chance.randint(0, 12),
            "k": None if chance.random() < nulls else chance.randint(0, 3),
            "j": chance.randint(0, 3),
            "t": None if chance.random() < nulls else chance.choice("abc"),
            "v": chance.randint(0, 6),
        }

    most = 10 if len(names) == 2 else 5
    return [
        {name: [row(5 * number) for _ in range(chance.randint(0, most))] for name in names} for number in range(count)
    ]


def some_predicates(chance: random.Random, names: str, most: int) -> tuple[Predicate, ...]:
    pairs = list(combinations(names, 2))
    drawn = [Predicate(chance.choice(list(KINDS)), chance.choice(pairs)) for _ in range(chance.randint(1, most))]
    return tuple(dict.fromkeys(drawn))


def some_query(chance: random.Random) -> Corrected:
    names = "rsu" if chance.random() < 0.35 else "rs"
    window = chance.choice((None, 15, 30))
    streams = tuple(OracleStream(name, window, chance.choice((0, 8))) for name in names)
    selected = None if chance.random() < 0.6 else tuple(f"{name}_k" for name in names)
    return Corrected(streams, some_predicates(chance, names, 3), selected)


def correct(chance: random.Random, query: Corrected) -> Corrected:
    """Another query that a user might start after a failure: some predicates dropped, some added."""
    names = "".join(stream.name for stream in query.streams)
    kept = [predicate for predicate in query.predicates if chance.random() < 0.7]
    return replace(query, predicates=tuple(dict.fromkeys([*kept, *some_predicates(chance, names, 2)])))


def rewrite(chance: random.Random, query: Corrected) -> Corrected:
    """The same query with other keys."""
    written = [replace(p, kind=chance.choice(SAME[p.kind])) if p.kind in SAME else p for p in query.predicates]
    return replace(query, predicates=tuple(written))
