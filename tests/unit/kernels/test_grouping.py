"""Partition groups: even ranges of hashes, and keys that are sorted by group first."""

from __future__ import annotations

import numpy as np
import pytest

from braid.kernels.grouping import by_group, groups_of_hashes, groups_of_keys, key_hashes

KEYS = np.random.default_rng(7).integers(-(2**63), 2**63 - 1, 50_000)


@pytest.mark.parametrize("count", [1, 2, 7, 300, 1 << 15])
def test_sorted_hashes_are_sorted_by_group(count: int) -> None:
    hashes = np.sort(key_hashes(KEYS))
    groups = groups_of_hashes(hashes, count)
    assert (np.diff(groups) >= 0).all()
    assert 0 <= groups[0] <= groups[-1] < count


def test_groups_have_even_shares_of_adjacent_keys() -> None:
    counts = np.bincount(groups_of_keys(np.arange(300_000), 300), minlength=300)
    assert counts.min() > 850
    assert counts.max() < 1150


def test_hashes_of_different_keys_differ() -> None:
    assert len(np.unique(key_hashes(np.arange(-50_000, 50_000)))) == 100_000


def test_a_key_of_several_parts_has_the_group_of_the_common_one() -> None:
    other = np.random.default_rng(8).integers(-9, 9, len(KEYS))
    for parts, common in (([KEYS, other], 0), ([other, KEYS], 1), ([KEYS], 0)):
        combined = by_group(parts, common)
        assert (groups_of_hashes(combined, 300) == groups_of_keys(KEYS, 300)).all()
    assert (by_group([KEYS, other], 0) != by_group([KEYS, other + 1], 0)).all()
