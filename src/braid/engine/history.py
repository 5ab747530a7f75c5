"""The committed past of a query: the last manifest, its results published, and what nothing needs removed.

Several runs may use one checkpoint for a moment. Whatever a run removes here, no other run can still commit: files of
steps that are committed and that no record names, and results of steps that this run has committed anew.
"""

from __future__ import annotations

from dataclasses import replace

from braid.engine.sinks import PublishedFile, Sink
from braid.state.checkpoint import Checkpoint
from braid.state.manifest import Manifest
from braid.state.ownership import Ownership


class History:
    """Commits, publishes and forgets, for the run that owns the checkpoint."""

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
        # What a run that restored an older checkpoint has committed anew, and was stopped before it could remove.
        self._sink.withdraw([f for f in found if f.step >= manifest.owned_since and f.owner < manifest.owner])
        self.publish(manifest)
        self._sweep(manifest)
        return manifest

    def withdrawal(self, step: int) -> list[str]:
        """What committing a step will remove of the output, for the record."""
        undone = self._undone_by(step)
        if not undone:
            return []
        steps = sorted({file.step for file in undone})
        removed = f"removed {len(undone)} output files of the steps {steps[0]} to {steps[-1]}"
        return [f"{removed}: the checkpoint was restored from a copy made before them; their results come again"]

    def commit(self, manifest: Manifest) -> Manifest:
        """The commit of a step, if no newer run has taken over: what was written."""
        since = manifest.step if self._owned_since is None else self._owned_since
        owned = replace(manifest, owner=self._owner.number, owned_since=since)
        self._owner.require()
        self._checkpoint.write_manifest(owned)
        self._owned_since = since
        return owned

    def publish(self, manifest: Manifest) -> None:
        """Give the results of a committed step their names, after those of undone steps are gone."""
        if manifest.owner == self._owner.number:
            self._sink.withdraw(self._undone_by(manifest.step))
            self._undone = []
        self._checkpoint.publish(manifest.moves, self._sink.files)
        self._sink.published(manifest.step)

    def forget(self, manifest: Manifest, previous: Manifest) -> None:
        """Remove what no kept record needs; with its first commit a run knows what earlier runs have left of it."""
        self._checkpoint.forget(manifest, previous)
        if manifest.owned_since == manifest.step:
            self._sweep(manifest)

    def _undone_by(self, step: int) -> list[PublishedFile]:
        return [file for file in self._undone if file.step >= step]

    def _sweep(self, manifest: Manifest) -> None:
        self._checkpoint.sweep(manifest)
        self._sink.sweep({move.source for move in manifest.moves}, manifest.step)
