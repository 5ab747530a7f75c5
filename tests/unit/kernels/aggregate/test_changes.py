"""Changes of groups over time: ranges of any type of value, against plain loops."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.errors import PredicateError
from braid.kernels import sizes
from braid.kernels.aggregate.aggregation import add_up, unit_rows
from braid.kernels.aggregate.changes import SMALLEST, Clock, changes
from braid.kernels.aggregate.columns import TIME
from braid.plan.aggregation import Aggregation, Call, Function


def history(values: list[Any], kind: pa.DataType, wanted: pa.DataType, function: Function) -> list[Any]:
    """The changes of one group whose result at every time brings one value."""
    schema = pa.schema([("value", wanted)])
    aggregation = Aggregation(0, (Call(function, (0,)),), None, "batched", "result", True, schema, ordered=True)
    times = pa.array(range(len(values)), pa.int64())
    results = pa.RecordBatch.from_arrays([pa.array(values, kind), times], names=["value", TIME])
    (fresh,) = unit_rows(aggregation, results)
    ((found, when),) = changes(aggregation, fresh.slice(0, 0), fresh, Clock(np.zeros(0, np.int64), None), {})
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


def test_rows_are_emitted_in_pieces_although_they_repeat_one_group_and_one_extreme(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand changes of a group of 1 kB, with the same extreme of 1 kB, in pieces of some rows each."""
    schema = pa.schema([("group", pa.string()), ("most", pa.string()), ("rows", pa.int64())])
    calls = (Call("max", (1,)), Call("count", ()))
    aggregation = Aggregation(1, calls, None, "batched", "result", True, schema, ordered=True)
    count, group, value = 1000, "g" * 1000, "v" * 1000
    columns = [pa.array([group] * count), pa.array([value] * count), pa.array(range(count), pa.int64())]
    results = pa.RecordBatch.from_arrays(columns, names=["group", "value", TIME])
    monkeypatch.setattr(sizes, "PIECE_BYTES", 20_000)
    (fresh,) = unit_rows(aggregation, results)
    fresh = add_up(aggregation, 0, [fresh], by_time=True)
    assert max(chunk.nbytes for chunk in fresh["g0"].chunks) < 40_000
    pieces = list(changes(aggregation, fresh.slice(0, 0), fresh, Clock(np.zeros(0, np.int64), None), {}))
    assert max(rows.nbytes for rows, _ in pieces) <= 20_000
    emitted = {int(time): row for rows, times in pieces for time, row in zip(times, rows.to_pylist(), strict=True)}
    assert emitted == {n: {"group": group, "most": value, "rows": n + 1} for n in range(count)}
