"""Lazy-disk: groups move while some unit has memory left; a unit spills only if that cannot help it.

One kind of adaptation at a time: nothing is decided while an earlier one is under way, and a step that moves groups
spills none. Memory balance comes first. A unit that is full spills at once where groups may not move: too soon after
the last relocation, no group fits, or the target would be full itself.
"""

from __future__ import annotations

from dataclasses import replace

from braid.control.memory.decisions import Decided, Nothing, Relocate
from braid.control.memory.groups import MemoryState
from braid.control.memory.relocation import decide_relocation
from braid.control.memory.settings import MemorySettings
from braid.control.memory.spilling import choose_spill, full_units


def decide_lazy_disk(settings: MemorySettings, state: MemoryState) -> Decided:
    """The adaptation of a step."""
    if state.under_way is not None:
        return Decided((Nothing(f"a {state.under_way} is under way"),), state.history)
    move = decide_relocation(settings, state)
    if isinstance(move, Relocate) and _has_room(settings, state, move):
        return Decided((move,), replace(state.history, relocated_ms=state.now_ms))
    full = full_units(settings, state).tolist()
    spills = [choose_spill(settings, state, unit, _reason(settings, state, unit)) for unit in full]
    chosen = tuple(spill for spill in spills if spill is not None)
    if chosen:
        return Decided(chosen, state.history)
    if full:
        return Decided((Nothing(f"unit {full[0]} is full, but has no rows in memory to spill"),), state.history)
    return Decided((Nothing(move.reason),), state.history)


def _has_room(settings: MemorySettings, state: MemoryState, move: Relocate) -> bool:
    """Whether the target is not full after the move."""
    return float(state.used_bytes[move.target]) + move.size_bytes <= settings.spill_bytes


def _reason(settings: MemorySettings, state: MemoryState, unit: int) -> str:
    share = state.used_bytes[unit] / settings.limit_bytes
    return f"it uses {share:.0%} of its memory, more than {settings.spill_at:.0%}"
