"""Many files at once: each is deleted or moved, whatever the storage, and every request is counted."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from braid.errors import StorageError
from braid.state.files import ArrowFiles, Files
from braid.state.object_stores.many_files import delete_all, move_all
from braid.state.usage import Meter

FILES = 40


def written(files: Files, directory: Path) -> list[str]:
    paths = [f"{directory}/in/{number}" for number in range(FILES)]
    for path in paths:
        files.write_new(path, path.encode())
    return paths


def test_all_files_are_deleted_and_missing_ones_are_no_error(files: Files, tmp_path: Path) -> None:
    paths = written(files, tmp_path)
    delete_all(files, paths[:3])
    delete_all(files, paths[:-1])
    assert files.list(f"{tmp_path}/in") == [str(FILES - 1)]
    delete_all(files, [])


def test_files_that_a_crash_left_are_moved_and_moved_ones_are_left(files: Files, tmp_path: Path) -> None:
    paths = written(files, tmp_path)
    moves = [(path, path.replace("/in/", "/out/")) for path in paths]
    move_all(files, moves[:7])
    move_all(files, moves)
    assert files.list(f"{tmp_path}/in") == []
    assert [files.read(target) for _, target in moves] == [path.encode() for path in paths]


def test_requests_in_threads_count_for_the_thread_that_made_them(tmp_path: Path) -> None:
    files = ArrowFiles(pafs.SubTreeFileSystem("/", pafs.LocalFileSystem()), "s3")
    paths = written(files, tmp_path)
    meter = Meter()
    with meter.counting():
        delete_all(files, paths)
    assert (meter.store_reads, meter.store_writes) == (FILES, FILES)


def test_a_refused_request_is_explained(tmp_path: Path) -> None:
    threads: set[str] = set()

    class Refusing(ArrowFiles):
        def delete(self, path: str) -> None:
            threads.add(threading.current_thread().name)
            if path.endswith("/3"):
                raise StorageError(f"Could not delete {path}")
            super().delete(path)

    files = Refusing(pafs.SubTreeFileSystem("/", pafs.LocalFileSystem()), "s3")
    paths = written(files, tmp_path)
    with pytest.raises(StorageError, match="Could not delete"):
        delete_all(files, paths)
    assert threading.current_thread().name not in threads
    assert "3" in files.list(f"{tmp_path}/in")
