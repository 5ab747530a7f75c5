"""The committed history of a query: last manifest, publication of its results, removal of unneeded files.

Several runs may use one checkpoint for a moment. A run removes only what no other run can still commit: files of
committed steps that no record names, and results of steps that this run has committed again.
"""

from __future__ import annotations

from dataclasses import replace

from braid.engine.sinks import PublishedFile, Sink
from braid.state.checkpoint import Checkpoint
from braid.state.manifest import Manifest
from braid.state.ownership import Ownership


class History:
    """Commits, publishes and removes, for the run that owns the checkpoint."""

    def __init__(self, checkpoint: Checkpoint, sink: Sink, owner: Ownership) -> None:
        self._checkpoint = checkpoint
        self._sink = sink
        self._owner = owner
        self._owned_since: int | None = None
        self._undone: list[PublishedFile] = []

    def recover(self) -> Manifest | None:
        """The last manifest, its results published; None before the first step."""
        manifest = self._checkpoint.last_manifest()
        found = self._sink.published_files()
        if manifest is None:
            self._undone = found
            return None
        self._undone = [file for file in found if file.step > manifest.step and file.owner < self._owner.number]
        # Results of steps that a run committed again from an older checkpoint, and did not yet remove.
        self._sink.withdraw([f for f in found if f.step >= manifest.owned_since and f.owner < manifest.owner])
        self.publish(manifest)
        self._sweep(manifest)
        return manifest

    def withdrawal(self, step: int) -> list[str]:
        """The output files that committing a step will remove, as text for its progress."""
        undone = self._undone_by(step)
        if not undone:
            return []
        steps = sorted({file.step for file in undone})
        removed = f"removed {len(undone)} output files of the steps {steps[0]} to {steps[-1]}"
        return [f"{removed}: the checkpoint was restored from a copy made before them; their results come again"]

    def commit(self, manifest: Manifest) -> Manifest:
        """Commit a step, unless a newer run has taken over; the manifest that was written."""
        since = manifest.step if self._owned_since is None else self._owned_since
        owned = replace(manifest, owner=self._owner.number, owned_since=since)
        self._owner.require()
        self._checkpoint.write_manifest(owned)
        self._owned_since = since
        return owned

    def publish(self, manifest: Manifest) -> None:
        """Rename the results of a committed step to their final names, after those of undone steps are removed."""
        if manifest.owner == self._owner.number:
            self._sink.withdraw(self._undone_by(manifest.step))
            self._undone = []
        self._checkpoint.publish(manifest.moves, self._sink.files)
        self._sink.published(manifest.step)

    def forget(self, manifest: Manifest, previous: Manifest) -> None:
        """Remove what no kept record needs; with its first commit a run also removes what earlier runs left."""
        self._checkpoint.forget(manifest, previous)
        if manifest.owned_since == manifest.step:
            self._sweep(manifest)

    def _undone_by(self, step: int) -> list[PublishedFile]:
        return [file for file in self._undone if file.step >= step]

    def _sweep(self, manifest: Manifest) -> None:
        self._checkpoint.sweep(manifest)
        self._sink.sweep({move.source for move in manifest.moves}, manifest.step)
