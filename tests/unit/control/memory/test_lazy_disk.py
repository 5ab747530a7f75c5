"""Lazy-disk (the paper's Fig. 18), branch by branch: balance first, one adaptation at a time, spills where it must be.

The limit is 1,000 bytes; units spill above 900. Every group has 100 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from braid.control.memory.decisions import Decided, Nothing, Relocate, Spill
from braid.control.memory.groups import MemoryState, UnderWay
from braid.control.memory.lazy_disk import decide_lazy_disk
from braid.control.memory.settings import MemorySettings
from braid.state.observed.groups import MemoryHistory
from tests.unit.control.memory.numbers import groups_of, state_of

SETTINGS = MemorySettings(1_000, min_interval_ms=500)


def state_with(
    *counts: int,
    used: Sequence[int] | None = None,
    history: MemoryHistory | None = None,
    under_way: UnderWay | None = None,
    debts: bool = False,
) -> MemoryState:
    """Units with so many groups of 100 bytes each."""
    owners = [unit for unit, count in enumerate(counts) for _ in range(count)]
    groups = groups_of([100] * len(owners), list(range(1, len(owners) + 1)), owners, debts=[debts] * len(owners))
    return state_of(groups, len(counts), used=used, history=history, under_way=under_way)


def decide(state: MemoryState) -> Decided:
    return decide_lazy_disk(SETTINGS, state)


def reason(decided: Decided) -> str:
    (nothing,) = decided.adaptations
    assert isinstance(nothing, Nothing)
    return nothing.reason


def spilled(decided: Decided) -> list[int]:
    """The units that spill; nothing else may happen then."""
    assert all(isinstance(adaptation, Spill) for adaptation in decided.adaptations)
    return [adaptation.unit for adaptation in decided.adaptations if isinstance(adaptation, Spill)]


def test_balanced_units_with_memory_left_do_nothing() -> None:
    assert reason(decide(state_with(9, 8, 8))) == "every unit uses at least 80% of what the fullest uses"


def test_different_units_move_groups_though_none_is_full() -> None:
    decided = decide(state_with(8, 4, 6))
    (move,) = decided.adaptations
    assert isinstance(move, Relocate)
    assert (move.source, move.target, move.size_bytes) == (0, 1, 200)
    assert decided.history.relocated_ms == 1_000


def test_a_full_unit_in_a_balanced_cluster_spills_its_share_of_unproductive_groups() -> None:
    decided = decide(state_with(10, 9, 8))
    (spill,) = decided.adaptations
    assert isinstance(spill, Spill)
    assert (spill.unit, spill.groups, spill.size_bytes) == (0, (0, 1, 2), 300)
    assert spill.reason == "it uses 100% of its memory, more than 90%"
    assert decided.history.relocated_ms is None


def test_all_full_units_spill_in_the_same_step() -> None:
    assert spilled(decide(state_with(10, 9, 10))) == [0, 2]


def test_memory_balance_comes_first_where_a_unit_is_full_and_another_has_memory_left() -> None:
    (move,) = decide(state_with(10, 4)).adaptations
    assert isinstance(move, Relocate)
    assert move.size_bytes == 300


def test_a_full_unit_spills_where_groups_moved_too_recently() -> None:
    recent = MemoryHistory(0, relocated_ms=501)
    assert spilled(decide(state_with(10, 4, history=recent))) == [0]
    assert "must pass" in reason(decide(state_with(8, 4, history=recent)))
    (move,) = decide(state_with(10, 4, history=MemoryHistory(0, relocated_ms=500))).adaptations
    assert isinstance(move, Relocate)


def test_a_full_unit_spills_where_no_group_can_move() -> None:
    assert spilled(decide(state_with(10, 4, debts=True))) == [0]
    assert "no group without deferred results" in reason(decide(state_with(8, 4, debts=True)))


def test_a_full_unit_spills_where_no_unit_could_hold_its_groups() -> None:
    """Half of the difference would fill the target: then no memory of the cluster is left for it."""
    assert spilled(decide(state_with(12, 8))) == [0]
    assert spilled(decide(state_with(14, 10))) == [0, 1]


@pytest.mark.parametrize("under_way", ["spill", "relocation"])
@pytest.mark.parametrize("counts", [(10, 9), (10, 4), (8, 4), (8, 8)])
def test_adaptations_never_overlap(under_way: UnderWay, counts: tuple[int, int]) -> None:
    assert reason(decide(state_with(*counts, under_way=under_way))) == f"a {under_way} is under way"


def test_a_full_unit_without_rows_in_memory_says_so() -> None:
    assert reason(decide(state_with(0, 0, used=[950, 950]))) == "unit 0 is full, but has no rows in memory to spill"
