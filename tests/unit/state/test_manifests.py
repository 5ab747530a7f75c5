"""Manifests as snapshots and changes: what is read is what was written, and never a mixture of histories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from braid.errors import CorruptStateError, StepCommittedError
from braid.plan.layout import Layout
from braid.state import manifests
from braid.state.checkpoint import Checkpoint
from braid.state.files import LocalFiles
from braid.state.manifest import Block, Manifest, Mark
from braid.state.manifests import kept_records

EVERY = 4


@pytest.fixture(autouse=True)
def snapshots_are_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "SNAPSHOT_EVERY", EVERY)


def opened(path: Path) -> Checkpoint:
    return Checkpoint(LocalFiles(), str(path))


def block(step: int) -> Block:
    return Block(f"0a1b2c3d-{step:012d}-0-s00000-{step}-g0.block", 0, step, step, 0, (0,), step, 9, step, step)


def after(before: Manifest | None, run: str = "run") -> Manifest:
    if before is None:
        return Manifest(0, 0, run, 0, (Mark(0, None, 0),), (Layout(0, "partitioned", (1,), (1,)),), (block(0),), 0)
    step = before.step + 1
    return replace(before, step=step, batch=step, run=run, blocks=(*before.blocks[-9:], block(step)))


def commit(checkpoint: Checkpoint, before: Manifest | None, steps: int, run: str = "run") -> list[Manifest]:
    """Steps as a run makes them: commit, then forget."""
    made = []
    for _ in range(steps):
        manifest = after(before, run)
        checkpoint.write_manifest(manifest)
        checkpoint.forget(manifest, before)
        made.append(manifest)
        before = manifest
    return made


def kinds(path: Path) -> str:
    """The records in their order: s for a snapshot, c for a change."""
    records = sorted((path / "manifests").iterdir())
    return "".join("c" if "change" in json.loads(record.read_text().partition("\n")[2]) else "s" for record in records)


def test_every_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    writing = opened(tmp_path)
    manifest = None
    for _ in range(3 * EVERY):
        (manifest,) = commit(writing, manifest, 1)
        assert opened(tmp_path).last_manifest() == manifest
        assert writing.last_manifest() is manifest


def test_snapshots_come_regularly_also_over_restarts(tmp_path: Path) -> None:
    manifest = None
    for steps in (1, 2, 1, 1, 2):
        running = opened(tmp_path)
        assert running.last_manifest() == manifest
        manifest = commit(running, manifest, steps)[-1]
    assert kinds(tmp_path) == "cccscc"[-kept_records() :]


@pytest.mark.parametrize("steps", range(1, 3 * EVERY))
def test_the_newest_two_states_stay_readable(tmp_path: Path, steps: int) -> None:
    made = commit(opened(tmp_path), None, steps)
    records = sorted((tmp_path / "manifests").iterdir())
    assert len(records) == min(steps, kept_records())
    opened(tmp_path).sweep(made[-1])
    assert sorted((tmp_path / "manifests").iterdir()) == records
    records[-1].unlink()
    assert opened(tmp_path).last_manifest() == (made[-2] if steps > 1 else None)


def test_a_run_that_was_overtaken_cannot_commit_and_reads_the_commit_of_the_other(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    manifest = commit(first, None, 2)[-1]
    assert second.last_manifest() == manifest
    (other,) = commit(second, manifest, 1, "other")
    with pytest.raises(StepCommittedError):
        first.write_manifest(after(manifest))
    assert first.last_manifest() == other
    commit(first, other, 1)
    assert kinds(tmp_path) == "sccc"


def test_a_change_of_another_history_is_refused(tmp_path: Path) -> None:
    """Two runs continue from copies of one checkpoint; then a record of one is put among those of the other."""
    manifest = commit(opened(tmp_path / "one"), None, 2)[-1]
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    for name in ("one", "two"):
        running = opened(tmp_path / name)
        assert running.last_manifest() == manifest
        commit(running, manifest, 2, name)
    path = "manifests/000000000002.json"
    shutil.copy2(tmp_path / "one" / path, tmp_path / "two" / path)
    with pytest.raises(CorruptStateError, match="of different histories") as caught:
        opened(tmp_path / "two").last_manifest()
    assert str(tmp_path / "two" / path) in caught.value.message
    assert "Restore the whole checkpoint" in caught.value.hint


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "is corrupt": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "fails its checksum": lambda path: path.write_bytes(path.read_bytes().replace(b"snapshot", b"snapshoT")),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_to_a_snapshot_is_named(tmp_path: Path, what: str) -> None:
    commit(opened(tmp_path), None, 3)
    path = tmp_path / "manifests" / f"{0:012d}.json"
    path.chmod(0o644)
    DAMAGES[what](path)
    with pytest.raises(CorruptStateError, match=what) as caught:
        opened(tmp_path).last_manifest()
    assert str(path) in caught.value.message


def test_a_run_that_continues_while_another_reads_is_waited_for(tmp_path: Path) -> None:
    """The records that a reader has listed are deleted before it reads them: it reads the newer state."""
    writing = opened(tmp_path)
    manifest = commit(writing, None, 2)[-1]
    newest: list[Manifest] = []

    class Overtaken(LocalFiles):
        def read(self, path: str) -> bytes:
            if not newest:
                newest.extend(commit(writing, manifest, 3 * EVERY))
            return super().read(path)

    assert Checkpoint(Overtaken(), str(tmp_path)).last_manifest() == newest[-1]
