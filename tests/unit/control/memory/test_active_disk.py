"""Active-disk (the paper's Fig. 19), branch by branch: what lazy-disk decides comes first; then rates are compared.

The limit is 1,000 bytes for each unit; every group has 100 bytes; a sampling interval of 500 ms is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from braid.control.memory.active_disk import decide_active_disk, rates
from braid.control.memory.decisions import Decided, Nothing, Relocate, Spill
from braid.control.memory.groups import MemoryState
from braid.control.memory.settings import MemorySettings
from braid.state.observed.groups import MemoryHistory
from tests.unit.control.memory.numbers import groups_of, state_of

SETTINGS = MemorySettings(1_000, overflow="active-disk", rate_ratio=2.0, sample_every_ms=500, min_interval_ms=0)
SAMPLED = MemoryHistory(0, sampled_ms=500, sampled_bytes=600)
ENOUGH = 9_999
"""An estimate with which the cap forbids nothing."""


def state_with(counts: Sequence[int], per_group: Sequence[int], history: MemoryHistory = SAMPLED) -> MemoryState:
    """Units with so many groups, each of which found so many results in the sampling interval."""
    owners = [unit for unit, count in enumerate(counts) for _ in range(count)]
    sampled = [per_group[unit] for unit in owners]
    groups = groups_of([100] * len(owners), list(range(1, len(owners) + 1)), owners, sampled=sampled)
    return state_of(groups, len(counts), history=history)


def decide(state: MemoryState, query_bytes: int = ENOUGH) -> Decided:
    return decide_active_disk(SETTINGS, state, query_bytes)


def reason(decided: Decided) -> str:
    (nothing,) = decided.adaptations
    assert isinstance(nothing, Nothing)
    return nothing.reason


def test_in_a_balanced_cluster_the_unit_with_few_results_spills_before_it_is_full() -> None:
    decided = decide(state_with([5, 5, 5], [9, 3, 4]))
    (spill,) = decided.adaptations
    assert isinstance(spill, Spill)
    assert (spill.unit, spill.groups, spill.size_bytes) == (1, (5, 6), 200)
    assert spill.reason == "it finds 3 results per group, unit 0 9, more than 2 times as many"
    assert decided.history == replace(SAMPLED, sampled_ms=1_000, sampled_bytes=1_500, forced_bytes=200)
    assert decided.sample_ends


@pytest.mark.parametrize(("high", "forced"), [(8, False), (9, True)])
def test_rates_are_compared_with_the_ratio(high: int, forced: bool) -> None:
    decided = decide(state_with([5, 5], [high, 4]))
    assert isinstance(decided.adaptations[0], Spill) is forced
    if not forced:
        assert reason(decided) == "no unit finds more than 2 times the results per group of another"


def test_a_unit_without_results_spills_but_not_where_no_unit_has_any() -> None:
    (spill,) = decide(state_with([5, 5], [1, 0])).adaptations
    assert isinstance(spill, Spill)
    assert spill.unit == 1
    assert "no unit finds more" in reason(decide(state_with([5, 5], [0, 0])))


def test_the_rate_is_per_group_of_the_unit() -> None:
    state = state_with([10, 8, 0], [4, 5, 0])
    assert rates(state)[:2].tolist() == [4.0, 5.0]
    assert np.isnan(rates(state)[2])


def test_memory_balance_comes_before_rates() -> None:
    decided = decide(state_with([8, 4], [9, 1]))
    (move,) = decided.adaptations
    assert isinstance(move, Relocate)
    assert (decided.history.relocated_ms, decided.history.forced_bytes) == (1_000, 0)
    assert decided.sample_ends


def test_an_imbalance_that_cannot_be_moved_away_is_no_reason_to_compare_rates() -> None:
    state = state_with([8, 4], [9, 1])
    owing = replace(state, groups=replace(state.groups, debts=np.ones(12, np.bool_)))
    assert "no group without deferred results" in reason(decide(owing))


def test_a_full_unit_spills_whatever_the_rates_are() -> None:
    decided = decide(state_with([10, 9], [9, 1]))
    (spill,) = decided.adaptations
    assert isinstance(spill, Spill)
    assert spill.unit == 0
    assert decided.history.forced_bytes == 0


def test_nothing_is_forced_while_an_adaptation_is_under_way() -> None:
    decided = decide(replace(state_with([5, 5], [9, 1]), under_way="relocation"))
    assert reason(decided) == "a relocation is under way"
    assert decided.sample_ends


def test_units_are_compared_only_at_the_end_of_a_sampling_interval() -> None:
    early = decide(state_with([5, 5], [9, 1], replace(SAMPLED, sampled_ms=501)))
    assert reason(early) == "every unit uses at least 80% of what the fullest uses"
    assert not early.sample_ends
    assert early.history.sampled_ms == 501


def test_the_first_interval_begins_with_the_query() -> None:
    assert decide(state_with([5, 5], [9, 1], MemoryHistory(500))).sample_ends
    assert not decide(state_with([5, 5], [9, 1], MemoryHistory(501))).sample_ends


@pytest.mark.parametrize(
    ("query_bytes", "spilled"), [(2_000, 0), (2_099, 0), (2_100, 1), (2_199, 1), (2_200, 2), (9_999, 2)]
)
def test_no_more_is_forced_than_the_query_needs_beyond_the_memory_of_the_cluster(
    query_bytes: int, spilled: int
) -> None:
    (found,) = decide(state_with([5, 5], [9, 1]), query_bytes).adaptations
    assert (len(found.groups) if isinstance(found, Spill) else 0) == spilled


def test_what_was_forced_before_counts_while_it_is_live() -> None:
    state = state_with([5, 5], [9, 1], replace(SAMPLED, forced_bytes=300))
    spilled = replace(state, spilled_bytes=400)
    assert reason(decide(spilled, 2_300)) == "the units have enough memory for what is expected and not spilled"
    decided = decide(spilled, 2_500)
    assert decided.history.forced_bytes == 500
    expired = replace(state, spilled_bytes=100)
    assert decide(expired, 2_300).history.forced_bytes == 300


def test_a_cap_below_every_group_says_so() -> None:
    assert reason(decide(state_with([5, 5], [9, 1]), 2_050)) == "unit 1 has no group of at most 50 bytes to spill"
