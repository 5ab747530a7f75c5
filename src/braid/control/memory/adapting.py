"""From recorded numbers of partition groups to the layout of a step: what the memory controllers decide, applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from braid.control import merging
from braid.control.memory.decisions import Decided, Relocate, Spill
from braid.control.memory.groups import Groups, MemoryState, used_bytes
from braid.plan.layout import Layout
from braid.state.manifest import Manifest
from braid.state.observed.groups import GroupLoad, GroupState, MemoryHistory

Decide = Callable[[MemoryState], Decided]
"""A policy: what a query does about its memory, by the state before a step."""
Counted = tuple[int, GroupLoad, int]
"""A partition group, its load in one job of a step with the results of this job, and the rows that the step stored.

Of its pushed rows it has those that this step has pushed."""


@dataclass(frozen=True)
class Adapted:
    """The layout of a step, what led to it, and what the controllers record."""

    layout: Layout
    adaptations: tuple[str, ...]
    history: MemoryHistory
    sample_ends: bool
    pushed: tuple[int, ...] = ()


def adapt_memory(manifest: Manifest, layout: Layout, decide: Decide, now_ms: int) -> Adapted | None:
    """The layout with its groups as decided for the next step; None before the first rows are stored.

    No group moves while blocks of too many earlier assignments wait to be rewritten.
    """
    if manifest.groups is None or len(manifest.groups.loads) != len(layout.group_units):
        return None
    decided = decide(memory_state(manifest, manifest.groups, layout, now_ms))
    moves = [choice for choice in decided.adaptations if isinstance(choice, Relocate)]
    spills = [choice for choice in decided.adaptations if isinstance(choice, Spill)]
    too_many = moves and len(manifest.layouts) >= 2 * merging.MAX_LIVE_ASSIGNMENTS
    # As long as rows of other layouts are live, all rows visit them, so no slot has all rows of a group.
    too_early = spills and not all(known.shares_groups(layout) for known in manifest.layouts)
    if too_many or too_early:
        return Adapted(layout, (), manifest.groups.history, sample_ends=False)
    for move in moves:
        layout = _reassigned(layout, move, manifest.groups.owing)
    texts = (*(move.describe() for move in moves), *(spill.describe() for spill in spills))
    pushed = tuple(sorted({group for spill in spills for group in spill.groups}))
    return Adapted(layout, texts, decided.history, decided.sample_ends, pushed)


def memory_state(manifest: Manifest, state: GroupState, layout: Layout, now_ms: int) -> MemoryState:
    """The recorded numbers as the controllers take them."""
    loads = state.loads
    debts = np.zeros(len(loads), bool)
    debts[list(state.owing)] = True
    groups = Groups(
        owners=np.array(layout.group_units, np.int64),
        sizes=np.array([load.size for load in loads], np.int64),
        outputs=np.array([load.results for load in loads], np.int64),
        last_inserts_ms=np.array([load.inserted_ms for load in loads], np.int64),
        debts=debts,
        sampled_outputs=np.array([load.sampled for load in loads], np.int64),
    )
    used = used_bytes(groups, layout.units[0])
    spilled = sum(load.pushed_size for load in loads)
    return MemoryState(manifest.step + 1, now_ms, groups, used, state.history, spilled)


def groups_after(
    before: GroupState | None, count: int, counted: Iterable[Counted], now_ms: int, history: MemoryHistory | None
) -> GroupState:
    """What is known of `count` groups after a step; several jobs of a step report the same bytes.

    `history` is what the controllers have recorded; None: nothing yet, or none is in use.
    """
    known = before.loads if before is not None and len(before.loads) == count else (GroupLoad(),) * count
    loads = list(known)
    for group, found, inserted in counted:
        load = loads[group]
        after = replace(
            found,
            results=load.results + found.results,
            inserted_ms=now_ms if inserted else load.inserted_ms,
            sampled=load.sampled + found.results,
            pushed_rows=known[group].pushed_rows + found.pushed_rows,
            pushed_size=known[group].pushed_size + found.pushed_size,
        )
        loads[group] = load if after == load else after
    if before is None:
        return GroupState(tuple(loads), history or MemoryHistory(now_ms))
    return replace(before, loads=tuple(loads), history=history or before.history)


def begin_sample(state: GroupState) -> GroupState:
    """The same when a new sampling interval begins."""
    return replace(state, loads=tuple(replace(load, sampled=0) if load.sampled else load for load in state.loads))


def _reassigned(layout: Layout, move: Relocate, owing: tuple[int, ...]) -> Layout:
    """The layout with the groups of a move at their new unit; groups with deferred results stay."""
    units = list(layout.group_units)
    for group in set(move.groups).difference(owing):
        units[group] = move.target
    return replace(layout, group_units=tuple(units))
