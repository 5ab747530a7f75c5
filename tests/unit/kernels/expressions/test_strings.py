"""Functions of strings against Python's own, and by characters of broken UTF-8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.expressions.vectors import Vector, to_vector
from braid.plan.expressions import Call, Column, Constant, Expression, Function

A, B = Column("a", 0, "string"), Column("b", 0, "string")
TEXTS = st.lists(st.tuples(st.text("abß😀 ", max_size=9), st.text("abß😀 ", max_size=9)), min_size=1, max_size=9)


def values_of(expression: Expression, **columns: list[Any]) -> list[Any]:
    vectors = {name: to_vector(pa.array(values, pa.string()), "string") for name, values in columns.items()}
    found = evaluate(expression, vectors.__getitem__)
    if isinstance(found.values, pa.Array):
        return list(found.values.to_pylist())
    valid = np.broadcast_to(True if found.valid is None else found.valid, found.values.shape)
    return [value if known else None for value, known in zip(found.values.tolist(), valid.tolist(), strict=True)]


def call(function: Function, *arguments: Expression, type: str = "int") -> Call:
    return Call(function, arguments, type)


def distance(left: str, right: str) -> int:
    line = list(range(len(right) + 1))
    for number, one in enumerate(left):
        above, line = line, [number + 1]
        for place, other in enumerate(right):
            line.append(min(line[-1] + 1, above[place + 1] + 1, above[place] + (one != other)))
    return line[-1]


@settings(deadline=None, max_examples=60)
@given(TEXTS, st.integers(-5, 5), st.integers(-2, 5))
def test_functions_equal_those_of_python(pairs: list[tuple[str, str]], position: int, length: int) -> None:
    left, right = [one for one, _ in pairs], [other for _, other in pairs]
    expected: dict[Function, list[Any]] = {
        "starts_with": [one.startswith(other) for one, other in pairs],
        "ends_with": [one.endswith(other) for one, other in pairs],
        "levenshtein": [distance(one, other) for one, other in pairs],
    }
    assert {name: values_of(call(name, A, B), a=left, b=right) for name in expected} == expected
    assert values_of(call("concat", A, B, type="string"), a=left, b=right) == [one + other for one, other in pairs]
    assert values_of(call("length", A), a=left) == [len(one) for one in left]
    assert values_of(call("trim", A, type="string"), a=left) == [one.strip(" ") for one in left]
    part = call("substring", A, Constant(position, "int"), Constant(length, "int"), type="string")
    starts = [position - 1 if position > 0 else len(one) + position if position < 0 else 0 for one in left]
    stops = [start + max(length, 0) for start in starts]
    cuts = [one[max(start, 0) : max(stop, 0)] for one, start, stop in zip(left, starts, stops, strict=True)]
    assert values_of(part, a=left) == cuts


@pytest.mark.parametrize("sizes", [(0, 70), (64, 64), (65, 64), (63, 200), (80, 90)])
def test_distances_of_long_strings(sizes: tuple[int, int]) -> None:
    generator = np.random.default_rng(7)
    left, right = ("".join(generator.choice(list("abé"), size)) for size in sizes)
    assert values_of(call("levenshtein", A, B), a=[left, right, None], b=[right, right, left]) == [
        distance(left, right), 0, None
    ]  # fmt: skip


def test_bytes_that_are_no_text_are_characters_of_their_own() -> None:
    raw = pa.array([b"\xff\x80a", b"\xc3\xa9b", b"\xe2\x82\xac\xff", b""], pa.binary()).view(pa.string())
    vectors = {"a": Vector(raw)}
    assert evaluate(call("length", A), vectors.__getitem__).values.tolist() == [3, 2, 2, 0]
    part = call("substring", A, Constant(2, "int"), Constant(1, "int"), type="string")
    cut = evaluate(part, vectors.__getitem__).values
    assert cut.view(pa.binary()).to_pylist() == [b"\x80", b"b", b"\xff", b""]


def test_a_slice_of_a_column_is_read_where_it_is() -> None:
    column = pa.array(["zz", "ab", None, "ß"]).slice(1)
    vectors = {"a": to_vector(column, "string")}
    assert evaluate(call("length", A), vectors.__getitem__).values[[0, 2]].tolist() == [2, 1]
    found = evaluate(call("substring", A, Constant(1, "int"), Constant(1, "int"), type="string"), vectors.__getitem__)
    assert found.values.to_pylist() == ["a", None, "ß"]
