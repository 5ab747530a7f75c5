"""Local copies of remote blocks, as memory-mapped files that the Python workers of an executor share.

Local storage needs no copies: its files are mapped where they are. A copy is written under a temporary name and
renamed, so a copy that exists is complete; its name is derived from the block's, which is never reused. A damaged block
is not copied, so that a restored one is fetched again. Under a memory limit a file is copied piece by piece, and copies
may have a limit too: those that were opened least recently are removed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Literal

import pyarrow as pa

from braid.state.blocks import BlockReader
from braid.state.files import Files, LocalFiles

# Blocks of a live window are opened again by new workers; one that none has opened for so long is mostly expired. If
# it is still needed, it is copied again.
UNUSED_SECONDS = 600.0
SECONDS_BETWEEN_SWEEPS = 60.0
BYTES_AT_ONCE = 1 << 20


def copies_directory() -> str:
    """The directory that the workers of one executor share: they have one parent. Removes those of dead executors."""
    root = Path(os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0])
    prefix = f"braid-copies-{os.getuid()}-"
    for other in root.glob(f"{prefix}*"):
        if not Path(f"/proc/{other.name.removeprefix(prefix)}").exists() and Path("/proc/self").exists():
            shutil.rmtree(other, ignore_errors=True)
    return str(root / f"{prefix}{os.getppid()}")


class LocalCopies:
    """Maps files of any storage; remote ones are copied to `directory`."""

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = Path(directory)
        self._swept = time.monotonic()
        self._by_pieces = False
        self._most_bytes: int | None = None

    def allow(self, memory: Literal["any", "limited"], most_bytes: int | None) -> None:
        """Whether the memory of this process has a limit, and how many bytes the copies may have; None: any number."""
        self._by_pieces = memory == "limited"
        self._most_bytes = most_bytes

    def map(self, path: str) -> pa.Buffer:
        if isinstance(self._files, LocalFiles):
            return self._files.map(path)
        copy = self._copy_of(path)
        try:
            buffer = pa.memory_map(str(copy), "r").read_buffer()
            os.utime(copy)
        except FileNotFoundError:
            return self._fetch(path, copy)
        return buffer

    def sweep(self) -> None:
        """From time to time, remove the copies that no worker of the executor has opened for long, of all queries.

        A process that still maps a removed copy keeps its pages until it unmaps them.
        """
        if isinstance(self._files, LocalFiles) or time.monotonic() < self._swept + SECONDS_BETWEEN_SWEEPS:
            return
        self._swept = time.monotonic()
        for copy in self._directory.glob("*.block"):
            with suppress(FileNotFoundError):
                if copy.stat().st_mtime < time.time() - UNUSED_SECONDS:
                    copy.unlink()

    def _copy_of(self, path: str) -> Path:
        directory, _, name = path.rpartition("/")
        return self._directory / f"{_digest(directory)}-{_digest(name)}.block"

    def _fetch(self, path: str, copy: Path) -> pa.Buffer:
        """Copy and map a file. It is mapped before the rename, because another process may remove it right after."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self._directory, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                for data in self._read(path):
                    file.write(data)
            buffer = pa.memory_map(temporary, "r").read_buffer()
            if self._by_pieces:
                _check(buffer, path, gives_back=True)
            os.rename(temporary, copy)
        except BaseException:  # Ctrl-C too: nothing else removes the file
            Path(temporary).unlink(missing_ok=True)
            raise
        self._remove_others(copy)
        return buffer

    def _read(self, path: str) -> Iterator[pa.Buffer]:
        """The content of a file: as a whole, checked; or piece by piece, to be checked in the copy."""
        if not self._by_pieces:
            data = self._files.map(path)
            _check(data, path)
            yield data
            return
        with self._files.open_input(path) as file:
            while (piece := file.read_buffer(BYTES_AT_ONCE)).size:
                yield piece

    def _remove_others(self, copy: Path) -> None:
        """Remove copies that were opened least recently, until all others fit beside the newest one."""
        if self._most_bytes is None:
            return
        known = []
        for other in self._directory.glob("*.block"):
            with suppress(FileNotFoundError):
                status = other.stat()
                known.append((other == copy, status.st_mtime, status.st_size, other))
        size = sum(found[2] for found in known)
        for is_newest, _, own, other in sorted(known, key=itemgetter(0, 1)):
            if size <= self._most_bytes or is_newest:
                return
            other.unlink(missing_ok=True)
            size -= own


def _check(buffer: pa.Buffer, path: str, gives_back: bool = False) -> None:
    """Check the segments of a block; the pages of a mapped copy are given back."""
    block = BlockReader(buffer, path)
    block.bytes.gives_back = gives_back
    for segment in block.segments:
        block.checked(segment)
        block.bytes.release(segment)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
