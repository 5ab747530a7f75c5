"""How much state moves between neighbours of a ring when units are added or removed, in shares of all rows.

All units have even shares before and after, and rows move only to the next unit that stays. Where M units are added to
N, the first i old units have i/N of the rows; with the new units that these rows fill, one for every 1/(N+M), what is
left over moves to the next old unit. Removing M units is adding them, backwards.
"""

from __future__ import annotations

from fractions import Fraction


def places_of_new_units(units: int, added: int) -> tuple[int, ...]:
    """After which old unit, counted from one, each new unit is inserted: the first whose excess fills it."""
    return tuple(-(-units * number // added) for number in range(1, added + 1))


def shares_moved_on(units: int, added: int) -> tuple[Fraction, ...]:
    """What each old unit, after the new units behind it are full, passes on to the next old one: of all rows.

    The last passes nothing on: all rows are at the units then.
    """
    _require(units, added)
    new = Fraction(1, units + added)
    return tuple((Fraction(added * i, units) % 1) * new for i in range(1, units + 1))


def shares_moved_back(units: int, removed: int) -> tuple[Fraction, ...]:
    """What each unit that stays receives from the next one that stays, besides the rows of removed units behind it.

    The units that stay are as if the removed ones had been added to them.
    """
    _require(units - removed, removed)
    stay, old = units - removed, Fraction(1, units)
    return tuple((Fraction(removed * i, stay) % 1) * old for i in range(1, stay + 1))


def share_moved(units: int, after: int) -> Fraction:
    """The share of all rows that has to move at least: to new units, or from removed ones."""
    _require(min(units, after), 0)
    return Fraction(abs(after - units), max(units, after))


def _require(units: int, changed: int) -> None:
    if units < 1 or changed < 0:
        raise ValueError(f"a ring keeps at least one unit, but {units} would stay and {changed} change")
