"""Damaged or full storage: the run refuses, names the file, loses nothing, and goes on once it is repaired."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import pytest
from pyspark.sql import SparkSession

from braid.errors import BraidError, CorruptStateError, RecoveryError, StorageError
from braid.state.checkpoint import Checkpoint
from braid.state.files import Files, LocalFiles
from braid.state.manifest import Move
from tests.recovery.job import Job, build, start
from tests.recovery.scenario import BAND, Inputs, check_answer, expected, feed, make_inputs, read_results

FILES, SEEDED = 5, 3
BLOCKS = "blocks/*"
Damage = Callable[[Path], Path]


@dataclass(frozen=True)
class Prepared:
    """A checkpoint in the middle of its input, to be copied; `stopped` after a step, `cut` inside the next."""

    inputs: Inputs
    stopped: Job
    cut: Job

    def copy(self, which: str, place: Path) -> Job:
        """A copy goes on from where its original stood. The step cut short has no late rows: those it would share."""
        original: Job = getattr(self, which)
        shutil.copytree(original.place, place)
        return replace(original, place=str(place))


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    place = tmp_path_factory.mktemp("damage")
    inputs = make_inputs(place / "all", 7, FILES, rows=30)
    source = place / "input"
    feed(inputs, source, range(SEEDED))
    stopped = Job("ab", BAND, str(source), str(place / "stopped"))
    start(spark, stopped).awaitTermination()
    feed(inputs, source, range(SEEDED, FILES))
    cut = replace(stopped, place=str(place / "cut"))
    shutil.copytree(stopped.place, cut.place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "write_manifest", _die)
        with pytest.raises(BraidError, match="the end"):
            start(spark, cut).awaitTermination()
    return Prepared(inputs, stopped, cut)


def _die(*_: object) -> None:
    raise BraidError("the end")


def _die_with_staged(_: Checkpoint, moves: Iterable[Move], outside: Files) -> None:
    if any(outside.exists(move.source) for move in moves if not move.inside):
        raise BraidError("the end")


def newest(checkpoint: Path, pattern: str) -> Path:
    """The newest file that is still needed: a block that a record names, or the last record."""
    if pattern != BLOCKS:
        return max(checkpoint.glob(pattern))
    records = Checkpoint(LocalFiles(), str(checkpoint))
    manifest = records.last_manifest()
    assert manifest is not None
    delta = records.read_delta(manifest)
    needed = manifest.blocks if delta is None else delta.blocks
    return checkpoint / "blocks" / max(block.file for block in needed)


def flip(pattern: str, position: float) -> Damage:
    """Change one byte: at a share of the file's length, or at a negative distance from its end."""

    def damage(checkpoint: Path) -> Path:
        path = newest(checkpoint, pattern)
        data = bytearray(path.read_bytes())
        data[int(len(data) * position) if position >= 0 else int(position)] ^= 0x40
        path.write_bytes(data)
        return path

    return damage


def cut_off(pattern: str, kept: float) -> Damage:
    def damage(checkpoint: Path) -> Path:
        path = newest(checkpoint, pattern)
        os.truncate(path, int(path.stat().st_size * kept))
        return path

    return damage


def remove(pattern: str) -> Damage:
    def damage(checkpoint: Path) -> Path:
        path = newest(checkpoint, pattern)
        path.unlink()
        return path

    return damage


def first_record(checkpoint: Path) -> Path:
    """Remove the record that the newest manifest is a change of."""
    path = min(checkpoint.glob("manifests/*"))
    path.unlink()
    return path


