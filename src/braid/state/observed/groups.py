"""What is known of partition groups between two steps, and which of their rows are not looked up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupLoad:
    """Of a partition group: the bytes of its rows, its results, and when a row was last stored.

    Rows and results are those of its newest part. `sampled` are its results since the present sampling interval began.
    """

    size: int = 0
    results: int = 0
    inserted_ms: int = 0
    sampled: int = 0


@dataclass(frozen=True)
class MemoryHistory:
    """What the memory controllers recorded in earlier steps."""

    started_ms: int
    """When the query began to store rows."""
    relocated_ms: int | None = None
    """When groups last moved."""
    sampled_ms: int | None = None
    """When the present sampling interval began; None: at `started_ms`."""
    sampled_bytes: int = 0
    """All live bytes at that time, in memory or spilled."""
    forced_bytes: int = 0
    """What active-disk has spilled at units that were not full."""


@dataclass(frozen=True)
class GroupState:
    """The load of each partition group, and what the controllers recorded."""

    loads: tuple[GroupLoad, ...]
    history: MemoryHistory
