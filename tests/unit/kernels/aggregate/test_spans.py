"""Values folded over ranges of rows, against plain loops."""

from __future__ import annotations

import random

import numpy as np
import pytest

from braid.kernels.aggregate.spans import Spans, fold, sum_whole


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