DAMAGES = {
    "a byte of a block": ("stopped", flip(BLOCKS, 0.2), ["The state block", "is corrupt", "fails its checksum"]),
    "a byte of a block's footer": ("stopped", flip(BLOCKS, -40), ["The state block", "its footer"]),
    "half a block": ("stopped", cut_off(BLOCKS, 0.5), ["The state block", "is corrupt: it is truncated"]),
    "no block": ("stopped", remove(BLOCKS), ["The state block", "is missing"]),
    "a byte of a new block": ("cut", flip(BLOCKS, 0.2), ["The state block", "fails its checksum"]),
    "half a manifest": ("stopped", cut_off("manifests/*", 0.5), ["The manifest", "fails its checksum"]),
    "a byte of a manifest": ("stopped", flip("manifests/*", 0.7), ["The manifest", "fails its checksum"]),
    "no snapshot": ("stopped", first_record, ["The manifest", "is missing"]),
    "a byte of a delta record": ("cut", flip("deltas/*", 0.5), ["The delta record", "fails its checksum"]),
    "a byte of the query record": ("stopped", flip("query-*.json", 0.5), ["The query record", "fails its checksum"]),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damage_is_named_and_can_be_repaired(
    spark: SparkSession, prepared: Prepared, tmp_path: Path, case: str
) -> None:
    which, damage, fragments = DAMAGES[case]
    job = prepared.copy(which, tmp_path / "job")
    kept = tmp_path / "kept"
    shutil.copytree(job.checkpoint, kept)
    path = damage(Path(job.checkpoint))

    with pytest.raises(CorruptStateError) as caught:
        start(spark, job).awaitTermination()

    message = str(caught.value)
    assert all(fragment in message for fragment in (*fragments, str(path), "Hint: Restore the file")), message
    shutil.copy2(kept / path.relative_to(job.checkpoint), path)
    start(spark, job).awaitTermination()
    check_answer(prepared.inputs, job)


@pytest.mark.parametrize("lost", [1, SEEDED], ids=["the newest manifest", "every manifest"])
def test_a_checkpoint_behind_spark_is_refused(
    spark: SparkSession, prepared: Prepared, tmp_path: Path, lost: int
) -> None:
    job = prepared.copy("stopped", tmp_path / "job")
    manifests = Path(job.checkpoint) / "manifests"
    assert len(list(manifests.iterdir())) == SEEDED
    gone = [newest(manifests, "*").rename(tmp_path / str(number)) for number in range(lost)]

    with pytest.raises(RecoveryError) as caught:
        start(spark, job)

    behind = SEEDED - 2 if lost == 1 else -1
    assert f"Spark has committed its batch {SEEDED - 1}, and Braid's newest step contains Spark batch {behind}" in str(
        caught.value
    )
    assert "Hint: Restore the whole checkpoint directory" in str(caught.value)
    for number, path in enumerate(gone):
        shutil.copy2(path, manifests / f"{SEEDED - 1 - number:012d}.json")
    start(spark, job).awaitTermination()
    check_answer(prepared.inputs, job)


def test_queries_that_share_an_output_leave_each_other_alone(
    spark: SparkSession, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One dies before it publishes; another starts on the same path, and must not sweep what the first has staged."""
    first = prepared.copy("stopped", tmp_path / "first")
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "publish", _die_with_staged)
        with pytest.raises(BraidError, match="the end"):
            start(spark, first).awaitTermination()
    other = prepared.copy("stopped", tmp_path / "other")
    for job, checkpoint in ((other, str(tmp_path / "new")), (first, first.checkpoint)):
        writer = build(spark, job).writeStream.trigger(availableNow=True).option("sharedPath", True)
        writer.option("checkpointLocation", checkpoint).start(first.output).awaitTermination()
    right = len(expected(prepared.inputs, first))
    assert len(read_results(first)) == 2 * right


def test_a_full_disk_met_by_the_driver(
    spark: SparkSession, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = prepared.copy("stopped", tmp_path / "job")
    link = os.link

    def full(source: str, target: str) -> None:
        if "/manifests/" in target:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        link(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", full)
        with pytest.raises(StorageError) as caught:
            start(spark, job).awaitTermination()
    refused = f"Could not write {job.checkpoint}/manifests/{SEEDED:012d}.json: No space left on device"
    assert refused in str(caught.value)
    assert "Hint: Free space on that storage, then start the query again" in str(caught.value)
    start(spark, job).awaitTermination()
    check_answer(prepared.inputs, job)


@pytest.fixture
def small_disk() -> Iterator[Callable[[Path], IO[bytes]]]:
    """Puts what lies in a directory on a file system of one megabyte, and fills it until the file returned closes."""
    mounted: list[Path] = []

    def mount(directory: Path) -> IO[bytes]:
        directory.mkdir(parents=True, exist_ok=True)
        kept = directory.with_name(f"{directory.name}-kept")
        shutil.copytree(directory, kept)
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount a small file system here: {done.stderr.strip()}")
        mounted.append(directory)
        shutil.copytree(kept, directory, dirs_exist_ok=True)
        return fill(directory)

    yield mount
    for directory in mounted:
        # Workers may still map blocks of it.
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(directory: Path) -> IO[bytes]:
    """A file without a name, which no sweep finds, that takes all the space there is."""
    filler = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115 (the caller closes it)
    with suppress(OSError):
        while filler.write(b"\0" * 4096):
            continue
    assert shutil.disk_usage(directory).free == 0
    return filler


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount command here")
@pytest.mark.parametrize(
    ("full", "fragments"),
    [
        (
            "checkpoint/blocks",
            ["The join of a, b failed in step 3 (Spark batch 3)", "Could not write", "/checkpoint/blocks/"],
        ),
        ("output", ["Could not write", "/output/"]),
        ("checkpoint/spark", ["Spark could not write"]),
        ("checkpoint", []),
    ],
)
def test_a_full_disk(
    spark: SparkSession,
    prepared: Prepared,
    tmp_path: Path,
    small_disk: Callable[[Path], IO[bytes]],
    full: str,
    fragments: list[str],
) -> None:
    job = prepared.copy("stopped", tmp_path / "job")
    filler = small_disk(Path(job.place) / full)

    with pytest.raises(StorageError) as caught:
        start(spark, job).awaitTermination()

    message = str(caught.value)
    assert all(fragment in message for fragment in (*fragments, "No space left on device", "Hint: Free space")), message
    filler.close()
    start(spark, job).awaitTermination()
    check_answer(prepared.inputs, job)
