"""What moves between the neighbours of a ring: simulated with boundaries on a line, for every small ring."""

from __future__ import annotations

from fractions import Fraction

import pytest

from braid.control.slicing.relocation import (
    places_of_new_units,
    share_moved,
    shares_moved_back,
    shares_moved_on,
)

SIZES = [(units, changed) for units in range(1, 9) for changed in range(9)]


@pytest.mark.parametrize(("units", "added"), SIZES)
def test_added_units_fill_up_and_the_rest_passes_on(units: int, added: int) -> None:
    """Rows in a line, oldest last: units have even parts of it before and after, new ones between old ones."""
    places, moved = places_of_new_units(units, added), shares_moved_on(units, added)
    even = Fraction(1, units + added)
    passed = Fraction(0)
    for old in range(1, units + 1):
        available = passed + Fraction(1, units)
        inserted = places.count(old)
        passed = available - even * (1 + inserted)
        assert passed == moved[old - 1]
        assert 0 <= passed < even, "or another new unit would be filled here"
    assert moved[-1] == 0
    assert len(places) == added


@pytest.mark.parametrize(("units", "removed"), [(n, m) for n, m in SIZES if m < n])
def test_removing_units_is_adding_them_backwards(units: int, removed: int) -> None:
    stay, even = units - removed, Fraction(1, units)
    places, received = places_of_new_units(stay, removed), shares_moved_back(units, removed)
    owed = Fraction(0)
    for kept in range(1, stay + 1):
        had = even * (1 + places.count(kept))
        owed = owed + Fraction(1, stay) - had
        assert owed == received[kept - 1]
        assert 0 <= owed < even
    assert owed == 0


def test_two_units_become_three() -> None:
    """The second old unit is the first whose excess fills the new one, which goes behind it."""
    assert places_of_new_units(2, 1) == (2,)
    assert shares_moved_on(2, 1) == (Fraction(1, 6), 0)
    assert shares_moved_back(3, 1) == (Fraction(1, 6), 0)
    assert places_of_new_units(3, 3) == (1, 2, 3)
    assert shares_moved_on(3, 3) == (0, 0, 0)


def test_the_least_that_moves() -> None:
    assert share_moved(3, 4) == share_moved(4, 3) == Fraction(1, 4)
    assert share_moved(4, 4) == 0


def test_a_ring_keeps_a_unit() -> None:
    with pytest.raises(ValueError, match="at least one unit, but 0 would stay"):
        shares_moved_back(3, 3)
