"""The limit on the size of a checkpoint: jobs are refused before they would exceed it.

The size is measured before every job. A job adds at most what it reads of blocks that it merges, and an ingest as much
as the largest one before it did; the first ingest of a run cannot be judged. A refused step was not committed, and its
rows are read or probed again after a restart with a larger limit.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

from braid.engine.commands import Command, IngestCommand, ProbeCommand, RoundsCommand
from braid.errors import StorageError, StorageWarning
from braid.plan.sizes import format_bytes
from braid.state.files import Files
from braid.state.manifest import Merge

# The share of the limit at which a run warns, and begins to find deferred results.
EARLY = 0.8

Room = Literal["enough", "little", "none"]
"""Whether a checkpoint has room for another batch; `little` is over the share at which a run warns."""


class DiskLimit:
    """Watches the size of a checkpoint; without a limit it does nothing."""

    def __init__(self, files: Files, checkpoint: str, limit: int | None) -> None:
        self._files = files
        self._checkpoint = checkpoint
        self._limit = limit
        self._warned = False
        self._before_ingest: int | None = None
        self._largest_ingest = 0
        self.size = 0

    def require(self, command: Command[Any]) -> None:
        """Before a job: StorageError if it could make the checkpoint larger than its limit."""
        if self._limit is None:
            return
        self.size = self._files.tree_size(self._checkpoint)
        if self._before_ingest is not None:
            self._largest_ingest = max(self._largest_ingest, self.size - self._before_ingest)
            self._before_ingest = None
        growth = _merged_bytes(command)
        if isinstance(command, IngestCommand):
            self._before_ingest, growth = self.size, self._largest_ingest
        if self.size + growth > self._limit:
            raise self._refusal(growth)
        if self.size + growth > EARLY * self._limit and not self._warned:
            self._warned = True
            warnings.warn(self._warning(), StorageWarning, stacklevel=2)

    @property
    def room(self) -> Room:
        """How much room the next batch would find, by what is known since the last job."""
        expected = self.size + self._largest_ingest
        if self._limit is None or expected <= EARLY * self._limit:
            return "enough"
        return "little" if expected <= self._limit else "none"

    def progress(self) -> dict[str, int]:
        """The size before the last job, and the limit; empty without one."""
        return {} if self._limit is None else {"diskBytes": self.size, "diskLimit": self._limit}

    def _refusal(self, growth: int) -> StorageError:
        return StorageError(
            f"The checkpoint {self._checkpoint} has {format_bytes(self.size)}, and this step could add "
            f"{format_bytes(growth)}: more than .memory(disk_limit={format_bytes(self._limit or 0)!r}) allows.",
            hint="Nothing is lost: start the query again with a larger disk_limit, and it continues with this step. "
            "Shorter windows, or rows with fewer columns, need less.",
        )

    def _warning(self) -> str:
        limit = self._limit or 0
        return (
            f"The checkpoint {self._checkpoint} has {format_bytes(self.size)}, over {EARLY:.0%} of "
            f".memory(disk_limit={format_bytes(limit)!r}); the run stops before the limit is exceeded."
        )


def _merged_bytes(command: Command[Any]) -> int:
    """What a job may write of blocks that exist: the rows that slots gather, and those of merges."""
    if isinstance(command, RoundsCommand):
        return sum(_merged_bytes(probe) for probe in command.probes)
    if not isinstance(command, ProbeCommand):
        return 0
    sizes = {block.file: block.size for block in command.blocks}
    gathered = sum(sizes.get(file, 0) for merge in command.gathers for file in merge.files)
    return gathered + sum(_written_bytes(merge, sizes) + _payload_bytes(merge, command) for merge in command.merges)


def _payload_bytes(merge: Merge, command: ProbeCommand) -> int:
    """The payloads that a merge stores with their rows."""
    blocks = [block for block in command.blocks if merge.whole and block.file in merge.files and block.addressed]
    steps = {step for block in blocks for step in range(block.first_step, block.last_step + 1)}
    return sum(payload.size for payload in command.payloads if payload.stream == merge.stream and payload.step in steps)


def _written_bytes(merge: Merge, sizes: dict[str, int]) -> int:
    """What the slices of this step may have, and the parts that its last step copies."""
    read = sum(sizes.get(file, 0) for file in merge.files)
    return read * (merge.last - merge.first) // merge.slices + sum(part.size for part in merge.copied)
