"""Changes of groups over time: ranges of any type of value, against plain loops."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.errors import PredicateError
from braid.kernels.aggregate.aggregation import TIME, unit_rows
from braid.kernels.aggregate.changes import SMALLEST, Clock, changes
from braid.kernels.aggregate.spans import Spans, fold, sum_whole
from braid.plan.aggregation import Aggregation, Call, Function


def random_spans(chance: random.Random, rows: int, count: int) -> Spans:
    edges = [sorted(chance.randint(0, rows) for _ in range(2)) for _ in range(count)]
    return Spans(np.array([first for first, _ in edges]), np.array([last for _, last in edges]))


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 64, 100])
def test_ranges_come_to_what_their_rows_do(rows: int) -> None:
    chance = random.Random(rows)
    values = np.array([chance.randint(-9, 9) for _ in range(rows)], np.int64)
    spans = random_spans(chance, rows, 50)
    parts = [values[first:last].tolist() for first, last in zip(spans.start, spans.stop, strict=True)]
    assert sum_whole(values, spans).tolist() == [sum(part) for part in parts]
    assert sum_whole(values.astype(object), spans).tolist() == [sum(part) for part in parts]
    assert fold(values.astype(float), spans, np.add, 0.0).tolist() == [sum(part) for part in parts]
    assert fold(values, spans, np.minimum, 99).tolist() == [min(part, default=99) for part in parts]


def test_a_range_is_put_together_from_left_to_right() -> None:
    letters = np.array(list("abcdefghijk"), object)
    spans = Spans(np.array([0, 3, 5, 2]), np.array([11, 10, 5, 3]))
    assert fold(letters, spans, np.add, "").tolist() == ["abcdefghijk", "defghij", "", "c"]


def test_equal_rows_come_to_the_same_bits_wherever_they_lie() -> None:
    values = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    first, second = fold(values, Spans(np.array([0, 3]), np.array([3, 6])), np.add, 0.0)
    assert first.tobytes() == second.tobytes()


def history(values: list[Any], kind: pa.DataType, wanted: pa.DataType, function: Function) -> list[Any]:
    """The changes of one group whose result at every time brings one value."""
    schema = pa.schema([("value", wanted)])
    summary = Aggregation(0, (Call(function, (0,)),), None, "batched", "result", True, schema, ordered=True)
    times = pa.array(range(len(values)), pa.int64())
    results = pa.RecordBatch.from_arrays([pa.array(values, kind), times], names=["value", TIME])
    (fresh,) = unit_rows(summary, results)
    found, when = changes(summary, fresh.slice(0, 0), fresh, Clock(np.zeros(0, np.int64), None), {})
    assert found.schema == schema
    return list(zip(found.column(0).to_pylist(), when.tolist(), strict=True))


DECIMAL = pa.decimal128(10, 2)


@pytest.mark.parametrize(
    ("values", "kind", "wanted", "function", "expected"),
    [
        ([True, False, None, True], pa.bool_(), pa.bool_(), "min", [(True, 0), (False, 1)]),
        ([None, b"b", b"a\xff"], pa.binary(), pa.binary(), "max", [(None, 0), (b"b", 1)]),
        (["b", None, "ä", "z"], pa.string(), pa.string(), "max", [("b", 0), ("ä", 2)]),
        ([Decimal("1.50"), Decimal("-2.25")], DECIMAL, DECIMAL, "min", [(Decimal("1.50"), 0), (Decimal("-2.25"), 1)]),
        (
            [Decimal("1.50"), None, Decimal(0), Decimal("-2.25")],
            DECIMAL,
            pa.decimal128(20, 2),
            "sum",
            [(Decimal("1.50"), 0), (Decimal("-0.75"), 3)],
        ),
        ([2.0, 2.0, float("inf"), 1.0], pa.float64(), pa.float64(), "avg", [(2.0, 0), (float("inf"), 2)]),
        ([0.0, None, 1e308, 1e308], pa.float64(), pa.float64(), "sum", [(0.0, 0), (1e308, 2), (float("inf"), 3)]),
        ([1 << 62, -(1 << 62), 7], pa.int64(), pa.int64(), "sum", [(1 << 62, 0), (0, 1), (7, 2)]),
    ],
)
def test_values_of_every_type_change(
    values: list[Any], kind: pa.DataType, wanted: pa.DataType, function: Function, expected: list[Any]
) -> None:
    assert history(values, kind, wanted, function) == expected


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_that_overflows_on_the_way_is_refused(sign: int) -> None:
    with pytest.raises(PredicateError, match="a sum overflowed"):
        history([sign * (1 << 62), sign * (1 << 62) + sign, -sign * (1 << 62)], pa.int64(), pa.int64(), "sum")


def test_times_at_the_edge_of_what_64_bits_hold_neither_wrap_nor_expire() -> None:
    clock = Clock(np.array([SMALLEST, 0, -SMALLEST - 1]), 10)
    lost, when = clock.losses(np.array([SMALLEST, -11, 0, -SMALLEST - 2]))
    assert (lost.tolist(), when.tolist()) == ([True, True, True, False], [0, 0, -SMALLEST - 1])
    assert clock.since(np.array([SMALLEST + 3, 10])).tolist() == [SMALLEST, 0]
