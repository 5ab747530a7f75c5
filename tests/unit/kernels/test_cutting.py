"""Slices of sorted runs: every row once, in order, about even, however many rows are equal."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.kernels import cutting
from braid.kernels.cutting import slice_starts
from braid.kernels.ordering import SortedIndex, sort_positions
from tests.unit.kernels.numbers import TYPES, numbers_of

Row = tuple[int, float]


def run_of(rows: list[Row], with_keys: bool, with_numbers: bool) -> SortedIndex:
    keys, numbers = np.array([key for key, _ in rows], np.int64), numbers_of([n for _, n in rows], "float64")
    order = sort_positions(keys if with_keys else None, numbers)
    return SortedIndex(len(rows), keys[order] if with_keys else None, numbers[order] if with_numbers else None, None)


def rank(index: SortedIndex, place: int) -> tuple[int, bool, float]:
    key = 0 if index.keys is None else int(index.keys[place])
    number = 0.0 if index.numbers is None else float(index.numbers[place])
    return key, number != number, 0.0 if number != number else number


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(-2, 2), TYPES["float64"]), max_size=15), min_size=1, max_size=5),
    st.integers(1, 6),
    st.sampled_from([(True, True), (True, False), (False, True)]),
)
def test_every_row_is_in_one_slice_and_slices_are_in_order(
    rows: list[list[Row]], slices: int, columns: tuple[bool, bool]
) -> None:
    runs = [run_of(own, *columns) for own in rows]
    starts = [slice_starts(runs, [run.length for run in runs], number, slices) for number in range(slices + 1)]
    assert starts[0] == [0] * len(runs)
    assert starts[-1] == [run.length for run in runs]
    greatest = None
    for before, after in pairwise(starts):
        assert all(start <= stop for start, stop in zip(before, after, strict=True))
        own = [
            rank(run, place)
            for run, start, stop in zip(runs, before, after, strict=True)
            for place in range(start, stop)
        ]
        assert greatest is None or not own or greatest <= min(own)
        greatest = max(own, default=greatest)


@pytest.mark.parametrize("distinct", [1, 3, 1_000_000])
def test_slices_are_even_even_if_all_rows_are_equal(distinct: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "SAMPLES", 512)
    chance = np.random.default_rng(distinct)
    runs = [
        SortedIndex(rows, np.sort(chance.integers(0, distinct, rows)), np.zeros(rows, np.int64), None)
        for rows in (10_000, 5_000, 100, 0, 20_000)
    ]
    ends = [sum(slice_starts(runs, [run.length for run in runs], number, 7)) for number in range(8)]
    assert all(abs((stop - start) - 35_100 / 7) < 35_100 * 5 / 512 for start, stop in pairwise(ends))
