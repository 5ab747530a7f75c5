"""Rows counted in their final order, against sorting and counting in plain Python."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.kernels.ranks import make_rank_index, rank_order


def in_order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key by which Python sorts as Spark does: NULL first, NaN above every number."""
    known = [(0, 0) if v is None else (2, 0) if isinstance(v, float) and math.isnan(v) else (1, v) for v in row]
    return tuple(known)


def some_rows(chance: random.Random, count: int) -> list[tuple[Any, ...]]:
    return [
        (
            chance.randint(0, 6),
            chance.choice((None, -1, 0, 7)),
            chance.choice((None, math.nan, -0.5, 2.0, math.inf)),
            chance.choice((None, "", "a", "ä", "b")),
            chance.choice((None, True, False)),
        )
        for _ in range(count)
    ]


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    types = (pa.int64(), pa.int32(), pa.float64(), pa.string(), pa.bool_())
    columns = list(zip(*rows, strict=True))
    return pa.table({f"c{n}": pa.array(columns[n], kind) for n, kind in enumerate(types)})


@pytest.mark.parametrize("seed", range(20))
def test_rows_line_up_by_time_and_then_by_all_their_values(seed: int) -> None:
    rows = some_rows(random.Random(seed), 60)
    times = np.array([row[0] for row in rows])
    order = rank_order(times, table_of(rows))
    assert [in_order(rows[n]) for n in order] == sorted(map(in_order, rows))


@pytest.mark.parametrize("seed", range(20))
def test_a_rank_index_admits_the_last_rows_at_any_time(seed: int) -> None:
    chance = random.Random(seed)
    rows, count = some_rows(chance, 40), chance.randint(1, 9)
    ids = np.array(chance.sample(range(1000), len(rows)))
    order = rank_order(np.array([row[0] for row in rows]), table_of(rows))
    rank_index = make_rank_index(np.array([rows[n][0] for n in order]), ids[order], count)
    for time in range(-1, 8):
        admitted = rank_index.admits(ids, np.full(len(ids), time))
        present = sorted(in_order(row) for row in rows if row[0] <= time)[-count:]
        newest = sorted(in_order(row) for row, inside in zip(rows, admitted, strict=True) if inside and row[0] <= time)
        assert newest == present
    assert not rank_index.admits(np.array([5000]), np.array([7])).any()
