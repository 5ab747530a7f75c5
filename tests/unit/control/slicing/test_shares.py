"""Shares of slices: even loads wherever rings allow them, longer rings where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from braid.control.slicing.shares import Ring, even_shares, imbalance, rings_for, unit_loads, weights_of
from braid.plan.layout import Slicing

UNITS = 6


def total(rings: list[Ring], loads: list[float]) -> np.ndarray:
    found = np.zeros(UNITS)
    for ring, share, load in zip(rings, even_shares(rings, loads, UNITS), loads, strict=True):
        assert share.sum() == pytest.approx(1.0)
        assert (share >= 0).all()
        found[ring.members(UNITS)] += load * share
    return found


@given(
    loads=st.lists(st.floats(0.0, 100.0), min_size=1, max_size=5),
    rings=st.lists(st.tuples(st.integers(0, UNITS - 1), st.integers(1, UNITS)), min_size=5, max_size=5),
)
def test_no_load_could_go_to_a_unit_with_less(loads: list[float], rings: list[tuple[int, int]]) -> None:
    """Which is what makes the fullest unit as empty as possible."""
    used = [Ring(*ring) for ring in rings[: len(loads)]]
    found = total(used, loads)
    assert found.sum() == pytest.approx(sum(loads))
    for ring, share, load in zip(used, even_shares(used, loads, UNITS), loads, strict=True):
        own = found[ring.members(UNITS)]
        giving = own[share * load > 0.01]
        if len(giving):
            assert giving.max() <= own.min() + 0.01 * (1 + sum(loads))


def test_a_short_ring_keeps_the_slices_of_a_longer_one_away() -> None:
    found = total([Ring(4, 2), Ring(0, 6)], [2.0, 4.0])
    assert found.tolist() == pytest.approx([1.0] * 6)
    assert even_shares([Ring(4, 2), Ring(0, 6)], [2.0, 4.0], 6)[1].tolist() == pytest.approx([0.25] * 4 + [0.0] * 2)


def test_a_load_that_is_too_small_to_divide_keeps_its_shares() -> None:
    assert even_shares([Ring(0, 2)], [5e-324], UNITS)[0].tolist() == [0.5, 0.5]


def test_rings_are_longer_only_where_no_shares_suffice() -> None:
    short = [Ring(1, 2), Ring(0, 6)]
    assert rings_for(short, [2.0, 4.0], UNITS, 1.1) == short
    longer = rings_for(short, [4.0, 2.0], UNITS, 1.1)
    assert longer == [Ring(1, 4), Ring(0, 6)]
    assert imbalance(total(longer, [4.0, 2.0])) <= 1.1
    assert rings_for([Ring(0, 1), Ring(0, 1)], [1.0, 0.0], UNITS, 1.1) == [Ring(0, 6), Ring(0, 1)]


@given(share=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9).filter(lambda s: sum(s) > 0.1))
def test_weights_are_within_one_slice_of_their_shares(share: list[float]) -> None:
    weights = weights_of(np.array(share), 64)
    assert sum(weights) == 64
    assert all(abs(w - 64 * s / sum(share)) < 1 + 1e-6 for w, s in zip(weights, share, strict=True))


def test_the_load_of_a_unit_is_its_part_of_the_slices() -> None:
    slices = (Slicing(10, 2, 1, (3, 1)), Slicing(10, 3))
    assert unit_loads(slices, (8.0, 3.0), 3).tolist() == [1.0, 7.0, 3.0]
    assert imbalance(unit_loads(slices, (8.0, 3.0), 3)) == pytest.approx(7 * 3 / 11)
    assert imbalance(np.zeros(3)) == 1.0
