"""How much memory a query would use if nothing were spilled: M_q of active-disk."""

from __future__ import annotations

from braid.control.memory.groups import MemoryState


def estimated_bytes(state: MemoryState) -> int:
    """All live bytes, and what is added if they grow as in this sampling interval for as long as the query has run.

    Windows that are full do not grow, so then it is what is live. Without windows the query is expected to run as long
    again as it has: at a constant rate the estimate is twice what is live.
    """
    interval_ms = state.now_ms - state.sampled_since_ms
    if interval_ms <= 0:
        return state.live_bytes
    growth = max(0, state.live_bytes - state.history.sampled_bytes)
    return state.live_bytes + growth * (state.now_ms - state.history.started_ms) // interval_ms
