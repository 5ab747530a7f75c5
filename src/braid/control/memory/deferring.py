"""Deferred results: which queries can have them, what a push leaves to be done, and what a clean-up does of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from braid.placement.deferral import CleanUp
from braid.plan.join import JoinPlan
from braid.plan.memory import MemoryLimit
from braid.state.manifest import DeltaRecord, Manifest
from braid.state.observed.groups import GroupState, Push

# What one step cleans up: at some million rows a second and slot, a second or so.
CLEAN_UP_BYTES = 256 << 20
# A clean-up has this part of what the units may hold. With a half, open segments and what lookups compute beside them
# took 1.05 to 1.1 times the limit where it was smallest; with a third 0.81 to 0.85.
CLEAN_UP_DIVISOR = 3
# Until a clean-up was measured.
ASSUMED_ROWS_PER_SECOND = 500_000.0
# The pace follows the machine within a few clean-ups.
DECAY = 0.8


Returning = Callable[[Manifest], tuple[int, ...]]
"""Which pushed groups are cleaned up while a run goes on, because memory has room for them again."""


def why_not_deferred(plan: JoinPlan) -> str | None:
    """Why results of a query cannot come later than their step; None if they can."""
    if plan.ordered:
        return "its results are emitted in order, and deferred results would come after later ones"
    if plan.row_based:
        return "its windows count rows, and which rows are in them is only known while their step runs"
    if plan.aggregation is not None and plan.aggregation.over_us is not None:
        return "it aggregates over a sliding window, which would be over before its deferred results come"
    return None


def clean_up_bytes(limit: MemoryLimit | None, units: int) -> int:
    """What one step cleans up: less than the units can keep open, so that every row is read once for it."""
    return CLEAN_UP_BYTES if limit is None else min(CLEAN_UP_BYTES, units * limit.limit_bytes // CLEAN_UP_DIVISOR)


def groups_to_clean(manifest: Manifest, most: int = CLEAN_UP_BYTES) -> tuple[int, ...]:
    """The groups whose deferred results are found next: at least one of each unit, and of `most` bytes otherwise.

    Those that were pushed first come first: as long as one of them is deferred, no row expires since then.
    """
    state, units = manifest.groups, manifest.layout.group_units
    if state is None:
        return ()
    first = {group: push.step for push in reversed(state.pushes) for group in push.groups}
    sizes: dict[int, int] = defaultdict(int)
    share, chosen = most // manifest.layout.units[0], []
    for group in sorted(state.owing, key=lambda number: (first[number], number)):
        load, unit = state.loads[group], units[group]
        if unit not in sizes or sizes[unit] + load.size + load.pushed_size <= share:
            sizes[unit] += load.size + load.pushed_size
            chosen.append(group)
    return tuple(sorted(chosen))


def returning_groups(limit: MemoryLimit | None, manifest: Manifest) -> tuple[int, ...]:
    """The pushed groups that fit into the memory of their units again, those of few bytes first.

    As much stays free as a push frees, so that they are not pushed again at once.
    """
    state = manifest.groups
    if limit is None or limit.overflow == "read-through" or state is None:
        return ()
    units, used = manifest.layout.group_units, [0] * manifest.layout.units[0]
    for group, load in enumerate(state.loads):
        used[units[group]] += load.size
    most, left, chosen = limit.spill_at * (1 - limit.spill_share) * limit.limit_bytes, CLEAN_UP_BYTES, []
    for group in sorted(state.owing, key=lambda number: (state.loads[number].pushed_size, number)):
        size = state.loads[group].pushed_size
        if used[units[group]] + size <= most and size <= left:
            used[units[group]] += size
            left -= size
            chosen.append(group)
    return tuple(sorted(chosen))


def clean_up_jobs(pushes: tuple[Push, ...], groups: tuple[int, ...], streams: int, step: int) -> Iterator[CleanUp]:
    """The jobs that find the deferred results of some groups, up to the rows of the step before `step`.

    Rows start interval by interval between the pushes of cleaned groups, from the first on; each interval has a job for
    every term of the last stream.
    """
    edges = sorted({push.step for push in pushes if not set(groups).isdisjoint(push.groups)})
    for first, following in pairwise([*edges, step]):
        for term in range(streams - 1):
            yield CleanUp(groups, first, following - 1, term)


def pushes_during(manifest: Manifest, delta: DeltaRecord) -> tuple[Push, ...]:
    """The pushes that the rows of a step came after, its own included."""
    own = (Push(delta.step, delta.pushed, delta.watermarks),) if delta.pushed else ()
    return (*manifest.pushes, *own)


def with_clean_up(state: GroupState, cleaned: tuple[int, ...], rows: int, seconds: float) -> GroupState:
    """The state after some groups were cleaned up, which have one part again; that looked up `rows` in `seconds`."""
    if not cleaned:
        return state
    own, loads = set(cleaned), list(state.loads)
    left = (replace(push, groups=tuple(g for g in push.groups if g not in own)) for push in state.pushes)
    for group in cleaned:
        loads[group] = replace(loads[group], pushed_rows=0, pushed_size=0)
    return replace(
        state,
        loads=tuple(loads),
        pushes=tuple(push for push in left if push.groups),
        cleaned_rows=round(DECAY * state.cleaned_rows + rows, 1),
        cleaned_seconds=round(DECAY * state.cleaned_seconds + seconds, 6),
    )


def begin_parts(state: GroupState, push: Push) -> GroupState:
    """The state with a push: its groups have no bytes in memory, and count their results again.

    What was put apart of them is added when the slots have reported it.
    """
    loads = list(state.loads)
    for group in push.groups:
        loads[group] = replace(loads[group], size=0, results=0)
    return replace(state, loads=tuple(loads), pushes=(*state.pushes, push))


def clean_up_seconds(state: GroupState, slots: int) -> float:
    """How long it takes to find all deferred results, by the pace of the last clean-ups."""
    rows = sum(state.loads[group].pushed_rows for group in state.owing)
    pace = state.cleaned_rows / state.cleaned_seconds if state.cleaned_seconds else ASSUMED_ROWS_PER_SECOND * slots
    return rows / max(pace, 1.0)
