"""What the memory controllers decide: groups are spilled, groups move, or nothing happens, with the reason.

The groups of a decision are recorded before the step acts, so a replay repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass

from braid.state.observed.groups import MemoryHistory


@dataclass(frozen=True)
class Spill:
    """The groups begin a new part at their unit; the earlier rows leave memory, and results with them are deferred."""

    unit: int
    groups: tuple[int, ...]
    size_bytes: int
    reason: str

    def describe(self) -> str:
        return f"spills {_groups(self.groups)} ({_megabytes(self.size_bytes)}) at unit {self.unit}: {self.reason}"


@dataclass(frozen=True)
class Relocate:
    """The groups belong to another unit from this step on."""

    groups: tuple[int, ...]
    source: int
    target: int
    size_bytes: int
    reason: str

    def describe(self) -> str:
        moved = f"{_groups(self.groups)} ({_megabytes(self.size_bytes)})"
        return f"moves {moved} from unit {self.source} to unit {self.target}: {self.reason}"


@dataclass(frozen=True)
class Nothing:
    """No adaptation, and why."""

    reason: str


@dataclass(frozen=True)
class Decided:
    """The outcome of a step: one relocation, or spills of different units, or nothing; never both kinds."""

    adaptations: tuple[Spill | Relocate | Nothing, ...]
    history: MemoryHistory
    sample_ends: bool = False
    """Whether `sampled_outputs` start again at 0 after this step."""


def _groups(groups: tuple[int, ...]) -> str:
    return f"partition group {groups[0]}" if len(groups) == 1 else f"{len(groups)} partition groups"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
