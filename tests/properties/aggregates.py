"""Summaries in the tests' own words: random ones, drafts of them, and what they come to, counted one by one."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from braid.plan.aggregation import Function, Updates
from braid.testing import Draft
from braid.testing.expressions import equal, less_or_equal

Row = tuple[Any, ...]
COLUMNS = {"k": "bigint", "f": "double", "t": "string"}
WINDOW_US = 40
LATENESS_US = 15


@dataclass(frozen=True)
class Asked:
    """An aggregation in the test's own words: columns by name, calls by function and names; None: distinct rows."""

    groups: tuple[str, ...]
    calls: tuple[tuple[Function, tuple[str, ...]], ...] | None
    over_us: int | None
    updates: Updates


def draft(
    asked: Asked | None,
    by_key: bool,
    lateness_us: int = LATENESS_US,
    idle_after_ms: int | None = None,
    window_rows: int | None = None,
) -> Draft:
    """The join of two streams, with or without an aggregation; the first may count rows, the second fall idle."""
    written = Draft()
    window_us = WINDOW_US if window_rows is None else None
    r = written.stream("r", COLUMNS, window_us=window_us, lateness_us=lateness_us, window_rows=window_rows)
    s = written.stream("s", COLUMNS, window_us=WINDOW_US, lateness_us=lateness_us, idle_after_ms=idle_after_ms)
    written.on(equal(r["k"], s["k"]) if by_key else less_or_equal(r["k"], s["k"]))
    named = {f"{stream}_{name}": side[name] for stream, side in (("r", r), ("s", s)) for name in ("k", "f", "t", "ts")}
    if asked is not None and asked.calls is None:
        return written.distinct(*(named[name] for name in asked.groups))
    if asked is not None and asked.calls is not None:
        calls = [(function, tuple(named[name] for name in names)) for function, names in asked.calls]
        groups = [named[name] for name in asked.groups]
        return written.aggregate(groups, *calls, over_us=asked.over_us, updates=asked.updates)
    return written


def some_rows(chance: random.Random, count: int, oldest: int) -> pa.Table:
    floats = (0.0, -0.0, 1.5, -2.0, 8.0, math.nan, None)
    return pa.table(
        {
            "ts": pa.array([oldest + chance.randint(0, 20) for _ in range(count)], pa.timestamp("us", "UTC")),
            "k": pa.array([chance.choice((1, 2, 3, 4)) for _ in range(count)], pa.int64()),
            "f": pa.array([chance.choice(floats) for _ in range(count)], pa.float64()),
            "t": pa.array([chance.choice(("a", "b", "", "ä\0x", None)) for _ in range(count)], pa.string()),
        }
    )


def random_aggregation(chance: random.Random) -> Asked:
    names = ("r_k", "r_f", "r_t", "s_f", "s_t", "s_ts")
    groups = tuple(chance.sample(names, chance.randint(0, 2)))
    if chance.random() < 0.2:
        return Asked(tuple(chance.sample(names, chance.randint(1, 3))), None, None, "batched")
    possible: list[tuple[Function, tuple[str, ...]]] = [
        ("count", ()),
        ("count", ("s_f",)),
        ("count", ("s_t",)),
        ("sum", ("s_k",)),
        ("sum", ("r_f",)),
        ("avg", ("s_k",)),
        ("avg", ("s_f",)),
        ("min", ("s_f",)),
        ("max", ("s_f",)),
        ("min", ("s_t",)),
        ("max", ("r_ts",)),
        ("count_distinct", ("s_f",)),
        ("count_distinct", ("s_t", "r_k")),
        ("count_distinct", ("s_ts",)),
    ]
    calls = tuple(chance.sample(possible, chance.randint(1, 4)))
    over = chance.choice((None, None, 0, 10, 30, 1000))
    return Asked(groups, calls, over, chance.choice(("batched", "batched", "immediate")))


def batches_of(chance: random.Random) -> list[dict[str, pa.Table]]:
    batches, oldest = [], 0
    for _ in range(chance.randint(3, 8)):
        batches.append({name: some_rows(chance, chance.choice((0, 3, 8, 15)), oldest) for name in "rs"})
        oldest += chance.choice((0, 7, 25))
    return batches


def plain(value: Any) -> Any:
    """A value that equals itself: NaN is one value, and a zero has no sign."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def rows_of(table: pa.Table) -> Counter[Row]:
    return Counter(tuple(plain(value) for value in row.values()) for row in table.to_pylist())


def values_of(asked: Asked, place: Mapping[str, int], rows: list[Row]) -> Row:
    """The values of a group with these results, whose columns have their places by name."""
    return tuple(_value(function, [place[name] for name in names], rows) for function, names in asked.calls or ())


def _value(function: Function, places: list[int], rows: list[Row]) -> Any:
    taken = [tuple(row[place] for place in places) for row in rows]
    valid = [values for values in taken if None not in values]
    if function == "count":
        return len(valid)
    if function == "count_distinct":
        return len(set(valid))
    numbers = [values[0] for values in valid]
    if not numbers:
        return None
    if function in ("min", "max"):
        ordered = sorted(numbers, key=lambda value: (value == "NaN", 0 if value == "NaN" else value))
        return ordered[0] if function == "min" else ordered[-1]
    total = "NaN" if "NaN" in numbers else sum(numbers)
    return total if function == "sum" or total == "NaN" else total / len(numbers)
