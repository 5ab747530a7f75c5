"""The numbers of partition groups and units that the memory controllers decide from.

All are recorded with the state, so a decision is a function of the record. A *part* of a group has the rows between two
of its spills. Sizes, outputs and inserts are those of the newest part: what was spilled uses no memory, and whether it
was productive says little about the rows that came after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from braid.state.observed.groups import MemoryHistory

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UnderWay = Literal["spill", "relocation"]
"""An adaptation that was decided in an earlier step and is not complete: until then there is no other."""


@dataclass(frozen=True, eq=False)
class Groups:
    """One number per group in every array; group g is at index g."""

    owners: Numbers
    """The unit that each group is assigned to."""
    sizes: Numbers
    """Bytes in memory, of all streams: P_s."""
    outputs: Numbers
    """Results that the rows in memory have found among themselves: P_o."""
    last_inserts_ms: Numbers
    """When the newest row was stored: T_u. Of no meaning for a group without bytes."""
    debts: Flags
    """Whether results are deferred because earlier rows were spilled."""
    sampled_outputs: Numbers
    """Results since the present sampling interval began, whichever unit found them."""

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in vars(self).items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"numbers of partition groups with different lengths: {lengths}")

    def __len__(self) -> int:
        return len(self.owners)

    def at(self, unit: int) -> Numbers:
        """The groups of a unit that have bytes in memory."""
        return np.flatnonzero((self.owners == unit) & (self.sizes > 0))


@dataclass(frozen=True, eq=False)
class MemoryState:
    """All that a decision in a step depends on."""

    step: int
    now_ms: int
    """The clock of the step, as recorded."""
    groups: Groups
    used_bytes: Numbers
    """The memory that each unit uses: the sizes of its groups, and whatever else counts."""
    history: MemoryHistory
    spilled_bytes: int = 0
    """Live bytes of spilled parts, at all units."""
    under_way: UnderWay | None = None

    @property
    def units(self) -> int:
        return len(self.used_bytes)

    @property
    def live_bytes(self) -> int:
        """All bytes of the query's state, in memory or spilled."""
        return int(self.used_bytes.sum()) + self.spilled_bytes

    @property
    def sampled_since_ms(self) -> int:
        """When the present sampling interval began."""
        return self.history.started_ms if self.history.sampled_ms is None else self.history.sampled_ms


def used_bytes(groups: Groups, units: int) -> Numbers:
    """The bytes of the groups of each unit."""
    return np.bincount(groups.owners, groups.sizes, units).astype(np.int64)
