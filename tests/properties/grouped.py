"""Queries with partition groups for the tests: cases with a common key, and groups that move at random."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from braid.control.memory.adapting import Decide
from braid.control.memory.decisions import Decided, Nothing, Relocate, Spill
from braid.control.memory.groups import MemoryState
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Partitioned
from braid.testing import InlineQuery, ManualClock
from tests.properties.cases import Case, make_case, some_exchange


def any_grouped_case(seed: int) -> Case:
    """The first of the cases from a seed on in which every stream takes part in one equality."""
    for number in range(seed, seed + 200):
        case = make_case(number)
        if build_plan(case.logical_plan).common_part is not None:
            return case
    raise AssertionError(f"no case with a common key from seed {seed} on")


def some_groups(chance: random.Random, units: int | None = None) -> Partitioned:
    """Few or many groups, on some units, evenly or not."""
    count = chance.randint(1, 4) if units is None else units
    groups = chance.choice((4, 7, 40))
    if chance.random() < 0.5:
        return Partitioned(count, groups=groups)
    shares = [chance.choice((1, 2, 3)) for _ in range(count)]
    return Partitioned(count, groups=groups, assignment=tuple(share / sum(shares) for share in shares))


def start(case: Case, path: Path, chance: random.Random, clock: ManualClock, **given: Any) -> InlineQuery:
    """A run of a case, on some slots and with some exchange."""
    return InlineQuery(
        case.logical_plan,
        str(path),
        slots=chance.randint(1, 4),
        ingest_tasks=chance.randint(1, 2),
        clock=clock,
        exchange=some_exchange(case.logical_plan, chance),
        **given,
    )


def moving(seed: int, often: float = 0.7) -> Decide:
    """Moves some groups of a unit to another before most steps; a function of the step."""

    def decide(state: MemoryState) -> Decided:
        chance = random.Random(f"{seed} {state.step}")
        source, target = chance.randrange(state.units), chance.randrange(state.units)
        own = np.flatnonzero(state.groups.owners == source).tolist()
        if source == target or not own or chance.random() > often:
            return Decided((Nothing("no move"),), state.history)
        groups = tuple(sorted(chance.sample(own, chance.randint(1, len(own)))))
        return Decided((Relocate(groups, source, target, 0, "for a test"),), state.history)

    return decide


def pushing(seed: int, often: float = 0.4) -> Decide:
    """Before many steps pushes some groups that have rows, or moves some; a function of the step."""
    move = moving(seed, 0.5)

    def decide(state: MemoryState) -> Decided:
        chance = random.Random(f"push {seed} {state.step}")
        stored = np.flatnonzero(state.groups.sizes > 0).tolist()
        if not stored or chance.random() > often:
            return move(state)
        groups = sorted(chance.sample(stored, chance.randint(1, len(stored))))
        spills = (Spill(0, tuple(groups), 0, "for a test"),)
        return Decided(spills, state.history)

    return decide
