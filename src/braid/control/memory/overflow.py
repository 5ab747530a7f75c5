"""What a query does about its memory in a step: the one entry point of the memory controllers."""

from __future__ import annotations

from braid.control.memory.active_disk import decide_active_disk
from braid.control.memory.decisions import Decided
from braid.control.memory.estimates import estimated_bytes
from braid.control.memory.groups import MemoryState
from braid.control.memory.lazy_disk import decide_lazy_disk
from braid.control.memory.settings import MemorySettings


def decide_overflow(settings: MemorySettings, state: MemoryState) -> Decided:
    """The adaptation of a step by the query's policy; a function of what is recorded."""
    if settings.overflow == "lazy-disk":
        return decide_lazy_disk(settings, state)
    return decide_active_disk(settings, state, estimated_bytes(state))
