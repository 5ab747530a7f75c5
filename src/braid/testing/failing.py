"""Storage that fails on request: a step can be interrupted between any two of its writes.

Mutating operations are counted from 1. The n-th one fails before or after it happens, like a process that dies there.
In scripts that test real crashes the process kills itself instead (`BRAID_FAIL_AT=n`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pyarrow as pa

from braid.state.files import Files

FAIL_AT = "BRAID_FAIL_AT"
When = Literal["before", "after"]
How = Literal["raise", "kill"]


class InjectedCrash(BaseException):
    """The death of the process, as the code under test sees it: nothing may catch and survive it."""


class FailingFiles:
    """A `Files` with counted operations; `operations` is the number of mutating operations requested.

    After the crash every operation fails, like those of a dead driver.
    """

    def __init__(self, files: Files, at: int | None = None, when: When = "before", how: How = "raise") -> None:
        self._files = files
        self._at = at
        self._when = when
        self._how = how
        self._dead = False
        self.scheme = files.scheme
        self.atomic_rename = files.atomic_rename
        self.operations = 0
        self.log: list[str] = []

    def read(self, path: str) -> bytes:
        return self._alive().read(path)

    def map(self, path: str) -> pa.Buffer:
        return self._alive().map(path)

    def open_input(self, path: str) -> pa.NativeFile:
        return self._alive().open_input(path)

    @contextmanager
    def open_output(self, path: str) -> Iterator[Any]:
        with self._counted("output", path), self._files.open_output(path) as output:
            yield output

    def write_new(self, path: str, data: bytes) -> None:
        with self._counted("write", path):
            self._files.write_new(path, data)

    def rename(self, source: str, target: str) -> None:
        with self._counted("rename", source):
            self._files.rename(source, target)

    def exists(self, path: str) -> bool:
        return self._alive().exists(path)

    def list(self, directory: str) -> list[str]:
        return self._alive().list(directory)

    def tree_size(self, directory: str) -> int:
        return self._alive().tree_size(directory)

    def delete(self, path: str) -> None:
        with self._counted("delete", path):
            self._files.delete(path)

    def delete_tree(self, directory: str) -> None:
        with self._counted("delete tree", directory):
            self._files.delete_tree(directory)

    def why_not_exclusive(self, directory: str) -> str:
        return self._alive().why_not_exclusive(directory)

    def make_directory(self, directory: str) -> None:
        with self._counted("make directory", directory):
            self._files.make_directory(directory)

    @contextmanager
    def _counted(self, operation: str, path: str) -> Iterator[None]:
        self._alive()
        self.operations += 1
        self.log.append(f"{operation} {path}")
        due = self.operations == self._at
        if due and self._when == "before":
            self._crash()
        yield
        if due:
            self._crash()

    def _alive(self) -> Files:
        if self._dead:
            raise InjectedCrash("the process is dead")
        return self._files

    def _crash(self) -> None:
        if self._how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        self._dead = True
        raise InjectedCrash(f"{self._when} operation {self._at}: {self.log[-1]}")


def failing_from_environment(files: Files) -> Files:
    """The files as they are, or killing the process where `BRAID_FAIL_AT` says: "n" or "n:after"."""
    at, _, when = os.environ.get(FAIL_AT, "").partition(":")
    if not at:
        return files
    return FailingFiles(files, int(at), "after" if when == "after" else "before", "kill")
