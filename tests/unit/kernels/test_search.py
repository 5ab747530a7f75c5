"""Sorted indexes against brute force: every candidate once, none left out, at the extremes of every type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.kernels.limits import Limits
from braid.kernels.ordering import SortedIndex, sort_positions
from braid.kernels.search import Ranges, _find_groups, expand, search
from tests.unit.kernels.numbers import TYPES, numbers_of

ENDS = st.one_of(st.just(math.nan), st.floats(allow_nan=False, allow_infinity=False), st.integers(-4, 4).map(float))


def index_of(keys: list[int] | None, numbers: np.ndarray) -> tuple[SortedIndex, np.ndarray]:
    whole = None if keys is None else np.array(keys, np.int64)
    order = sort_positions(whole, numbers)
    return SortedIndex(len(numbers), None if whole is None else whole[order], numbers[order], order), order


def found(index: SortedIndex, keys: np.ndarray | None, limits: Limits, most: int) -> list[tuple[int, int]]:
    probes = len(limits.lower)
    return [
        (int(probe), int(row))
        for ranges in search(index, keys, limits, probes)
        for some, places in expand(ranges, most)
        for probe, row in zip(some, index.rows_at(places), strict=True)
    ]


def inside(number: Any, lower: float, upper: float) -> bool:
    """Whether the number itself satisfies the limits, compared exactly; what is not finite always may."""
    if isinstance(number, float) and math.isnan(number):
        return True
    return (math.isnan(lower) or number >= lower) and (math.isnan(upper) or number <= upper)


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("keyed", [False, True])
def test_no_match_is_left_out_and_none_is_given_twice(dtype: str, keyed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.kernels.search.MIN_GROUP_TO_BISECT", 0)

    @settings(max_examples=120, deadline=None)
    @given(st.lists(st.tuples(st.integers(0, 3), TYPES[dtype]), max_size=25), st.data())
    def holds(rows: list[tuple[int, Any]], data: st.DataObject) -> None:
        limits = data.draw(st.lists(st.tuples(st.integers(0, 3), ENDS, ENDS), min_size=1, max_size=6))
        numbers = numbers_of([number for _, number in rows], dtype)
        index, _ = index_of([key for key, _ in rows] if keyed else None, numbers)
        keys = np.array([key for key, _, _ in limits], np.int64) if keyed else None
        ends = Limits(np.array([low for _, low, _ in limits]), np.array([high for _, _, high in limits]))
        pairs = found(index, keys, ends, data.draw(st.integers(1, 9)))
        assert len(pairs) == len(set(pairs))
        for probe, (key, lower, upper) in enumerate(limits):
            for row, (own, _) in enumerate(rows):
                if (not keyed or own == key) and inside(numbers[row].item(), lower, upper):
                    assert (probe, row) in pairs
                if keyed and own != key:
                    assert (probe, row) not in pairs

    holds()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=12), st.integers(1, 40))
def test_expanding_gives_every_place_of_every_range_in_bounded_pieces(ranges: list[tuple[int, int]], most: int) -> None:
    start = np.array([first for first, _ in ranges], np.int64)
    stop = start + np.array([count for _, count in ranges], np.int64)
    pieces = list(expand(Ranges(start, stop), most))
    assert all(0 < len(probes) == len(places) <= most for probes, places in pieces)
    pairs = [(int(p), int(q)) for probes, places in pieces for p, q in zip(probes, places, strict=True)]
    assert pairs == [(n, place) for n, (first, count) in enumerate(ranges) for place in range(first, first + count)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(-3, 12), max_size=40),
    st.lists(st.integers(-4, 13), max_size=20),
    st.booleans(),
    st.booleans(),
)
def test_keys_are_found_alike_whether_distinct_keys_or_all_rows_are_searched(
    stored: list[int], probing: list[int], repeat: bool, only_some: bool
) -> None:
    keys, probes = np.sort(np.array(stored, np.int64)), np.array(probing, np.int64)
    among = np.arange(0, len(probes), 2) if only_some else None
    index = SortedIndex(len(keys), keys, None, None)
    index.__dict__["keys_repeat"] = repeat
    ranges = _find_groups(index, probes, among)
    assert ranges.rows is not None
    got = {
        int(row): (int(start), int(stop))
        for row, start, stop in zip(ranges.rows, ranges.start, ranges.stop, strict=True)
    }
    assert got == {
        row: (stored_before, stored_before + stored.count(key))
        for row, key in enumerate(probing)
        if key in stored and (among is None or row % 2 == 0)
        for stored_before in [sum(other < key for other in stored)]
    }


@pytest.mark.parametrize(("rows_per_key", "repeat"), [(1, False), (3, True)])
def test_whether_keys_repeat_is_judged_by_a_sample(rows_per_key: int, repeat: bool) -> None:
    keys = np.repeat(np.arange(20_000), rows_per_key)
    assert SortedIndex(len(keys), keys, None, None).keys_repeat is repeat
    assert not SortedIndex(1, keys[:1], None, None).keys_repeat
