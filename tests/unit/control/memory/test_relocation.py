"""Relocation: from the fullest unit to the emptiest, half of the difference, productive groups without debts."""

from __future__ import annotations

import random

import pytest

from braid.control.memory.decisions import Nothing, Relocate
from braid.control.memory.groups import Groups, used_bytes
from braid.control.memory.relocation import decide_relocation, is_balanced
from braid.control.memory.settings import MemorySettings
from braid.state.observed.groups import MemoryHistory
from tests.budget import seeds
from tests.unit.control.memory.numbers import groups_of, state_of

SETTINGS = MemorySettings(1_000, balance=0.8, min_interval_ms=500)


def moved(groups: Groups, units: int = 2, history: MemoryHistory | None = None, now_ms: int = 1_000) -> Relocate:
    found = decide_relocation(SETTINGS, state_of(groups, units, now_ms=now_ms, history=history))
    assert isinstance(found, Relocate), found.reason
    return found


def refused(groups: Groups, units: int = 2, history: MemoryHistory | None = None, now_ms: int = 1_000) -> str:
    found = decide_relocation(SETTINGS, state_of(groups, units, now_ms=now_ms, history=history))
    assert isinstance(found, Nothing)
    return found.reason


def test_half_of_the_difference_moves_from_the_fullest_unit_to_the_emptiest() -> None:
    groups = groups_of(sizes=[100] * 8 + [300, 200], owners=[0] * 8 + [1, 2])
    found = moved(groups, units=3)
    assert (found.source, found.target) == (0, 2)
    assert (len(found.groups), found.size_bytes) == (3, 300)


@pytest.mark.parametrize(("least", "balanced"), [(79, False), (80, True), (100, True)])
def test_a_difference_below_the_threshold_is_left_alone(least: int, balanced: bool) -> None:
    state = state_of(groups_of(sizes=[10] * 10 + [least], owners=[0] * 10 + [1]), 2)
    assert is_balanced(SETTINGS, state) is balanced
    assert isinstance(decide_relocation(SETTINGS, state), Nothing if balanced else Relocate)


def test_units_without_any_rows_are_balanced() -> None:
    assert refused(groups_of(sizes=[0, 0], owners=[0, 1])) == "every unit uses at least 80% of what the fullest uses"


def test_productive_groups_move_first() -> None:
    groups = groups_of(sizes=[100] * 4, outputs=[1, 50, 2, 40])
    assert moved(groups).groups == (1, 3)


def test_a_group_that_is_larger_than_what_is_left_is_passed_over() -> None:
    groups = groups_of(sizes=[60, 500, 240, 200], outputs=[600, 100, 1, 1])
    found = moved(groups)
    assert (found.groups, found.size_bytes) == ((0, 2, 3), 500)


def test_a_group_with_debts_never_moves() -> None:
    groups = groups_of(sizes=[100] * 4, outputs=[9, 8, 1, 2], debts=[True, True, False, False])
    assert moved(groups).groups == (2, 3)
    owing = groups_of(sizes=[100] * 4, debts=[True] * 4)
    assert refused(owing) == (
        "unit 1 uses 0% of what unit 0 uses, "
        "but no group without deferred results is as small as half of the difference"
    )


def test_nothing_moves_if_no_group_fits() -> None:
    assert "as small as half" in refused(groups_of(sizes=[300, 200], owners=[0, 1]))


@pytest.mark.parametrize(("now_ms", "allowed"), [(1_000, False), (1_099, False), (1_100, True)])
def test_relocations_have_a_least_interval(now_ms: int, allowed: bool) -> None:
    groups, history = groups_of(sizes=[100] * 4), MemoryHistory(0, relocated_ms=600)
    if allowed:
        assert len(moved(groups, history=history, now_ms=now_ms).groups) == 2
    else:
        assert "and 0.5 s must pass" in refused(groups, history=history, now_ms=now_ms)


def test_a_relocation_describes_itself() -> None:
    text = (
        "moves 2 partition groups (200 bytes) from unit 0 to unit 1: unit 1 uses 0% of what unit 0 uses, less than 80%"
    )
    assert moved(groups_of(sizes=[100] * 4)).describe() == text


@pytest.mark.parametrize("seed", seeds(0, 60))
def test_a_move_never_makes_the_units_less_even_and_repeated_moves_end(seed: int) -> None:
    """Without an interval, moves follow each other until the units are balanced or no group fits."""
    chance = random.Random(seed)
    count, units = chance.randint(2, 60), chance.randint(2, 5)
    sizes = [chance.choice([0, 1, 10, 100, 1_000]) for _ in range(count)]
    debts = [chance.random() < 0.2 for _ in range(count)]
    groups = groups_of(sizes, [chance.randrange(9) for _ in range(count)], [0] * count, debts=debts)
    settings = MemorySettings(1_000, min_interval_ms=0)
    for _ in range(1_000):
        before = used_bytes(groups, units)
        found = decide_relocation(settings, state_of(groups, units))
        if isinstance(found, Nothing):
            return
        assert not any(debts[group] for group in found.groups)
        assert set(groups.owners[list(found.groups)].tolist()) == {found.source}
        groups.owners[list(found.groups)] = found.target
        after = used_bytes(groups, units)
        assert after[found.source] >= after[found.target]
        assert (after**2).sum() < (before**2).sum()
    pytest.fail("moves do not end")
