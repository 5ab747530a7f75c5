"""When deferred results are found while a run goes on: before a batch, or between two batches."""

from __future__ import annotations

from braid.control.memory.deferring import CLEAN_UP_BYTES, Returning, groups_to_clean
from braid.engine.memory.disk import DiskLimit
from braid.state.manifest import Manifest


class DueCleanUps:
    """What an earlier run has deferred comes first, and what fills the disk before that has no room left.

    As long as results are deferred, no row expires that came after their push.
    """

    def __init__(self, manifest: Manifest, returning: Returning, disk: DiskLimit, most_bytes: int | None) -> None:
        self._owes = bool(manifest.pushes)
        self._returning = returning
        self._disk = disk
        self._most_bytes = CLEAN_UP_BYTES if most_bytes is None else most_bytes
        self._last_batch: int | None = None

    def before_batch(self, manifest: Manifest) -> bool:
        """Whether a clean-up is due before the next batch, after those that came before it already.

        On a disk with little room one comes before each batch, and on one without room for the batch all of them.
        """
        if not manifest.pushes:
            self._owes = False
            return False
        room, first = self._disk.room, self._last_batch != manifest.batch
        self._last_batch = manifest.batch
        return self._owes or room == "none" or (room == "little" and first)

    def following(self, manifest: Manifest) -> tuple[int, ...]:
        """The groups that are next, so many that their bytes are bounded."""
        return groups_to_clean(manifest, self._most_bytes)

    def between(self, manifest: Manifest) -> tuple[int, ...] | None:
        """The groups that a step without input cleans up; None: those that are next."""
        # If no batch comes, nothing else finds these.
        return None if self._owes or self._disk.room != "enough" else self._returning(manifest)
