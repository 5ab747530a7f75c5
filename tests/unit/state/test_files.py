"""Storage: the same habits on local files and on a filesystem that only pyarrow reaches."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from braid.errors import CorruptStateError, StorageError
from braid.state.blocks import BlockReader, BlockWriter
from braid.state.cache import LocalCopies
from braid.state.files import ArrowFiles, Files, LocalFiles, escaped, locate
from braid.state.records import read_record, write_record


@pytest.fixture(params=["local", "arrow"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "local":
        return LocalFiles()
    return ArrowFiles(pafs.SubTreeFileSystem("/", pafs.LocalFileSystem()), "s3")


def test_files_are_written_once_read_moved_and_deleted(files: Files, tmp_path: Path) -> None:
    directory = f"{tmp_path}/deep/er"
    assert files.list(directory) == []
    files.write_new(f"{directory}/a", b"one")
    with pytest.raises(FileExistsError):
        files.write_new(f"{directory}/a", b"two")
    assert files.read(f"{directory}/a") == b"one"
    assert files.map(f"{directory}/a").to_pybytes() == b"one"
    with files.open_output(f"{directory}/b") as output:
        output.write(b"rows")
    assert files.list(directory) == ["a", "b"]
    files.rename(f"{directory}/b", f"{directory}/c")
    assert (files.exists(f"{directory}/b"), files.exists(f"{directory}/c")) == (False, True)
    files.delete(f"{directory}/c")
    files.delete(f"{directory}/c")
    files.make_directory(f"{directory}/more")
    files.delete_tree(f"{tmp_path}/deep")
    files.delete_tree(f"{tmp_path}/deep")
    assert files.list(f"{tmp_path}/deep") == []


def test_a_missing_file_is_file_not_found(files: Files, tmp_path: Path) -> None:
    for action in (files.read, files.map):
        with pytest.raises(FileNotFoundError):
            action(f"{tmp_path}/none")


def test_a_move_makes_the_directory_it_needs(files: Files, tmp_path: Path) -> None:
    files.write_new(f"{tmp_path}/a", b"x")
    files.rename(f"{tmp_path}/a", f"{tmp_path}/new/place/a")
    assert files.read(f"{tmp_path}/new/place/a") == b"x"


def test_refused_storage_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="Could not list"):
        LocalFiles().list(f"{tmp_path}/file")


class RefusingStore:
    """What pyarrow's S3 is with credentials that are not known; it has no directories to make."""

    type_name = "s3"

    def get_file_info(self, path: str) -> None:
        raise OSError("AWS Error ACCESS_DENIED")


def test_a_refused_look_is_explained() -> None:
    with pytest.raises(StorageError, match="Could not look for bucket/a: AWS Error ACCESS_DENIED"):
        ArrowFiles(RefusingStore(), "s3").write_new("bucket/a", b"")


def test_s3_needs_no_directories() -> None:
    ArrowFiles(RefusingStore(), "s3").make_directory("bucket/above/a")


@pytest.mark.parametrize(
    ("location", "path"),
    [("/a/b", "/a/b"), ("file:///a/b%20c", "/a/b%20c"), ("file:/a/b", "/a/b"), ("/a/b/", "/a/b"), ("/a b", "/a b")],
)
def test_local_locations(location: str, path: str) -> None:
    files, found = locate(location)
    assert isinstance(files, LocalFiles)
    assert found == path


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(StorageError, match="'ftp' is not known"):
        locate("ftp://host/a")


def test_records_come_back_and_damage_is_noticed(files: Files, tmp_path: Path) -> None:
    path = f"{tmp_path}/record.json"
    content = {"step": 3, "names": ["ä", None], "numbers": {"x": 0.1}}
    write_record(files, path, content)
    assert read_record(files, path, "manifest") == content
    with pytest.raises(FileExistsError):
        write_record(files, path, content)
    data = Path(path).read_bytes()
    for place in range(len(data)):
        Path(path).write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(CorruptStateError, match="manifest"):
            read_record(files, path, "manifest")
        Path(path).write_bytes(data[:place])
        with pytest.raises(CorruptStateError, match="manifest"):
            read_record(files, path, "manifest")


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorruptStateError, match=r"The manifest .*none\.json is missing"):
        read_record(LocalFiles(), f"{tmp_path}/none.json", "manifest")


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

    def test_what_is_not_kept_is_removed_but_stays_mapped(self, remote: ArrowFiles, tmp_path: Path) -> None:
        copies = LocalCopies(remote, str(tmp_path))
        mapped = copies.map("bucket/one/a")
        copies.map("bucket/one/b")
        copies.keep_only(["bucket/one/b"])
        assert len(list(tmp_path.iterdir())) == 1
        assert named(mapped) == "one/a"
        assert named(copies.map("bucket/one/a")) == "one/a"

    def test_queries_leave_each_others_copies(self, remote: ArrowFiles, tmp_path: Path) -> None:
        LocalCopies(remote, str(tmp_path)).map("bucket/two/a")
        LocalCopies(remote, str(tmp_path)).keep_only(["bucket/one/a"])
        remote.delete("bucket/two/a")
        assert named(LocalCopies(remote, str(tmp_path)).map("bucket/two/a")) == "two/a"

    def test_a_copy_removed_as_soon_as_it_is_made_is_still_mapped(
        self, remote: ArrowFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("os.rename", lambda source, target: Path(source).unlink())
        assert named(LocalCopies(remote, str(tmp_path)).map("bucket/one/a")) == "one/a"

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


NAMES = [
    "a b",
    "a%20b",
    "a%b",
    "a#b",
    "a?b=c",
    "é🙂",
    "a+b&c",
    "a*",
    "[a]",
    "{a,b}",
    "a\\b",
    "a\nb",
    ".a",
    "_a",
    "a:b",
    "'\"",
    "k=v",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_character_of_a_location_stands_for_itself(tmp_path: Path, name: str) -> None:
    for location in (f"{tmp_path}/{name}", f"file://{tmp_path}/{name}", f"file:{tmp_path}/{name}"):
        files, path = locate(location)
        assert path == f"{tmp_path}/{name}"
        files.make_directory(path)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", NAMES)
def test_every_character_of_an_object_stands_for_itself(name: str) -> None:
    _, path = pafs.FileSystem.from_uri(f"file{escaped(f':///bucket/team/{name}')}")
    assert path == f"/bucket/team/{name}"
    assert escaped("://bucket@host:9000/a b") == "://bucket@host:9000/a%20b"


@pytest.mark.parametrize("location", ["file:state", "file://host/state", "file:", "data:v1/state", "ftp://host/x"])
def test_a_location_that_no_storage_has_is_refused(location: str) -> None:
    with pytest.raises(StorageError, match="Cannot use the location"):
        locate(location)
