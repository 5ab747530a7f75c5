"""What a query does about its memory in a step: the one entry point of the memory controllers."""

from __future__ import annotations

from functools import partial
from typing import Any

from braid.control.memory.active_disk import decide_active_disk
from braid.control.memory.adapting import Decide
from braid.control.memory.decisions import Decided
from braid.control.memory.estimates import estimated_bytes
from braid.control.memory.groups import MemoryState
from braid.control.memory.lazy_disk import decide_lazy_disk
from braid.control.memory.settings import MemorySettings, Overflow
from braid.plan.memory import MemoryLimit


def policy_of(limit: MemoryLimit | None) -> Decide | None:
    """The policy of a query with this limit; None if it defers nothing."""
    if limit is None or limit.overflow == "read-through":
        return None
    return partial(decide_overflow, settings_of(limit, limit.overflow))


def settings_of(limit: MemoryLimit, overflow: Overflow) -> MemorySettings:
    """What the controllers compare with, where a user gave it, and their own choice elsewhere."""
    times = [("inactive_after_ms", limit.inactive_after_us), ("min_interval_ms", limit.min_interval_us)]
    times.append(("sample_every_ms", limit.sample_every_us))
    given: dict[str, Any] = {name: us // 1000 for name, us in times if us is not None}
    given |= {} if limit.rate_ratio is None else {"rate_ratio": limit.rate_ratio}
    return MemorySettings(
        limit.limit_bytes, overflow, limit.spill_at, limit.spill_share, limit.victims, balance=limit.balance, **given
    )


def decide_overflow(settings: MemorySettings, state: MemoryState) -> Decided:
    """The adaptation of a step by the query's policy; a function of what is recorded."""
    if settings.overflow == "lazy-disk":
        return decide_lazy_disk(settings, state)
    return decide_active_disk(settings, state, estimated_bytes(state))
