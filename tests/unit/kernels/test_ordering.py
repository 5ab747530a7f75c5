"""Sort orders: by unit, then key, then number, NaN last."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.kernels.ordering import sort_positions
from tests.unit.kernels.numbers import TYPES, numbers_of


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-2, 2), TYPES["float64"]), max_size=20),
    st.booleans(),
    st.booleans(),
)
def test_sorting_is_by_unit_then_key_then_number_with_nan_last(
    rows: list[tuple[int, int, float]], with_units: bool, with_keys: bool
) -> None:
    units = np.array([unit for unit, _, _ in rows], np.int64)
    keys = np.array([key for _, key, _ in rows], np.int64)
    numbers = numbers_of([number for _, _, number in rows], "float64")
    order = sort_positions(keys if with_keys else None, numbers, units if with_units else None)
    got = [
        (u if with_units else 0, k if with_keys else 0, n)
        for u, k, n in zip(units[order], keys[order], numbers[order], strict=True)
    ]
    ranked = [(int(u), int(k), math.isnan(n), 0.0 if math.isnan(n) else float(n)) for u, k, n in got]
    assert ranked == sorted(ranked)
    assert sorted(order.tolist()) == list(range(len(rows)))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(-3, 3), TYPES["float64"]), min_size=1, max_size=12), min_size=1, max_size=5
    ),
    st.integers(0, 2),
)
def test_sorted_runs_are_merged_as_one_sort_of_all_columns_would(
    runs: list[list[tuple[int, float]]], units: int
) -> None:
    keys, numbers = [], []
    for run in runs:
        own, values = np.array([key for key, _ in run], np.int64), numbers_of([number for _, number in run], "float64")
        order = np.lexsort((values, own))
        keys.append(own[order])
        numbers.append(values[order])
    whole, values = np.concatenate(keys), np.concatenate(numbers)
    places = np.arange(len(whole)) % (units + 1)
    assert sort_positions(whole, values, places).tolist() == np.lexsort((values, whole, places)).tolist()


def test_units_beyond_sixteen_bits_are_sorted_too() -> None:
    places = np.array([1 << 40, 3, 1 << 15, 3], np.int64)
    assert sort_positions(None, None, places).tolist() == [1, 3, 2, 0]
    assert sort_positions(np.array([1, 2, 3, 1]), None, places).tolist() == [3, 1, 2, 0]
