"""The input of the paper on adapting state, against its formulas, by counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from braid.kernels.keys import buckets
from experiments.dcape.input import (
    Input,
    Numbers,
    alternating_load,
    even_load,
    group_values,
    rows_of_steps,
    steps_of,
    thirds,
)


def rows_until(source: Input, counts: Numbers) -> list[list[tuple[int, int]]]:
    """All rows of each stream: group and value."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(source.streams)]
    for step in steps_of(source, counts):
        for rows, (groups, values) in zip(found, step, strict=True):
            rows += zip(groups.tolist(), values.tolist(), strict=True)
    return found


def whole_ranges(source: Input, ranges: int) -> Numbers:
    """One step per range."""
    return np.tile(source.rows_of_groups, (ranges, 1))


@pytest.mark.parametrize("ratio", [1, 2, 3, 4])
def test_each_value_occurs_ratio_times_in_each_range_of_each_stream(ratio: int) -> None:
    source = Input(360, (ratio,) * 10, seed=3)
    for step in steps_of(source, whole_ranges(source, 3)):
        for groups, values in step:
            occurrences = Counter(zip(groups.tolist(), values.tolist(), strict=True))
            assert set(occurrences.values()) == {ratio}
            assert len(occurrences) == 360 // ratio


@pytest.mark.parametrize(("ratio", "ranges"), [(1, 1), (2, 1), (2, 2), (3, 3), (4, 2)])
def test_a_row_after_n_ranges_finds_the_square_of_n_times_the_ratio(ratio: int, ranges: int) -> None:
    """The paper's example: with ratio 2 a row finds 4 results in the first range and 16 in the second."""
    source = Input(240, (ratio,) * 5, seed=1)
    first, second, third = rows_until(source, whole_ranges(source, ranges))
    counted = [Counter(rows) for rows in (second, third)]
    assert {counted[0][row] * counted[1][row] for row in first} == {(ranges * ratio) ** 2}


def test_groups_of_equal_size_find_results_by_the_square_of_their_ratio() -> None:
    """n ranges of a group with r rows per value: rows · r² · n³ results, counted value by value."""
    source = Input(720, thirds(6, (4, 2, 1)), seed=5)
    assert source.ratios == (4, 2, 1, 4, 2, 1)
    rows = rows_until(source, whole_ranges(source, 2))
    counted = [Counter(one) for one in rows]
    found = np.zeros(6, np.int64)
    for row in counted[0]:
        found[row[0]] += np.prod([one[row] for one in counted])
    assert np.bincount([group for group, _ in rows[0]]).tolist() == [240] * 6
    assert found.tolist() == [120 * ratio**2 * 2**3 for ratio in source.ratios]


def test_a_ratio_that_does_not_divide_the_rows_makes_the_range_shorter() -> None:
    source = Input(1_000, (3,) * 10)
    assert source.rows_of_groups.tolist() == [99] * 10


def test_the_rows_of_a_group_are_the_same_in_any_steps() -> None:
    source = Input(300, (1, 2, 3), seed=8)
    whole = rows_until(source, np.array([[250, 120, 7]]))
    pieces = rows_until(source, np.array([[100, 0, 3], [0, 0, 0], [1, 119, 4], [149, 1, 0]]))
    for stream in range(3):
        for group in range(3):
            one, other = ([v for g, v in rows[stream] if g == group] for rows in (whole, pieces))
            assert one == other


def test_streams_and_seeds_have_other_orders() -> None:
    source, other = Input(300, (1,), seed=1), Input(300, (1,), seed=2)
    orders = [source.sequence(stream, 0, 0, 300).tolist() for stream in range(3)] + [
        other.sequence(0, 0, 0, 300).tolist()
    ]
    assert len({tuple(order) for order in orders}) == 4
    assert all(sorted(order) == list(range(300)) for order in orders)


def test_even_load_gives_every_group_its_share() -> None:
    counts = rows_of_steps(even_load(7, 50), rows=10)
    assert counts.min() >= 0
    assert np.abs(counts.sum(axis=0) - 500 / 7).max() <= 0.5
    assert np.abs(np.cumsum(counts, axis=0) - np.arange(1, 51)[:, None] * 10 / 7).max() <= 0.5


def test_alternating_load_is_ten_to_one_and_changes_sides() -> None:
    first = np.array([True, True, False, False])
    counts = rows_of_steps(alternating_load(first, steps=35, factor=10, first_steps=5, then_steps=10), rows=2_200)
    for start, end, heavy in ((0, 5, first), (5, 15, ~first), (15, 25, first), (25, 35, ~first)):
        turn = counts[start:end].sum(axis=0)
        assert turn[heavy].tolist() == [1_000 * (end - start)] * 2
        assert turn[~heavy].tolist() == [100 * (end - start)] * 2


def test_join_values_belong_to_the_groups_of_the_query() -> None:
    source = Input(300, (1, 2, 3) * 4, seed=8)
    found = group_values(source, lambda values: buckets(values, 12))
    assert [len(values) for values in found] == source.values_of_groups.tolist()
    for group, values in enumerate(found):
        assert set(buckets(values, 12).tolist()) == {group}
        assert len(set(values.tolist())) == len(values)
