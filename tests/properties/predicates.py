"""Random predicates, each made twice: as an expression tree for the engine, and as a function for the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from braid.plan.expressions import Expression
from braid.testing import (
    Condition,
    DraftStream,
    absolute,
    add,
    both,
    coalesce,
    constant,
    either,
    equal,
    equal_or_both_null,
    less,
    less_or_equal,
    negation,
    subtract,
    within,
)

COLUMNS = {
    "id": "int", "k": "int", "j": "bigint", "x": "double", "f": "float", "s": "string", "u": "timestamp",
    "m": "decimal(10,2)", "w": "decimal(38,4)",
}  # fmt: skip

EXACT = Context(prec=60)

Make = Callable[[dict[str, DraftStream]], Expression]


@dataclass(frozen=True)
class Predicate:
    """The same condition for both: an expression for the engine, a function for the oracle."""

    text: str
    make: Make
    condition: Condition


def random_predicates(chance: random.Random, names: list[str]) -> list[Predicate]:
    """None, over a chain, over a star, or over pairs at random; and sometimes a selection of one stream."""
    if len(names) == 2 and chance.random() < 0.06:
        return []
    shape = chance.choice(("chain", "star", "random"))
    pairs = {
        "chain": list(pairwise(names)),
        "star": [(names[0], name) for name in names[1:]],
        "random": [tuple(chance.sample(names, 2)) for _ in names[1:]],
    }[shape]
    shared = chance.choice(("k", "j", "s", "x", None))
    found = []
    for left, right in pairs:
        if shared is not None and chance.random() < 0.8:
            found.append(_equality(left, right, shared, shared))
        more = chance.choice((0, 0, 1, 1, 2)) if shared else chance.choice((1, 1, 2))
        found += [chance.choice(KINDS)(chance, left, right) for _ in range(more)]
    if chance.random() < 0.25:
        found.append(_selection(chance, chance.choice(names)))
    if len(names) > 2 and chance.random() < 0.2:
        found.append(_three(*chance.sample(names, 3)))
    return found


def random_ranges(chance: random.Random, names: list[str]) -> list[Predicate]:
    """Two or three ranges for every two adjacent streams, on any numbers; sometimes an equality too."""
    found = []
    for left, right in pairwise(names):
        found += [chance.choice((_band, _band, _inequality, _interval))(chance, left, right) for _ in range(3)]
        if chance.random() < 0.2:
            found.append(_equality(left, right, "k", "k"))
    return chance.sample(found, len(found) - chance.randint(0, 1))


def random_keys(chance: random.Random, names: list[str]) -> list[Predicate]:
    """An equality that all streams take part in, sometimes of several columns, and sometimes another predicate."""
    columns = chance.choice((["k"], ["k"], ["j"], ["s"], ["k", "s"]))
    found = [_equality(*pair, column, column) for pair in pairwise(names) for column in columns]
    if chance.random() < 0.4:
        found.append(chance.choice(KINDS)(chance, *chance.sample(names, 2)))
    return found


def _equality(left: str, right: str, mine: str, theirs: str) -> Predicate:
    return Predicate(
        f"{left}.{mine} = {right}.{theirs}",
        lambda s: equal(s[left][mine], s[right][theirs]),
        Condition((left, right), lambda a, b: _equal(a[mine], b[theirs])),
    )


def _any_equality(chance: random.Random, left: str, right: str) -> Predicate:
    column = chance.choice(("k", "j", "x", "f", "s", "u", "m", "w"))
    return _equality(left, right, column, column)


def _null_safe(chance: random.Random, left: str, right: str) -> Predicate:
    column = chance.choice(("k", "s", "x", "w"))
    return Predicate(
        f"{left}.{column} <=> {right}.{column}",
        lambda s: equal_or_both_null(s[left][column], s[right][column]),
        Condition((left, right), lambda a, b: _null_safe_equal(a[column], b[column])),
    )


def _coalesced(chance: random.Random, left: str, right: str) -> Predicate:
    return Predicate(
        f"coalesce({left}.k, 0) = {right}.k",
        lambda s: equal(coalesce(s[left]["k"], constant(0, "int")), s[right]["k"]),
        Condition((left, right), lambda a, b: _equal(0 if a["k"] is None else a["k"], b["k"])),
    )


def _band(chance: random.Random, left: str, right: str) -> Predicate:
    column, limit = chance.choice((("k", 1), ("x", 0.05), ("x", 0.1), ("f", 0.1), ("x", 1.0)))
    type = COLUMNS[column]
    exact = np.float32(limit) if type == "float" else limit

    def holds(a: dict[str, Any], b: dict[str, Any]) -> bool | None:
        difference = _difference(a[column], b[column], type)
        return None if difference is None else _at_most(abs(difference), exact)

    return Predicate(
        f"abs({left}.{column} - {right}.{column}) <= {limit}",
        lambda s: within(s[left][column], s[right][column], constant(limit, type)),
        Condition((left, right), holds),
    )


def _decimal_band(chance: random.Random, left: str, right: str) -> Predicate:
    """A band of decimals: of one column, or of two with other digits, which are looked up as doubles."""
    mine, theirs = chance.choice((("m", "m"), ("m", "w"), ("w", "m"), ("w", "w")))
    cents = chance.choice((0, 5, 100))

    def holds(a: dict[str, Any], b: dict[str, Any]) -> bool | None:
        if a[mine] is None or b[theirs] is None:
            return None
        difference = EXACT.subtract(a[mine], b[theirs])
        return bool(difference.copy_abs() <= Decimal(cents) / 100)

    return Predicate(
        f"abs({left}.{mine} - {right}.{theirs}) <= {cents / 100}",
        lambda s: within(s[left][mine], s[right][theirs], constant(cents, "decimal(4,2)")),
        Condition((left, right), holds),
    )


def _inequality(chance: random.Random, left: str, right: str) -> Predicate:
    column, strict = chance.choice(("k", "j", "x", "f", "s", "u", "m", "w")), chance.random() < 0.5
    make = less if strict else less_or_equal
    return Predicate(
        f"{left}.{column} {'<' if strict else '<='} {right}.{column}",
        lambda s: make(s[left][column], s[right][column]),
        Condition((left, right), lambda a, b: (_below if strict else _at_most)(a[column], b[column])),
    )


def _interval(chance: random.Random, left: str, right: str) -> Predicate:
    back, ahead = chance.choice(((5, 1), (0, 8), (-2, 6), (20, 20)))

    def make(s: dict[str, DraftStream]) -> Expression:
        mine, theirs = s[left]["ts"], s[right]["ts"]
        oldest, newest = (
            subtract(mine, constant(back, "interval")),
            add(mine, constant(ahead, "interval")),
        )
        return both(less_or_equal(oldest, theirs), less_or_equal(theirs, newest))

    return Predicate(
        f"{right}.ts between {left}.ts - {back} and {left}.ts + {ahead}",
        make,
        Condition((left, right), lambda a, b: a["ts"] - back <= b["ts"] <= a["ts"] + ahead),
    )


def _theta(chance: random.Random, left: str, right: str) -> Predicate:
    """`l.x < r.x OR NOT l.k = r.k`: nothing an index can use."""
    return Predicate(
        f"{left}.x < {right}.x OR NOT {left}.k = {right}.k",
        lambda s: either(less(s[left]["x"], s[right]["x"]), negation(equal(s[left]["k"], s[right]["k"]))),
        Condition((left, right), lambda a, b: _or(_below(a["x"], b["x"]), _not(_equal(a["k"], b["k"])))),
    )


def _sum_band(chance: random.Random, left: str, right: str) -> Predicate:
    def holds(a: dict[str, Any], b: dict[str, Any]) -> bool | None:
        if a["x"] is None or b["x"] is None:
            return None
        with np.errstate(all="ignore"):
            total = float(np.float64(a["x"]) + np.float64(b["x"]))
        return _and(_at_most(0.3, total), _at_most(total, 0.7))

    def make(s: dict[str, DraftStream]) -> Expression:
        total = add(s[left]["x"], s[right]["x"])
        return both(less_or_equal(constant(0.3, "double"), total), less_or_equal(total, constant(0.7, "double")))

    return Predicate(f"{left}.x + {right}.x between 0.3 and 0.7", make, Condition((left, right), holds))


def _selection(chance: random.Random, name: str) -> Predicate:
    return Predicate(
        f"abs({name}.x) <= 0.5",
        lambda s: less_or_equal(absolute(s[name]["x"]), constant(0.5, "double")),
        Condition((name,), lambda a: None if a["x"] is None else _at_most(abs(a["x"]), 0.5)),
    )


def _three(first: str, second: str, third: str) -> Predicate:
    def holds(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> bool | None:
        if None in (a["x"], b["x"], c["x"]):
            return None
        with np.errstate(all="ignore"):
            return _at_most(float(np.float64(a["x"]) + np.float64(b["x"])), c["x"])

    return Predicate(
        f"{first}.x + {second}.x <= {third}.x",
        lambda s: less_or_equal(add(s[first]["x"], s[second]["x"]), s[third]["x"]),
        Condition((first, second, third), holds),
    )


KINDS = (_any_equality, _null_safe, _coalesced, _band, _band, _decimal_band, _inequality, _interval, _theta, _sum_band)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _equal(left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    return (_is_nan(left) and _is_nan(right)) or bool(left == right)


def _null_safe_equal(left: Any, right: Any) -> bool:
    return left is right is None if left is None or right is None else _equal(left, right) is True


def _below(left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if _is_nan(left) or _is_nan(right):
        return _is_nan(right) and not _is_nan(left)
    if isinstance(left, str):
        return bool(left.encode() < right.encode())
    return bool(left < right)


def _at_most(left: Any, right: Any) -> bool | None:
    below = _below(left, right)
    return None if below is None else below or _equal(left, right)


def _difference(left: Any, right: Any, type: str) -> Any:
    if left is None or right is None:
        return None
    if type in ("float", "double"):
        kind = np.float32 if type == "float" else np.float64
        with np.errstate(all="ignore"):
            return kind(left) - kind(right)
    return left - right


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    return _not(_and(_not(left), _not(right)))


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value
