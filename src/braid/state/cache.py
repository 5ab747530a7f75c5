"""Local copies of remote blocks, as memory-mapped files that the Python workers of an executor share.

Local storage needs no copies: its files are mapped where they are. A copy is written under a temporary name and
renamed, so a copy that exists is complete; its name is derived from the block's, which is never reused. A damaged block
is not copied, so that a restored one is fetched again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from braid.state.blocks import BlockReader
from braid.state.files import Files, LocalFiles

# Blocks of a live window are opened again by new workers; one that none has opened for so long is mostly expired. If
# it is still needed, it is copied again.
UNUSED_SECONDS = 600.0
SECONDS_BETWEEN_SWEEPS = 60.0


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
        data = self._files.map(path)
        block = BlockReader(data, path)
        for segment in block.segments:
            block.checked(segment)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self._directory, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            buffer = pa.memory_map(temporary, "r").read_buffer()
            os.rename(temporary, copy)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        return buffer


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
