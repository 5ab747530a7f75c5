"""Samples of keys: the frequent ones are found, and keys that come in turn are not taken for frequent."""

from __future__ import annotations

import numpy as np
import pytest

from braid.kernels.sampling import SAMPLE_ROWS, frequent_keys, sample_places


def test_a_sample_finds_frequent_keys_and_no_others() -> None:
    random = np.random.default_rng(5)
    keys = random.permutation(np.concatenate([np.full(38_000, 7), np.arange(100, 62_100)])).astype(np.int64)
    ((key, rows, place),) = frequent_keys(keys)
    assert key == 7
    assert keys[place] == 7
    assert rows == pytest.approx(38_000, rel=0.06)
    assert frequent_keys(np.array([5, 5, 5, 5, 9, 9], np.int64)) == [(5, 4.0, 0)]
    assert frequent_keys(np.zeros(0, np.int64)) == []


@pytest.mark.parametrize("period", [2, 8, 64, 1000])
def test_keys_that_come_in_turn_are_not_taken_for_hot(period: int) -> None:
    keys = np.arange(524_288, dtype=np.int64) % period
    places = sample_places(len(keys))
    assert len(places) == SAMPLE_ROWS
    largest = np.bincount(keys[places]).max() / SAMPLE_ROWS
    assert largest < 1.5 / period + 0.002
