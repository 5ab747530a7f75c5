"""The checkpoint directory: its layout, and reading and writing its records.

query-<n>.json        what the query is; the newest counts
manifests/<step>      the committed state, whole or as a change; the newest counts, one older can still be read
deltas/<step>         input and decisions of the step in progress
failures/<step>       that a predicate failed in the step in progress
owners/<number>       which runs have claimed the checkpoint; the newest may commit
blocks/               the rows
staging/              files of the step in progress
commands/             commands to the tasks of the step in progress, where they are long
progress/             how far tasks of the step in progress are that take long, as names of empty files
late/<stream>/        late rows, published like results
spark/                Spark's own checkpoint
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from braid.errors import CorruptStateError, StepCommittedError
from braid.state.compact import from_compact, to_compact
from braid.state.files import Files
from braid.state.manifest import DeltaRecord, Manifest, Move
from braid.state.manifests import Manifests, kept_records
from braid.state.object_stores.many_files import delete_all, move_all
from braid.state.records import read_record, write_record
from braid.state.sweeping import unnamed_files

# The directories of which at least one has files as soon as a batch was planned.
STORED = ("manifests", "deltas", "failures", "blocks", "late", "spark/offsets", "spark/commits")


class Checkpoint:
    """Reads and writes the records of one query."""

    def __init__(self, files: Files, path: str) -> None:
        self.files = files
        self.path = path
        self._manifests = Manifests(files, path)

    def read_query(self) -> dict[str, Any] | None:
        """The newest query record; None in a new checkpoint."""
        names = self._query_names()
        return read_record(self.files, f"{self.path}/{names[-1]}", "query record") if names else None

    def next_query(self) -> int:
        """The number of the query record that would be written next."""
        names = self._query_names()
        return int(names[-1][len("query-") : -len(".json")]) + 1 if names else 0

    def write_query(self, content: dict[str, Any], number: int) -> None:
        """FileExistsError if another run has written a record of that number."""
        self.files.make_directory(self.path)
        write_record(self.files, f"{self.path}/query-{number:06d}.json", content)

    def stored(self) -> list[str]:
        """The directories with files of a started query; none if nothing is stored yet."""
        return [directory for directory in STORED if self.files.list(f"{self.path}/{directory}")]

    def clear_sources(self) -> None:
        """Before a query's first batch: remove Spark's source logs of an earlier query that never had a batch."""
        if self.files.exists(f"{self.path}/spark"):
            self.files.delete_tree(f"{self.path}/spark")

    def has_failed(self, step: int) -> bool:
        """Whether a predicate failed in this step, so that a corrected query may take the step over."""
        return self.files.exists(self._failure(step))

    def write_failure(self, step: int, message: str) -> None:
        if not self.has_failed(step):
            write_record(self.files, self._failure(step), {"step": step, "message": message})

    def last_manifest(self) -> Manifest | None:
        """The committed state, or None before the first step."""
        return self._manifests.last()

    def write_manifest(self, manifest: Manifest) -> None:
        """The commit of a step, made once: StepCommittedError if another run was first."""
        try:
            self._manifests.write(manifest)
        except FileExistsError as error:
            raise StepCommittedError(
                f"Step {manifest.step} of the checkpoint {self.path} was committed by another run.",
                hint="Stop the other query that uses this checkpoint, then start this one again.",
            ) from error

    def is_committed(self, step: int) -> bool:
        return self.files.exists(self._manifests.path(step))

    def read_delta(self, previous: Manifest | None) -> DeltaRecord | None:
        """The delta record of the step after a manifest; None if there is none, or if it follows another manifest.

        The latter remains when the checkpoint was restored from an older copy: its step belongs to a lost history.
        """
        path = self._delta(previous.step + 1 if previous else 0)
        if not self.files.exists(path):
            return None
        try:
            delta = from_compact(DeltaRecord, read_record(self.files, path, "delta record"))
        except CorruptStateError:
            if not self.files.exists(path):  # the run that committed the step has removed it in the meantime
                return None
            raise
        if delta.follows != identity_of(previous):
            self.files.delete(path)
            return None
        return delta

    def write_delta(self, delta: DeltaRecord, previous: Manifest) -> DeltaRecord:
        """Write the delta record of a step, or return the one that another run wrote first."""
        while True:
            try:
                write_record(self.files, self._delta(delta.step), to_compact(delta))
            except FileExistsError:
                known = self.read_delta(previous)
                if known is None:
                    continue
                return known
            return delta

    def publish(self, moves: Iterable[Move], outside: Files) -> None:
        """Move staged files to their final names. A missing source was moved before a crash, or by another run."""
        inside, results = [], []
        for move in moves:
            if move.inside:
                inside.append((f"{self.path}/{move.source}", f"{self.path}/{move.target}"))
            else:
                results.append((move.source, move.target))
        move_all(self.files, inside)
        move_all(outside, results)

    def forget(self, manifest: Manifest, previous: Manifest | None) -> None:
        """After a commit: delete the records and blocks that no kept record needs."""
        if previous is not None:
            delete_all(self.files, [f"{self.path}/blocks/{file}" for file in previous.dropped])
        self.files.delete(self._delta(manifest.step))
        self.files.delete(self._failure(manifest.step))
        self.files.delete(self._manifests.path(manifest.step - kept_records()))

    def sweep(self, manifest: Manifest) -> int:
        """Delete every unreferenced block, staged file and record up to the manifest's step; returns their number.

        Files of later steps stay: they may belong to another run that has not committed them yet.
        """
        unreferenced = unnamed_files(self.files, self.path, manifest, kept_records())
        delete_all(self.files, [f"{self.path}/{name}" for name in unreferenced])
        return len(unreferenced)

    def _query_names(self) -> list[str]:
        return [name for name in self.files.list(self.path) if name.startswith("query-") and name.endswith(".json")]

    def _failure(self, step: int) -> str:
        return f"{self.path}/failures/{step:012d}.json"

    def _delta(self, step: int) -> str:
        return f"{self.path}/deltas/{step:012d}.json"


def identity_of(manifest: Manifest | None) -> str:
    """What distinguishes a manifest from another of the same step; empty before the first step."""
    return "" if manifest is None or manifest.step < 0 else manifest.run
