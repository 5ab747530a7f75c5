"""How much memory a query would use if nothing were spilled: M_q of active-disk."""

from __future__ import annotations

from braid.control.memory.groups import MemoryState


def estimated_bytes(state: MemoryState) -> int:
    """What will be live at the end of the next sampling interval, if as much is added as in this one.

    Windows that are full do not grow, so then it is what is live. Looking further ahead spills too much too early; the
    next comparison can still spill what is then needed.
    """
    return state.live_bytes + max(0, state.live_bytes - state.history.sampled_bytes)
