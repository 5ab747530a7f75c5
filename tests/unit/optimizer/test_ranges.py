"""Ranges hold every match: the exact comparison on all pairs finds nothing outside the candidates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.errors import PredicateError
from braid.kernels.expressions.evaluate import evaluate, is_true
from braid.kernels.keys import index_keys
from braid.kernels.ordering import open_index, range_values, sort_positions
from braid.kernels.probing import Counters, prepare
from braid.kernels.rows import Pairs, Rows
from braid.kernels.search import expand, search
from braid.optimizer.build import build_plan
from braid.optimizer.join_orders import build_probe
from braid.plan.expressions import Call, Column, Constant, Expression
from braid.plan.join import JoinPlan
from braid.testing import Draft, absolute, add, both, constant, equal, less, less_or_equal, subtract
from braid.testing.drafts import ARROW_TYPES

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
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "double": DOUBLES,
    "float": FLOATS,
    "int": st.one_of(st.integers(-9, 9), st.sampled_from([2**31 - 1, -(2**31)])),
    "bigint": st.one_of(st.integers(-9, 9), st.integers(-(2**62), 2**62), st.sampled_from([2**53, 2**53 + 1])),
    "timestamp": st.one_of(st.integers(-9, 9), st.integers(-(2**58), 2**58)),
}
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
    if shape == "abs":
        return less_or_equal(absolute(subtract(p, q)), bound)
    if shape == "abs strict":
        return less(absolute(subtract(q, p)), bound)
    if shape == "difference":
        return less(subtract(p, q), bound)
    if shape == "both ends":
        return both(less_or_equal(subtract(p, bound), q), less(q, add(p, bound)))
    if shape == "flipped":
        return Call("ge", (add(q, bound), p), "boolean")
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
    for _ in range(12):
        total = subtract(add(total, p), r)
    return less_or_equal(total, bound)


def rows_of(made: JoinPlan, stream: int, values: list[tuple[Any, Any]]) -> Rows:
    types = {column.name: column.type for column in made.streams[stream].columns}
    columns = {}
    for name, type in types.items():
        place = {"p": 0, "q": 1}.get(name.rpartition(".")[2])
        items = [0] * len(values) if place is None else [value[place] for value in values]
        columns[name] = pa.array(items, ARROW_TYPES[type])
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
