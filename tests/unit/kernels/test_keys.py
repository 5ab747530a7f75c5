"""Keys of values: equal for equal values only, and the same wherever the values stand."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.kernels.keys import buckets, combine, value_keys
from tests.unit.kernels.numbers import TYPES


@settings(deadline=None)
@given(st.lists(TYPES["float64"], min_size=1), st.sampled_from(["float64", "float32"]))
def test_equal_numbers_have_equal_keys_and_different_ones_different(values: list[float], dtype: str) -> None:
    with np.errstate(over="ignore"):
        numbers = np.array(values).astype(dtype)
    before = numbers.copy()
    keys = value_keys(numbers)
    assert np.array_equal(before, numbers, equal_nan=True)
    for one, key in zip(numbers, keys, strict=True):
        same = np.isnan(numbers) if np.isnan(one) else numbers == one
        assert np.array_equal(keys == key, same)


@settings(deadline=None)
@given(st.lists(st.tuples(TYPES["int64"], TYPES["int64"]), min_size=1), st.integers(1, 9))
def test_combined_keys_and_buckets_depend_on_values_only(rows: list[tuple[int, int]], count: int) -> None:
    left, right = (np.array([row[n] for row in rows], np.int64) for n in (0, 1))
    mixed = combine([left, right])
    for n, row in enumerate(rows):
        alone = combine([np.array([row[0]], np.int64), np.array([row[1]], np.int64)])
        assert mixed[n] == alone[0]
    assert set(buckets(mixed, count).tolist()) <= set(range(count))
    assert len(set(mixed.tolist())) == len(set(rows))
