"""The manifests of a checkpoint: a snapshot every few steps, and between them what changed.

The record of a step is a whole manifest, or the change from the manifest before it. A change names the checksum of the
record that it follows, so records of different histories are never combined. There is one record for a step, created
only if absent: it is the commit of the step, whichever kind it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from braid.errors import CorruptStateError
from braid.state.changes import apply, difference
from braid.state.compact import from_compact, to_compact
from braid.state.files import Files
from braid.state.manifest import Manifest
from braid.state.records import read_checked, write_record

DIRECTORY = "manifests"
# A start reads at most so many changes. A snapshot of 256 slots has the bytes of about five changes.
SNAPSHOT_EVERY = 16
# The committed state and the one before it: files that a step drops are deleted one commit later.
KEPT_STATES = 2
SNAPSHOT, CHANGE, FOLLOWS = "snapshot", "change", "follows"


def kept_records() -> int:
    """How many records are kept: those of the kept states, back to the snapshot that the oldest may need."""
    return KEPT_STATES + SNAPSHOT_EVERY - 1


@dataclass(frozen=True)
class Committed:
    """A manifest with the checksum of its record, and the number of changes since the last snapshot."""

    manifest: Manifest
    checksum: str
    changes: int


class Manifests:
    """Reads and writes the manifests of one checkpoint; knows the newest that it has read or written."""

    def __init__(self, files: Files, checkpoint: str) -> None:
        self._files = files
        self._directory = f"{checkpoint}/{DIRECTORY}"
        self._known: Committed | None = None

    def path(self, step: int) -> str:
        return f"{self._directory}/{step:012d}.json"

    def last(self) -> Manifest | None:
        """The committed state, or None before the first step."""
        newest = self._newest()
        while newest is not None:
            try:
                self._known = self._read(newest)
                return self._known.manifest
            except CorruptStateError:
                # Another run may have continued, and deleted the record or one before it that was listed.
                listed, newest = newest, self._newest()
                if newest == listed:
                    raise
        self._known = None
        return None

    def write(self, manifest: Manifest) -> None:
        """FileExistsError if the step has a record."""
        before, changes = self._known, 0
        content: dict[str, Any]
        if before is not None and before.manifest.step == manifest.step - 1 and before.changes + 1 < SNAPSHOT_EVERY:
            changes = before.changes + 1
            content = {FOLLOWS: before.checksum, CHANGE: difference(before.manifest, manifest)}
        else:
            content = {SNAPSHOT: to_compact(manifest)}
        checksum = write_record(self._files, self.path(manifest.step), content)
        self._known = Committed(manifest, checksum, changes)

    def _newest(self) -> int | None:
        """The newest step with a record."""
        names = [name[: -len(".json")] for name in self._files.list(self._directory) if name.endswith(".json")]
        return max((int(name) for name in names if name.isdigit()), default=None)

    def _read(self, step: int) -> Committed:
        """The manifest of a step: the last snapshot up to it, and the changes after that."""
        changes: list[tuple[str, dict[str, Any], str]] = []
        while True:
            path = self.path(step - len(changes))
            content, checksum = read_checked(self._files, path, "manifest")
            if not changes and self._known is not None and self._known.checksum == checksum:
                # Unchanged since it was read or written. The next change needs the same objects (`difference`).
                return self._known
            if changes and changes[-1][1].get(FOLLOWS) != checksum:
                raise _mixed(changes[-1][0], path)
            if CHANGE not in content:
                break
            changes.append((path, content, checksum))
        committed = Committed(_manifest(path, None, content), checksum, 0)
        for path, change, checksum in reversed(changes):
            committed = Committed(_manifest(path, committed.manifest, change), checksum, committed.changes + 1)
        return committed


def _manifest(path: str, before: Manifest | None, content: dict[str, Any]) -> Manifest:
    """The manifest of a record, given the one that it follows."""
    try:
        return from_compact(Manifest, content[SNAPSHOT]) if before is None else apply(before, content[CHANGE])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise CorruptStateError(f"The manifest {path} cannot be read: {error}.") from error


def _mixed(path: str, before: str) -> CorruptStateError:
    return CorruptStateError(
        f"The manifest {path} does not follow {before}: the two records are of different histories of the checkpoint.",
        hint="Restore the whole checkpoint directory from one copy, then start the query again.",
    )
