"""The choice of victims: inactive groups, then by productivity, until a share of the unit's bytes is reached."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from braid.control.memory.groups import Groups, MemoryState
from braid.control.memory.settings import MemorySettings, Victims
from braid.control.memory.spilling import choose_spill, full_units, spill_order
from tests.budget import seeds
from tests.unit.control.memory.numbers import groups_of, state_of

LIMIT = 1_000


def settings_of(
    victims: Victims = "unproductive", share: float = 0.3, inactive_after_ms: int | None = None, seed: int = 0
) -> MemorySettings:
    return MemorySettings(LIMIT, victims=victims, spill_share=share, inactive_after_ms=inactive_after_ms, seed=seed)


def order(settings: MemorySettings, groups: Groups, step: int = 7, now_ms: int = 1_000) -> list[int]:
    return [int(group) for group in spill_order(settings, state_of(groups, step=step, now_ms=now_ms), 0)]


def test_groups_with_few_results_for_their_bytes_are_spilled_first() -> None:
    groups = groups_of(sizes=[100, 100, 200, 50], outputs=[10, 40, 50, 10])
    assert order(settings_of("unproductive"), groups) == [0, 3, 2, 1]
    assert order(settings_of("productive"), groups) == [1, 2, 3, 0]


def test_groups_without_results_are_the_least_productive_the_largest_first() -> None:
    groups = groups_of(sizes=[100, 10, 30, 900], outputs=[0, 0, 0, 1])
    assert order(settings_of("unproductive"), groups) == [0, 2, 1, 3]
    assert order(settings_of("productive"), groups) == [3, 1, 2, 0]


def test_inactive_groups_are_spilled_before_all_others_longest_inactive_first() -> None:
    groups = groups_of(sizes=[10] * 4, outputs=[9, 8, 1, 7], inserted_ms=[899, 100, 1_000, 900])
    assert order(settings_of(), groups) == [2, 3, 1, 0]
    assert order(settings_of(inactive_after_ms=100), groups) == [1, 0, 2, 3]
    assert order(settings_of("productive", inactive_after_ms=100), groups) == [1, 0, 3, 2]


def test_random_victims_are_a_function_of_the_seed_and_the_step() -> None:
    groups = groups_of(sizes=[10] * 300)
    first = order(settings_of("random", seed=1), groups)
    assert first == order(settings_of("random", seed=1), groups)
    assert sorted(first) == list(range(300))
    others = [order(settings_of("random", seed=2), groups), order(settings_of("random", seed=1), groups, step=8)]
    assert all(other != first for other in others)


def test_each_group_is_a_random_victim_as_often_as_others() -> None:
    groups = groups_of(sizes=[10] * 10)
    state = [state_of(groups, step=step) for step in range(2_000)]
    spills = [choose_spill(settings_of("random"), one, 0, "") for one in state]
    counts = np.bincount([group for spill in spills if spill for group in spill.groups], minlength=10)
    # 600 are expected of 2,000 draws of 3 in 10, with a standard deviation of 20.
    assert counts.sum() == 6_000
    assert counts.min() > 500
    assert counts.max() < 700


def test_only_groups_of_the_unit_with_bytes_in_memory_are_spilled() -> None:
    groups = groups_of(sizes=[10, 0, 10, 10], owners=[0, 0, 1, 0])
    assert sorted(order(settings_of(), groups)) == [0, 3]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.1, (0,)), (0.4, (0,)), (0.41, (0, 1)), (0.7, (0, 1)), (0.71, (0, 1, 2)), (1.0, (0, 1, 2))],
)
def test_groups_are_spilled_until_the_share_is_reached(share: float, expected: tuple[int, ...]) -> None:
    groups = groups_of(sizes=[400, 300, 300], outputs=[1, 2, 3])
    spill = choose_spill(settings_of(share=share), state_of(groups), 0, "the unit is full")
    assert spill is not None
    assert spill.groups == expected
    assert spill.size_bytes == sum([400, 300, 300][group] for group in expected)


@pytest.mark.parametrize(("most", "expected"), [(399, None), (400, (0,)), (699, (0,)), (700, (0, 1)), (9_999, (0, 1))])
def test_a_cap_is_never_exceeded(most: int, expected: tuple[int, ...] | None) -> None:
    groups = groups_of(sizes=[400, 300, 300], outputs=[1, 2, 3])
    spill = choose_spill(settings_of(share=0.7), state_of(groups), 0, "", at_most_bytes=most)
    assert (None if spill is None else spill.groups) == expected


def test_a_unit_without_rows_in_memory_spills_nothing() -> None:
    assert choose_spill(settings_of(), state_of(groups_of(sizes=[0, 0])), 0, "") is None


def test_a_unit_is_full_above_its_share_of_the_limit() -> None:
    groups = groups_of(sizes=[10, 10, 10], owners=[0, 1, 2])
    assert full_units(MemorySettings(LIMIT, spill_at=0.5), state_of(groups, 3, used=[501, 500, 900])).tolist() == [0, 2]


def test_a_spill_describes_itself() -> None:
    groups = groups_of(sizes=[400_000, 300, 300], outputs=[1, 2, 3])
    spill = choose_spill(settings_of(), state_of(groups), 0, "it uses 95 % of its memory")
    assert spill is not None
    assert spill.describe() == "spills partition group 0 (0.4 MB) at unit 0: it uses 95 % of its memory"


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"different lengths.*'sizes': 2"):
        groups_of(sizes=[1, 2], owners=[0])


@pytest.mark.parametrize("seed", seeds(0, 60))
def test_the_order_and_the_amount_are_those_of_a_plain_sort(seed: int) -> None:
    chance = random.Random(seed)
    count, units = chance.randint(1, 40), chance.randint(1, 3)
    groups = groups_of(
        [chance.choice([0, 5, 10, 1_000, 2**40]) for _ in range(count)],
        [chance.choice([0, 1, 5, 2**40]) for _ in range(count)],
        [chance.randrange(units) for _ in range(count)],
        [chance.randrange(1_000) for _ in range(count)],
    )
    settings = settings_of("unproductive", chance.random(), chance.choice([None, 0, 500]))
    state = state_of(groups, units)
    for unit in range(units):
        expected = plain_order(settings, state, unit)
        assert spill_order(settings, state, unit).tolist() == expected
        spill = choose_spill(settings, state, unit, "")
        sizes = [int(groups.sizes[group]) for group in expected]
        if spill is None:
            assert not expected
            continue
        taken = len(spill.groups)
        assert spill.groups == tuple(sorted(expected[:taken]))
        assert sum(sizes[:taken]) >= settings.spill_share * sum(sizes)
        assert taken == 1 or sum(sizes[: taken - 1]) < settings.spill_share * sum(sizes)


def plain_order(settings: MemorySettings, state: MemoryState, unit: int) -> list[int]:
    """Unproductive groups first, by exact fractions."""

    def key(group: int) -> tuple[object, ...]:
        size, outputs, inserted = (
            int(values[group]) for values in (state.groups.sizes, state.groups.outputs, state.groups.last_inserts_ms)
        )
        after = settings.inactive_after_ms
        inactive = after is not None and state.now_ms - inserted > after
        ratio = (1, Fraction(0)) if outputs == 0 else (0, Fraction(size, outputs))
        return (inactive, -inserted if inactive else 0, ratio, size, group)

    own = [g for g in range(len(state.groups)) if state.groups.owners[g] == unit and state.groups.sizes[g]]
    return sorted(own, key=key, reverse=True)
