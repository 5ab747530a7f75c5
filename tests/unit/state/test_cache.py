"""Local copies of blocks that lie on remote storage."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from braid.errors import CorruptStateError
from braid.state.blocks import BlockReader, BlockWriter
from braid.state.cache import LocalCopies
from braid.state.files import ArrowFiles, LocalFiles


class TestLocalCopies:
    @pytest.fixture
    def remote(self) -> ArrowFiles:
        files = ArrowFiles(pafs._MockFileSystem(), "s3")
        for name in ("one/a", "one/b", "two/a"):
            with BlockWriter(files, f"bucket/{name}") as block:
                block.add(0, 0, pa.RecordBatch.from_pydict({"name": [name]}), 0, 0)
        return files

    def test_a_copy_is_made_once_and_mapped(self, remote: ArrowFiles, tmp_path: Path) -> None:
        copies = LocalCopies(remote, f"{tmp_path}/copies")
        assert named(copies.map("bucket/one/a")) == "one/a"
        remote.delete("bucket/one/a")
        assert named(copies.map("bucket/one/a")) == "one/a"
        assert [path.suffix for path in (tmp_path / "copies").iterdir()] == [".block"]
        assert (tmp_path / "copies").stat().st_mode & 0o777 == 0o700

    def test_a_copy_that_nobody_opens_is_removed_but_stays_mapped(
        self, remote: ArrowFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("braid.state.cache.SECONDS_BETWEEN_SWEEPS", 0.0)
        copies = LocalCopies(remote, str(tmp_path))
        mapped = copies.map("bucket/one/a")
        for copy in tmp_path.iterdir():
            os.utime(copy, (0, 0))
        copies.map("bucket/one/b")
        copies.sweep()
        assert len(list(tmp_path.iterdir())) == 1
        assert named(mapped) == "one/a"
        assert named(copies.map("bucket/one/a")) == "one/a"

    def test_a_copy_that_was_opened_again_is_kept(
        self, remote: ArrowFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("braid.state.cache.SECONDS_BETWEEN_SWEEPS", 0.0)
        LocalCopies(remote, str(tmp_path)).map("bucket/two/a")
        for copy in tmp_path.iterdir():
            os.utime(copy, (0, 0))
        LocalCopies(remote, str(tmp_path)).map("bucket/two/a")
        remote.delete("bucket/two/a")
        LocalCopies(remote, str(tmp_path)).sweep()
        assert named(LocalCopies(remote, str(tmp_path)).map("bucket/two/a")) == "two/a"

    def test_a_copy_removed_as_soon_as_it_is_made_is_still_mapped(
        self, remote: ArrowFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("os.rename", lambda source, target: Path(source).unlink())
        assert named(LocalCopies(remote, str(tmp_path)).map("bucket/one/a")) == "one/a"

    def test_copies_over_their_limit_are_removed_from_the_least_recently_opened(
        self, remote: ArrowFiles, tmp_path: Path
    ) -> None:
        copies = LocalCopies(remote, str(tmp_path))
        first = copies.map("bucket/one/a")
        copies.allow("limited", 2 * first.size)
        for age, copy in enumerate(tmp_path.iterdir()):
            os.utime(copy, (age, age))
        copies.map("bucket/one/b")
        assert len(list(tmp_path.iterdir())) == 2
        copies.map("bucket/two/a")
        assert len(list(tmp_path.iterdir())) == 2
        remote.delete("bucket/one/a")
        remote.delete("bucket/one/b")
        assert named(copies.map("bucket/one/b")) == "one/b"
        assert named(first) == "one/a", "what is mapped stays"
        with pytest.raises(FileNotFoundError):
            copies.map("bucket/one/a")

    def test_the_newest_copy_stays_whatever_the_limit_is(self, remote: ArrowFiles, tmp_path: Path) -> None:
        copies = LocalCopies(remote, str(tmp_path))
        copies.allow("limited", 1)
        for name in ("one/a", "one/b"):
            assert named(copies.map(f"bucket/{name}")) == name
            assert len(list(tmp_path.iterdir())) == 1

    def test_a_damaged_block_is_not_copied_piece_by_piece_either(self, remote: ArrowFiles, tmp_path: Path) -> None:
        content = bytearray(remote.read("bucket/one/a"))
        content[content.index(b"one/a")] ^= 1
        remote.delete("bucket/one/a")
        with remote.open_output("bucket/one/a") as file:
            file.write(bytes(content))
        copies = LocalCopies(remote, str(tmp_path))
        copies.allow("limited", None)
        with pytest.raises(CorruptStateError, match="checksum"):
            copies.map("bucket/one/a")
        assert not list(tmp_path.iterdir())

    def test_a_missing_block_is_file_not_found(self, remote: ArrowFiles, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            LocalCopies(remote, str(tmp_path)).map("bucket/one/none")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("place", [100, -1], ids=["a segment", "the end"])
    def test_a_damaged_block_is_not_copied(self, remote: ArrowFiles, tmp_path: Path, place: int) -> None:
        whole = remote.read("bucket/one/a")
        damaged = bytearray(whole)
        damaged[place] ^= 1
        remote.delete("bucket/one/a")
        remote.write_new("bucket/one/a", bytes(damaged))
        copies = LocalCopies(remote, str(tmp_path))
        with pytest.raises(CorruptStateError, match="bucket/one/a"):
            copies.map("bucket/one/a")
        remote.delete("bucket/one/a")
        remote.write_new("bucket/one/a", whole)
        assert named(copies.map("bucket/one/a")) == "one/a"

    def test_a_copy_that_fails_leaves_nothing(
        self, remote: ArrowFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(source: str, target: str) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("os.rename", refuse)
        with pytest.raises(OSError, match="No space left"):
            LocalCopies(remote, str(tmp_path)).map("bucket/one/a")
        assert list(tmp_path.iterdir()) == []

    def test_local_files_are_mapped_where_they_are(self, tmp_path: Path) -> None:
        LocalFiles().write_new(f"{tmp_path}/a", b"here")
        copies = LocalCopies(LocalFiles(), f"{tmp_path}/copies")
        assert copies.map(f"{tmp_path}/a").to_pybytes() == b"here"
        assert not (tmp_path / "copies").exists()


def named(block: pa.Buffer) -> str:
    """The name that a block of these tests holds."""
    reader = BlockReader(block, "")
    return str(reader.batch(reader.segments[0]).column(0)[0])
