"""Active-disk: as lazy-disk; and in a balanced cluster the unit with much fewer results spills before it is full.

That leaves memory for productive groups, which then move there. The rate of a unit is its results in a sampling
interval divided by its groups. Results belong to the group that found them: after a relocation they count at its new
unit. At most M_q - M_c bytes are spilled in this way, the estimated memory of the query minus that of all units: more
would never have been needed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from braid.control.memory.decisions import Decided, Nothing, Spill
from braid.control.memory.groups import MemoryState
from braid.control.memory.lazy_disk import decide_lazy_disk
from braid.control.memory.relocation import is_balanced
from braid.control.memory.settings import MemorySettings
from braid.control.memory.spilling import choose_spill


def decide_active_disk(settings: MemorySettings, state: MemoryState, query_bytes: int) -> Decided:
    """The adaptation of a step; `query_bytes` is M_q. Units are compared when a sampling interval is complete."""
    decided = decide_lazy_disk(settings, state)
    if state.now_ms - state.sampled_since_ms < settings.sample_every_ms:
        return decided
    history = replace(decided.history, sampled_ms=state.now_ms, sampled_bytes=state.live_bytes)
    forced = decided.adaptations
    is_idle = isinstance(forced[0], Nothing) and state.under_way is None
    if is_idle and is_balanced(settings, state):
        choice = _force(settings, state, query_bytes)
        forced = (choice,)
        if isinstance(choice, Spill):
            history = replace(history, forced_bytes=_forced_before(state) + choice.size_bytes)
    return Decided(forced, history, sample_ends=True)


def rates(state: MemoryState) -> npt.NDArray[np.float64]:
    """Results per group of each unit in the sampling interval; NaN for a unit without groups."""
    owners = state.groups.owners
    found = np.bincount(owners, state.groups.sampled_outputs, state.units)
    counts = np.bincount(owners, minlength=state.units)
    return np.asarray(np.divide(found, counts, out=np.full(state.units, np.nan), where=counts > 0))


def _force(settings: MemorySettings, state: MemoryState, query_bytes: int) -> Spill | Nothing:
    """The spill of the unit with the lowest rate, or why there is none."""
    per_unit = rates(state)
    high, low = float(np.nanmax(per_unit)), float(np.nanmin(per_unit))
    if high <= settings.rate_ratio * low:
        return Nothing(f"no unit finds more than {settings.rate_ratio:g} times the results per group of another")
    cluster = state.units * settings.limit_bytes
    cap = query_bytes - cluster - _forced_before(state)
    if cap <= 0:
        return Nothing("the units have enough memory for what is expected and not spilled")
    unit = int(np.nanargmin(per_unit))
    reason = (
        f"it finds {low:g} results per group, unit {int(np.nanargmax(per_unit))} {high:g}, "
        f"more than {settings.rate_ratio:g} times as many"
    )
    spill = choose_spill(settings, state, unit, reason, at_most_bytes=cap)
    return Nothing(f"unit {unit} has no group of at most {cap:,} bytes to spill") if spill is None else spill


def _forced_before(state: MemoryState) -> int:
    """The bytes spilled in this way that are still live; what was cleaned up or has expired no longer counts."""
    return min(state.history.forced_bytes, state.spilled_bytes)
