"""The checkpoint: records in and out, one commit a step, and a sweep that takes only what nothing names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from braid.errors import CorruptStateError, StepCommittedError
from braid.plan.layout import Layout
from braid.state import manifests
from braid.state.checkpoint import Checkpoint
from braid.state.files import LocalFiles
from braid.state.manifest import Block, DeltaRecord, Fanout, Manifest, Mark, Move
from braid.state.records import write_record
from braid.state.terms import Term
from braid.state.usage import Usage

LAYOUT = Layout(2, "biclique", (2, 3), (1, 1))
BLOCK = Block("b0.block", 1, 3, 4, 2, (0, 5), 10, 2000, -5, 70)
MANIFEST = Manifest(
    step=5, batch=4, run="run", written_ms=12, marks=(Mark(1, None, 3), Mark(None, 2, 4)), layouts=(LAYOUT,),
    blocks=(BLOCK, replace(BLOCK, file="b1.block", units=None)), next_row_id=2**64 - 3,
    moves=(Move("p/staging/a", "p/late/a"),), dropped=("old.block",),
    fanouts=(Fanout(0, 1, (0, 2), 10.5, 3.25, 0.0),), progress={"numInputRows": 4},
)  # fmt: skip
DELTA = DeltaRecord(
    step=6, batch=5, run="run", now_ms=13, watermarks=(4, None), idle=(False, True), layout=LAYOUT,
    join_orders=((1,), (0,)), check_order=(),
    blocks=(replace(BLOCK, file="b2.block"),), newest=(9, None), input_rows=(3, 0), late_rows=(1, 0),
    late_files=(Move("p/staging/late", "p/late/s/1"),), ingest=(Usage(cpu=0.5),), next_row_id=4, follows="run",
)  # fmt: skip


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(LocalFiles(), str(tmp_path))


def everything(checkpoint: Checkpoint) -> set[str]:
    root = Path(checkpoint.path)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_records_come_back_as_they_were(checkpoint: Checkpoint) -> None:
    assert checkpoint.last_manifest() is None
    assert checkpoint.read_delta(MANIFEST) is None
    checkpoint.write_manifest(MANIFEST)
    assert checkpoint.write_delta(DELTA, MANIFEST) == DELTA
    assert checkpoint.last_manifest() == MANIFEST
    assert checkpoint.read_delta(MANIFEST) == DELTA


def test_the_exchanged_files_of_an_unfinished_term_survive_forget_and_sweep(checkpoint: Checkpoint) -> None:
    kept, over = "aaaaaaaa-000000000003-1-s00000-0.exchanged", "aaaaaaaa-000000000003-0-s00000-0.exchanged"
    term = Term(3, (4, None), ((1, 2), (0, 2), (0, 1)), (1, 0), 17, 5, 1, (kept,))
    before, after = replace(MANIFEST, terms=(term,)), replace(MANIFEST, step=6, terms=(term,))
    for name in (kept, over, "b0.block", "b1.block"):
        write_record(checkpoint.files, f"{checkpoint.path}/blocks/{name}", {})
    checkpoint.write_manifest(before)
    checkpoint.write_manifest(after)
    checkpoint.forget(after, before)
    assert checkpoint.last_manifest() == after, "terms are kept in snapshots and in changes"
    assert checkpoint.sweep(after) == 1
    assert f"blocks/{kept}" in everything(checkpoint)
    assert f"blocks/{over}" not in everything(checkpoint)
    checkpoint.sweep(replace(after, terms=()))
    assert f"blocks/{kept}" not in everything(checkpoint)


def test_what_another_run_fixed_first_counts(checkpoint: Checkpoint) -> None:
    checkpoint.write_delta(DELTA, MANIFEST)
    assert checkpoint.write_delta(replace(DELTA, run="other", batch=7), MANIFEST) == DELTA


def test_a_delta_record_of_a_step_that_was_undone_is_not_used(checkpoint: Checkpoint) -> None:
    """It follows a manifest of the same step that is gone: the checkpoint was restored from an older copy."""
    undone = replace(DELTA, follows="a run of before")
    checkpoint.write_delta(undone, replace(MANIFEST, run="a run of before"))
    assert checkpoint.write_delta(DELTA, MANIFEST) == DELTA
    assert checkpoint.read_delta(MANIFEST) == DELTA


def test_a_step_is_committed_once(checkpoint: Checkpoint) -> None:
    checkpoint.write_manifest(MANIFEST)
    with pytest.raises(StepCommittedError, match=r"Step 5 .* was committed by another run"):
        checkpoint.write_manifest(replace(MANIFEST, run="other"))
    assert checkpoint.last_manifest() == MANIFEST


def test_a_manifest_of_another_shape_is_corrupt(checkpoint: Checkpoint) -> None:
    write_record(LocalFiles(), f"{checkpoint.path}/manifests/000000000001.json", {"step": 1})
    with pytest.raises(CorruptStateError, match="cannot be read"):
        checkpoint.last_manifest()


def test_a_sweep_takes_what_nothing_names(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of steps up to the manifest's; what is newer may belong to a run that is about to commit it."""
    monkeypatch.setattr(manifests, "SNAPSHOT_EVERY", 1)
    for step in (2, 3, 4):
        checkpoint.write_manifest(replace(MANIFEST, step=step))
    checkpoint.write_manifest(MANIFEST)
    checkpoint.write_delta(DELTA, MANIFEST)
    checkpoint.write_delta(replace(DELTA, step=5), replace(MANIFEST, step=4))
    files, path = checkpoint.files, checkpoint.path
    kept = {"blocks/b0.block", "blocks/b1.block", "blocks/old.block", "staging/a", "blocks/a stranger's"}
    kept |= {"blocks/0123abcd-000000000006-0-0-1.block", "staging/0123abcd-000000000006-0-0-1"}
    kept |= {"manifests/.000000000006.json.half", "deltas/.000000000006.json.half"}
    doomed = {"blocks/0123abcd-000000000005-0-0-1.block", "staging/fedc4567-000000000001-0-0-9"}
    kept |= {"commands/0123abcd-000000000006-c1.command", "progress/0123abcd-000000000006-0-s00001-7.250"}
    doomed |= {"commands/0123abcd-000000000005-c1.command", "progress/0123abcd-000000000005-0-s00001-7.250"}
    doomed |= {"manifests/.000000000005.json.half", "deltas/.000000000005.json.half"}
    for name in kept | doomed:
        files.write_new(f"{path}/{name}", b"")
    kept |= {"manifests/000000000004.json", "manifests/000000000005.json", "deltas/000000000006.json"}
    assert checkpoint.sweep(MANIFEST) == len(doomed) + 3
    assert everything(checkpoint) == kept
    assert checkpoint.sweep(MANIFEST) == 0


