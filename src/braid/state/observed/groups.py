"""What is known of partition groups between two steps, and which of their rows are not looked up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupLoad:
    """Of a partition group: the bytes of its rows, its results, and when a row was last stored.

    Rows and results are those of its newest part. `sampled` are its results since the present sampling interval began,
    `pushed_rows` and `pushed_size` the rows of earlier parts, and their bytes.
    """

    size: int = 0
    results: int = 0
    inserted_ms: int = 0
    sampled: int = 0
    pushed_rows: int = 0
    pushed_size: int = 0


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
class Push:
    """Groups that were pushed before the rows of a step: rows up to the step before are an earlier part of them.

    Results across parts are deferred. `watermarks` are those of the step: what had not expired by them is kept.
    """

    step: int
    groups: tuple[int, ...]
    watermarks: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class GroupState:
    """The load of each partition group, what the controllers recorded, and the pushes whose results are deferred.

    `cleaned_rows` were looked up in the last clean-ups, in `cleaned_seconds`; both decay.
    """

    loads: tuple[GroupLoad, ...]
    history: MemoryHistory
    pushes: tuple[Push, ...] = ()
    cleaned_rows: float = 0.0
    cleaned_seconds: float = 0.0

    @property
    def owing(self) -> tuple[int, ...]:
        """The groups with deferred results."""
        return tuple(sorted({group for push in self.pushes for group in push.groups}))
