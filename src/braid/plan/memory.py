"""The memory limit of a query: what a user allows each unit, and what that means for the workers of an executor.

Workers serve any slot, so a limit per unit is obeyed per executor: the units of its slots share one allowance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Overflow = Literal["read-through", "lazy-disk", "active-disk"]
"""What becomes of state over the limit: read from storage when probed, or joined later, decided by unit or by all."""

Victims = Literal["unproductive", "productive", "random"]
"""Which partition groups are pushed to disk first."""


@dataclass(frozen=True)
class MemoryLimit:
    """Resident memory per unit, and what happens beyond it; `disk_bytes` of checkpoint, `cache_bytes` of local copies.

    The fields from `spill_at` to `sample_every_us` concern overflow that defers results; None: the controller chooses.
    """

    limit_bytes: int
    overflow: Overflow = "read-through"
    spill_at: float = 0.9
    spill_share: float = 0.3
    victims: Victims = "unproductive"
    inactive_after_us: int | None = None
    balance: float = 0.8
    min_interval_us: int | None = None
    rate_ratio: float | None = None
    sample_every_us: int | None = None
    disk_bytes: int | None = None
    cache_bytes: int | None = None

    def for_tasks(self, slots: int, slots_here: int, workers: Literal["counted", "one"] = "counted") -> TaskMemory:
        """What tasks need to know, with so many slots, `slots_here` of them at an executor."""
        return TaskMemory(self.limit_bytes, slots, slots_here, workers, self.cache_bytes)


@dataclass(frozen=True)
class TaskMemory:
    """The limit as tasks obey it: `limit_bytes` for every unit of the executor's slots, by all of its workers together.

    `workers` are counted by each task, or there is one, which runs all tasks. None: no limit on local copies.
    """

    limit_bytes: int
    slots: int
    slots_here: int
    workers: Literal["counted", "one"] = "counted"
    cache_bytes: int | None = None

    def executor_bytes(self, units: int) -> int:
        """What an executor may hold, if there are so many units."""
        return self.limit_bytes * max(1, units * self.slots_here // self.slots)


# What a worker needs besides the state that it keeps, measured with the smallest pieces (docs/design, memory limit):
# below this the limit could not be obeyed.
FLOOR_BYTES = 24 << 20


def floor_bytes(slots: int, units: int) -> int:
    """The smallest limit per unit that can be obeyed: each slot has a worker, and the units share what workers need."""
    return -(-FLOOR_BYTES * slots // max(1, units))
