"""Ranges hold every match: the exact comparison on all pairs finds nothing outside the candidates."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from braid.errors import PredicateError
from braid.kernels.expressions.decimal_types import is_proven
from braid.kernels.expressions.evaluate import evaluate, is_true
from braid.kernels.expressions.raising import is_of_decimals
from braid.kernels.join import match
from braid.kernels.keys import index_keys
from braid.kernels.ordering import open_index, range_values, sort_positions
from braid.kernels.probing import Counters, StoredSegment, prepare
from braid.kernels.rows import Pairs, Rows
from braid.kernels.search import expand, search
from braid.optimizer.build import build_plan
from braid.optimizer.join_orders import build_probe
from braid.plan.expressions import Call, Column, Constant, Expression, walk
from braid.plan.join import JoinPlan
from braid.testing import Draft, absolute, add, both, constant, equal, less, less_or_equal, subtract, within
from braid.testing.drafts import arrow_type

DOUBLES = st.one_of(
    st.floats(),
    st.sampled_from([0.1, 0.2, 0.3, 0.05, 1e16, 1e16 + 2, -1e16, 1.0, 1e308, -1e308, 5e-324, math.nan, math.inf]),
    st.integers(-20, 20).map(lambda n: n * 0.1),
)
FLOATS = st.one_of(
    st.floats(width=32),
    st.sampled_from([0.5, 16777216.0, -16777216.0, 1.0, 2.0**127, math.nan, -math.inf]),
    st.integers(-20, 20).map(lambda n: float(np.float32(n * 0.1))),
)  # fmt: skip


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    """Values of a type: small ones, ends of its range, and any."""
    top = 10**precision - 1
    unscaled = st.one_of(st.integers(-9, 9), st.integers(-top, top), st.sampled_from([top, -top, top // 2, 50, 55, 45]))
    return unscaled.map(lambda number: Decimal(number).scaleb(-scale, Context(prec=precision)))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "double": DOUBLES,
    "float": FLOATS,
    "int": st.one_of(st.integers(-9, 9), st.sampled_from([2**31 - 1, -(2**31)])),
    "bigint": st.one_of(st.integers(-9, 9), st.integers(-(2**62), 2**62), st.sampled_from([2**53, 2**53 + 1])),
    "timestamp": st.one_of(st.integers(-9, 9), st.integers(-(2**58), 2**58)),
}
DECIMALS = {f"decimal({p},{s})": decimals(p, s) for p, s in ((10, 2), (20, 2), (38, 18), (38, 0))}
SHAPES = (
    "abs",
    "abs strict",
    "difference",
    "sum",
    "sum of both",
    "equal",
    "both ends",
    "flipped",
    "limit of a row",
    "long",
)


def predicate(shape: str, type: str, draft: Draft, limit: Any) -> Expression:
    """A comparison between the columns p and q of the two streams of a draft."""
    one, two = draft.streams
    p, q, r = one["p"], two["p"], one["q"]
    bound = constant(limit, "interval" if type == "timestamp" else type)
    if isinstance(limit, Decimal):
        bound = constant(unscaled(limit), type)
    if shape == "abs":
        return less_or_equal(absolute(subtract(p, q)), bound)
    if shape == "abs strict":
        return less(absolute(subtract(q, p)), bound)
    if shape == "difference":
        return less(subtract(p, q), bound)
    if shape == "both ends":
        return both(less_or_equal(subtract(p, bound), q), less(q, add(p, bound)))
    if shape == "flipped":
        return Call("ge", less_or_equal(add(q, bound), p).arguments, "boolean")
    if shape == "equal":
        return equal(subtract(p, bound), q)
    if shape == "limit of a row":
        return less_or_equal(absolute(subtract(p, q)), subtract(r, p) if type == "timestamp" else r)
    if type == "timestamp":
        return less_or_equal(subtract(p, q), subtract(r, p))
    if shape == "sum":
        return less_or_equal(add(add(p, q), r), bound)
    if shape == "sum of both":
        return both(less_or_equal(bound, add(p, q)), less_or_equal(subtract(add(p, q), r), bound))
    total: Expression = q
    for _ in range(3 if isinstance(limit, Decimal) else 12):
        total = subtract(add(total, p), r)
    return less_or_equal(total, bound)


def unscaled(value: Decimal) -> int:
    sign, digits, _ = value.as_tuple()
    return int("".join(map(str, digits))) * (-1 if sign else 1)


def rows_of(made: JoinPlan, stream: int, values: list[tuple[Any, Any]]) -> Rows:
    types = {column.name: column.type for column in made.streams[stream].columns}
    columns = {}
    for name, type in types.items():
        place = {"p": 0, "q": 1}.get(name.rpartition(".")[2])
        items = [0] * len(values) if place is None else [value[place] for value in values]
        columns[name] = pa.array(items, arrow_type(type))
    return Rows(columns, types, len(values))


def candidates(made: JoinPlan, delta_stream: int, probing: Rows, stored: Rows) -> set[tuple[int, int]]:
    """What the index of the other stream offers the probing rows."""
    stream = 1 - delta_stream
    probe = build_probe(made, (delta_stream,), stream)
    ready = prepare(made, (delta_stream,), probe, probing, Counters())
    index = made.streams[stream].indexes[probe.index]
    assert index.range is not None
    order = sort_positions(index_keys(made, index, stream, stored), range_values(index.range, stored))
    opened = open_index(made, index, stream, stored, order)
    return {
        (int(one), int(two))
        for ranges in search(opened, ready.keys, ready.limits, probing.length)
        for some, places in expand(ranges, 64)
        for one, two in zip(some, opened.rows_at(places), strict=True)
    }


def matches(expression: Expression, probing: Rows, stored: Rows) -> set[tuple[int, int]]:
    """The pairs for which the expression is true, one at a time; one that overflows is no match."""
    found = set()
    for one in range(probing.length):
        for two in range(stored.length):
            pair = Pairs(probing, stored, np.array([one]), np.array([two]))
            try:
                if np.broadcast_to(is_true(evaluate(expression, pair.vector)), (1,))[0]:
                    found.add((one, two))
            except PredicateError:
                continue
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("type", list(VALUES))
def test_no_match_is_outside_the_range(shape: str, type: str) -> None:
    pair = st.tuples(VALUES[type], VALUES[type])

    @settings(max_examples=25, deadline=None)
    @given(st.lists(pair, min_size=1, max_size=6), st.lists(pair, min_size=1, max_size=6), VALUES[type])
    def holds(one: list[tuple[Any, Any]], two: list[tuple[Any, Any]], limit: Any) -> None:
        draft = Draft()
        for name in ("a", "b"):
            draft.stream(name, {"p": type, "q": type}, window_us=None)
        expression = predicate(shape, type, draft, limit)
        draft.on(expression)
        made = build_plan(draft.logical_plan())
        left, right = rows_of(made, 0, one), rows_of(made, 1, two)
        assert matches(expression, left, right) <= candidates(made, 0, left, right)
        assert matches(expression, right, left) <= candidates(made, 1, right, left)

    holds()


@pytest.mark.parametrize("type", list(DECIMALS))
def test_no_match_of_decimals_is_outside_the_range(type: str) -> None:
    """Long decimals are rounded by sums and comparisons; equalities of them are looked up by hashes instead."""
    pair = st.tuples(DECIMALS[type], DECIMALS[type])
    shapes = st.sampled_from([shape for shape in SHAPES if shape != "equal" or type == "decimal(10,2)"])

    @settings(max_examples=40, deadline=None)
    @given(shapes, st.lists(pair, min_size=1, max_size=4), st.lists(pair, min_size=1, max_size=4), DECIMALS[type])
    def holds(shape: str, one: list[tuple[Any, Any]], two: list[tuple[Any, Any]], limit: Any) -> None:
        draft = Draft()
        for name in ("a", "b"):
            draft.stream(name, {"p": type, "q": type}, window_us=None)
        expression = predicate(shape, type, draft, limit)
        assume(all(is_proven(node) for node in walk(expression) if isinstance(node, Call) and is_of_decimals(node)))
        made = build_plan(draft.on(expression).logical_plan())
        left, right = rows_of(made, 0, one), rows_of(made, 1, two)
        assert matches(expression, left, right) <= candidates(made, 0, left, right)
        assert matches(expression, right, left) <= candidates(made, 1, right, left)

    holds()


def test_a_band_of_decimals_is_narrow() -> None:
    draft = Draft()
    one, two = (draft.stream(name, {"p": "decimal(10,2)"}, window_us=None) for name in ("a", "b"))
    draft.on(within(one["p"], two["p"], constant(5, "decimal(2,2)")))
    made = build_plan(draft.logical_plan())
    assert isinstance(made.streams[1].indexes[0].range, Column)
    stored = rows_of(made, 1, [(Decimal(n) / 100, None) for n in range(1000)])
    found = candidates(made, 0, rows_of(made, 0, [(Decimal("5.20"), None)]), stored)
    assert found == {(0, place) for place in range(515, 526)}


@pytest.mark.parametrize("scale", [0, 38])
def test_an_overflow_outside_the_range_is_still_raised(scale: int) -> None:
    """Sums of 38 digits may overflow: then every pair is compared, or a required error would be lost."""
    type, top = f"decimal(38,{scale})", Decimal(10**38 - 1).scaleb(-scale, Context(prec=38))
    draft = Draft()
    one, two = (draft.stream(name, {"p": type}, window_us=None) for name in ("a", "b"))
    draft.on(less_or_equal(add(one["p"], two["p"]), constant(0, type)))
    made = build_plan(draft.logical_plan())
    sums = found_by_lookup(made, [top / -3], [Decimal(0), top / 3, top / 2])
    assert len(sums) == 2
    if scale == 0:
        with pytest.raises(PredicateError, match="did not fit"):
            found_by_lookup(made, [top], [Decimal(0), top])
    else:
        assert found_by_lookup(made, [top], [Decimal(0), top]) == set()


def found_by_lookup(made: JoinPlan, probing: list[Decimal], stored: list[Decimal]) -> set[tuple[int, int]]:
    """The pairs that a lookup of the second stream finds."""
    left, right = rows_of(made, 0, [(p, None) for p in probing]), rows_of(made, 1, [(p, None) for p in stored])
    probe = build_probe(made, (0,), 1)
    index = made.streams[1].indexes[probe.index]
    assert index.range is not None
    right = right.take(sort_positions(None, range_values(index.range, right)))
    segment = StoredSegment(right, (open_index(made, index, 1, right, None),), 0, 0)
    found = match(prepare(made, (0,), probe, left, Counters()), segment, None)
    return {
        (int(a), int(b)) for pairs in found for a, b in zip(pairs.left_positions, pairs.right_positions, strict=True)
    }


@pytest.mark.parametrize(
    ("p", "q", "limit"), [(0.3, 0.2, 0.1), (1.1, 1.0, 0.1), (1e16, 1e16 + 2, 1.0), (0.15, 0.1, 0.05)]
)
def test_bands_that_rounding_decides(p: float, q: float, limit: float) -> None:
    """Taking `abs(p - q) <= d` as a range [p - d, p + d] loses or adds some of these."""
    draft = Draft()
    one, two = (draft.stream(name, {"p": "double"}, window_us=None) for name in ("a", "b"))
    expression = less_or_equal(absolute(subtract(one["p"], two["p"])), constant(limit, "double"))
    made = build_plan(draft.on(expression).logical_plan())
    left, right = rows_of(made, 0, [(p, 0.0)]), rows_of(made, 1, [(q, 0.0)])
    exact = abs(p - q) <= limit
    assert matches(expression, left, right) == ({(0, 0)} if exact else set())
    assert not exact or candidates(made, 0, left, right) == {(0, 0)}


def test_a_band_is_narrow() -> None:
    """A superset, but not everything: far values are no candidates."""
    draft = Draft()
    one, two = (draft.stream(name, {"p": "double"}, window_us=None) for name in ("a", "b"))
    draft.on(less_or_equal(absolute(subtract(one["p"], two["p"])), Constant(0.5, "double")))
    made = build_plan(draft.logical_plan())
    assert isinstance(made.streams[1].indexes[0].range, Column)
    stored = rows_of(made, 1, [(float(n), None) for n in range(100)])
    assert candidates(made, 0, rows_of(made, 0, [(50.2, None)]), stored) == {(0, 50)}


def test_a_long_sum_loses_no_match_to_the_rounding_of_every_addition() -> None:
    """Each addition of 2^-53 to 1 is lost in the sum, but not in the range solved for its first term."""
    draft = Draft()
    one, two = (draft.stream(name, {"p": "double", "q": "double"}, window_us=None) for name in ("a", "b"))
    total: Expression = two["p"]
    for _ in range(60):
        total = add(total, one["p"])
    expression = both(less_or_equal(total, one["q"]), less_or_equal(constant(-5.0, "double"), add(one["p"], two["p"])))
    made = build_plan(draft.on(expression).logical_plan())
    left, right = rows_of(made, 0, [(2.0**-53, 1.0)]), rows_of(made, 1, [(1.0, 0.0)])
    assert matches(expression, left, right) == candidates(made, 0, left, right) == {(0, 0)}
