"""Which groups move from the unit with the most memory in use to the one with the least.

Half of the difference moves, at most: then the two are even, and no move makes the target fuller than the source was.
Productive groups move, because what stays at a full unit may be spilled. A group with deferred results never moves: its
clean-up would need rows of two units.
"""

from __future__ import annotations

import numpy as np

from braid.control.memory.decisions import Nothing, Relocate
from braid.control.memory.groups import Groups, MemoryState, Numbers
from braid.control.memory.settings import MemorySettings
from braid.control.memory.spilling import productive_order


def is_balanced(settings: MemorySettings, state: MemoryState) -> bool:
    """Whether the emptiest unit uses at least the share `balance` of what the fullest uses."""
    return bool(state.used_bytes.min() >= settings.balance * state.used_bytes.max())


def decide_relocation(settings: MemorySettings, state: MemoryState) -> Relocate | Nothing:
    """The groups that move now, or why none does."""
    used, moved_ms = state.used_bytes, state.history.relocated_ms
    if is_balanced(settings, state):
        return Nothing(f"every unit uses at least {settings.balance:.0%} of what the fullest uses")
    source, target = int(used.argmax()), int(used.argmin())
    difference = f"unit {target} uses {used[target] / used[source]:.0%} of what unit {source} uses"
    if moved_ms is not None and state.now_ms - moved_ms < settings.min_interval_ms:
        ago = f"{(state.now_ms - moved_ms) / 1000:g} s ago"
        return Nothing(f"{difference}, but groups moved {ago}, and {settings.min_interval_ms / 1000:g} s must pass")
    half = int(used[source] - used[target]) // 2
    order = productive_order(state.groups, movable(state.groups, source))
    chosen = _fitting(order, state.groups.sizes[order], half)
    if not len(chosen):
        return Nothing(f"{difference}, but no group without deferred results is as small as half of the difference")
    reason = f"{difference}, less than {settings.balance:.0%}"
    return Relocate(tuple(np.sort(chosen).tolist()), source, target, int(state.groups.sizes[chosen].sum()), reason)


def movable(groups: Groups, unit: int) -> Numbers:
    """The groups of a unit that have bytes in memory and no deferred results."""
    own = groups.at(unit)
    return own[~groups.debts[own]]


def _fitting(order: Numbers, sizes: Numbers, most_bytes: int) -> Numbers:
    """The groups that fit, in their order; one that is too large is passed over."""
    chosen, left = [], most_bytes
    for group, size in zip(order.tolist(), sizes.tolist(), strict=True):
        if size <= left:
            chosen.append(group)
            left -= size
    return np.array(chosen, np.int64)
