"""The settings of the memory controllers, as a query has them: bytes, milliseconds and shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Victims = Literal["unproductive", "productive", "random"]
"""Which active groups are spilled first: those with few results for their bytes, with many, or any."""

Overflow = Literal["lazy-disk", "active-disk"]
"""Who spills: only a unit that is full; or also, in a balanced cluster, the unit with much fewer results."""


@dataclass(frozen=True)
class MemorySettings:
    """What the controllers compare the numbers of groups and units with."""

    limit_bytes: int
    """The memory of each unit."""
    overflow: Overflow = "lazy-disk"
    spill_at: float = 0.9
    """A unit spills when it uses more than this share of its memory."""
    spill_share: float = 0.3
    """How much of its bytes a unit spills at once."""
    victims: Victims = "unproductive"
    seed: int = 0
    """Random victims are a function of this number, the step and the group."""
    inactive_after_ms: int | None = None
    """A group without new rows for longer is inactive, and is spilled before all others; None: no group is."""
    balance: float = 0.8
    """Groups move when the emptiest unit uses less than this share of what the fullest uses."""
    min_interval_ms: int = 45_000
    """The least time between two relocations."""
    rate_ratio: float = 2.0
    """Active-disk: the unit with the fewest results per group spills when another has more than so many times that."""
    sample_every_ms: int = 45_000
    """Active-disk: how long results are counted before units are compared."""

    @property
    def spill_bytes(self) -> float:
        """The bytes above which a unit spills."""
        return self.spill_at * self.limit_bytes
