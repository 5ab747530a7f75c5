"""The entry point: policy and estimate; and what holds in every run of a random query."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from braid.control.memory.active_disk import decide_active_disk
from braid.control.memory.decisions import Decided, Nothing, Relocate, Spill
from braid.control.memory.estimates import estimated_bytes
from braid.control.memory.groups import MemoryState, used_bytes
from braid.control.memory.lazy_disk import decide_lazy_disk
from braid.control.memory.overflow import decide_overflow
from braid.control.memory.settings import MemorySettings
from braid.state.observed.groups import MemoryHistory
from tests.budget import seeds
from tests.unit.control.memory.numbers import groups_of, state_of


def test_the_estimate_is_what_is_live_at_the_end_of_the_next_interval() -> None:
    history = MemoryHistory(1_000, sampled_ms=3_000, sampled_bytes=250)
    state = state_of(groups_of([300]), now_ms=5_000, history=history, spilled_bytes=100)
    assert estimated_bytes(state) == 550


def test_the_estimate_is_what_is_live_where_windows_are_full() -> None:
    history = MemoryHistory(1_000, sampled_ms=3_000, sampled_bytes=450)
    assert estimated_bytes(state_of(groups_of([400]), now_ms=5_000, history=history)) == 400


def test_the_policy_is_the_one_of_the_query() -> None:
    """Rates differ, and the estimate of 3,600 bytes exceeds the 2,000 of the units."""
    groups = groups_of([100] * 18, owners=[0] * 9 + [1] * 9, sampled=[9] * 9 + [1] * 9)
    state = state_of(groups, 2, now_ms=60_000)
    lazy, active = MemorySettings(1_000), MemorySettings(1_000, overflow="active-disk")
    assert decide_overflow(lazy, state) == decide_lazy_disk(lazy, state)
    assert decide_overflow(active, state) == decide_active_disk(active, state, 3_600)
    assert isinstance(decide_overflow(active, state).adaptations[0], Spill)
    assert isinstance(decide_overflow(lazy, state).adaptations[0], Nothing)


@pytest.mark.parametrize("seed", seeds(0, 40))
def test_a_random_run_keeps_the_rules_of_adaptations(seed: int) -> None:
    """Rows arrive with changing skew; decisions are carried out at once or stay under way for some steps."""
    chance = random.Random(seed)
    rng = np.random.default_rng(seed)
    units, count = chance.randint(1, 4), chance.randint(4, 40)
    settings = MemorySettings(
        1_000 * count // units,  # a third of what arrives
        chance.choice(["lazy-disk", "active-disk"]),
        victims=chance.choice(["unproductive", "productive", "random"]),
        seed=seed,
        inactive_after_ms=chance.choice([None, 3_000]),
        min_interval_ms=chance.choice([0, 2_000]),
        sample_every_ms=chance.choice([1_000, 5_000]),
    )
    groups = groups_of([0] * count, [0] * count, rng.integers(0, units, count).tolist())
    state = state_of(groups, units, step=0, now_ms=0)
    remaining, kinds = 0, set()
    for step in range(150):
        state = arrive(state, rng, step, units)
        state = replace(state, under_way=state.under_way if remaining else None)
        remaining = max(0, remaining - 1)
        decided = decide_overflow(settings, state)
        assert decided == decide_overflow(settings, state)
        check(settings, state, decided)
        kinds |= {type(adaptation) for adaptation in decided.adaptations}
        if not isinstance(decided.adaptations[0], Nothing):
            remaining = chance.choice([0, 0, 2])
        state = carry_out(state, decided)
    assert Spill in kinds


def arrive(state: MemoryState, rng: np.random.Generator, step: int, units: int) -> MemoryState:
    """New rows: each unit's groups get more or fewer, and a tenth of the groups get none for a while."""
    groups, now_ms = state.groups, 500 * step
    weights = rng.integers(1, 10, units)[groups.owners] * (np.arange(len(groups)) % 10 != step // 30 % 10)
    added = rng.poisson(weights * 4.0)
    found = rng.poisson(added * (1 + np.arange(len(groups)) % 3))
    after = replace(
        groups,
        sizes=groups.sizes + added,
        outputs=groups.outputs + found,
        sampled_outputs=groups.sampled_outputs + found,
        last_inserts_ms=np.where(added > 0, now_ms, groups.last_inserts_ms),
    )
    return replace(state, step=step, now_ms=now_ms, groups=after, used_bytes=used_bytes(after, units))


def check(settings: MemorySettings, state: MemoryState, decided: Decided) -> None:
    """One kind of adaptation; none during another; groups at their unit, in memory, and without debts if they move."""
    assert len({type(adaptation) for adaptation in decided.adaptations}) == 1
    groups = state.groups
    for adaptation in decided.adaptations:
        if isinstance(adaptation, Nothing):
            assert adaptation.reason
            continue
        assert state.under_way is None
        chosen = list(adaptation.groups)
        assert len(set(chosen)) == len(chosen) > 0
        assert groups.sizes[chosen].min() > 0
        assert adaptation.size_bytes == groups.sizes[chosen].sum()
        if isinstance(adaptation, Relocate):
            assert len(decided.adaptations) == 1
            assert not groups.debts[chosen].any()
            assert set(groups.owners[chosen].tolist()) == {adaptation.source}
            last = state.history.relocated_ms
            assert last is None or state.now_ms - last >= settings.min_interval_ms
        else:
            assert set(groups.owners[chosen].tolist()) == {adaptation.unit}


def carry_out(state: MemoryState, decided: Decided) -> MemoryState:
    groups, spilled, under_way = state.groups, state.spilled_bytes, state.under_way
    owners, sizes = groups.owners.copy(), groups.sizes.copy()
    outputs, debts = groups.outputs.copy(), groups.debts.copy()
    for adaptation in decided.adaptations:
        if isinstance(adaptation, Spill):
            chosen = list(adaptation.groups)
            sizes[chosen], outputs[chosen], debts[chosen] = 0, 0, True
            spilled, under_way = spilled + adaptation.size_bytes, "spill"
        elif isinstance(adaptation, Relocate):
            owners[list(adaptation.groups)], under_way = adaptation.target, "relocation"
    sampled = np.zeros_like(sizes) if decided.sample_ends else groups.sampled_outputs
    after = replace(groups, owners=owners, sizes=sizes, outputs=outputs, debts=debts, sampled_outputs=sampled)
    return replace(state, groups=after, history=decided.history, spilled_bytes=spilled, under_way=under_way)
