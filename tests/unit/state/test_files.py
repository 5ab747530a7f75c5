"""Storage: the same habits on local files and on a filesystem that only pyarrow reaches."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from braid.errors import StorageError
from braid.state.files import ArrowFiles, Files, LocalFiles, locate
from braid.state.locations import escaped


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
