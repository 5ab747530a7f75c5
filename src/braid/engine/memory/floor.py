"""The smallest memory limit that workers can obey."""

from __future__ import annotations

from braid.errors import StrategyError
from braid.plan.memory import MemoryLimit, floor_bytes
from braid.plan.sizes import format_bytes


def require_floor(memory: MemoryLimit, slots: int, units: int) -> None:
    """Refuse a limit below what the workers of all slots need, whatever they keep."""
    floor = floor_bytes(slots, units)
    if memory.limit_bytes < floor:
        raise StrategyError(
            f".memory(limit={format_bytes(memory.limit_bytes)!r}) is below the {format_bytes(floor)} that each of "
            f"{units} units needs here: each of {slots} slots has a worker, which needs memory for its rows.",
            hint=f'Give a limit of at least "{format_bytes(floor)}", or use more units or fewer cores.',
        )
