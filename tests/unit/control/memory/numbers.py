"""Numbers of groups and units, written in a few words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from braid.control.memory.groups import Groups, MemoryState, UnderWay, used_bytes
from braid.state.observed.groups import MemoryHistory


def groups_of(
    sizes: Sequence[int],
    outputs: Sequence[int] | None = None,
    owners: Sequence[int] | None = None,
    inserted_ms: Sequence[int] | None = None,
    debts: Sequence[bool] | None = None,
    sampled: Sequence[int] | None = None,
) -> Groups:
    """One group per size; all at unit 0, with one result each, unless stated."""
    count = len(sizes)
    return Groups(
        np.array(owners if owners is not None else [0] * count, np.int64),
        np.array(sizes, np.int64),
        np.array(outputs if outputs is not None else [1] * count, np.int64),
        np.array(inserted_ms if inserted_ms is not None else [0] * count, np.int64),
        np.array(debts if debts is not None else [False] * count, np.bool_),
        np.array(sampled if sampled is not None else [0] * count, np.int64),
    )


def state_of(
    groups: Groups,
    units: int = 1,
    step: int = 7,
    now_ms: int = 1_000,
    used: Sequence[int] | None = None,
    history: MemoryHistory | None = None,
    spilled_bytes: int = 0,
    under_way: UnderWay | None = None,
) -> MemoryState:
    """A state in which units use what their groups have, unless stated."""
    memory = used_bytes(groups, units) if used is None else np.array(used, np.int64)
    return MemoryState(step, now_ms, groups, memory, history or MemoryHistory(0), spilled_bytes, under_way)