def test_forgetting_keeps_two_snapshots(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "SNAPSHOT_EVERY", 1)
    for step in (3, 4, 5):
        checkpoint.write_manifest(replace(MANIFEST, step=step))
    checkpoint.files.write_new(f"{checkpoint.path}/blocks/old.block", b"")
    checkpoint.write_delta(replace(DELTA, step=5), replace(MANIFEST, step=4))
    checkpoint.forget(MANIFEST, replace(MANIFEST, step=4))
    assert everything(checkpoint) == {"manifests/000000000004.json", "manifests/000000000005.json"}


def test_publishing_twice_is_publishing_once(checkpoint: Checkpoint, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    checkpoint.files.write_new(f"{checkpoint.path}/staging/late", b"late")
    checkpoint.files.write_new(f"{outside}/staging/a", b"rows")
    moves = [
        Move(f"{outside}/staging/a", f"{outside}/out/a"),
        Move("staging/late", "late/o/late", inside=True),
    ]
    checkpoint.publish(moves, checkpoint.files)
    checkpoint.publish(moves, checkpoint.files)
    assert (outside / "out" / "a").read_bytes() == b"rows"
    assert not (outside / "staging" / "a").exists()
    assert checkpoint.files.read(f"{checkpoint.path}/late/o/late") == b"late"
    assert not checkpoint.files.exists(f"{checkpoint.path}/staging/late")
