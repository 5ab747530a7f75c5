"""What a running task uses, seen from outside: anonymous memory of its processes, bytes written to its checkpoint."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import psutil

PERIOD_SECONDS = 0.25


class Watch:
    """Samples a process tree and a directory until it is closed.

    A file counts with the largest size it was seen with, also after it is gone; one that lives shorter than a sample
    may be missed.
    """

    def __init__(self, pid: int, directory: Path) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._directory = directory
        self._sizes: dict[str, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_over, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def written_bytes(self) -> int:
        return sum(self._sizes.values())

    def _sample_until_over(self) -> None:
        while not self._over.wait(PERIOD_SECONDS):
            self.peak_bytes = max(self.peak_bytes, tree_anonymous_bytes(self._pid))
            self._look_at_files(str(self._directory))

    def _look_at_files(self, directory: str) -> None:
        try:
            for entry in os.scandir(directory):
                if entry.is_dir(follow_symlinks=False):
                    self._look_at_files(entry.path)
                else:
                    self._sizes[entry.path] = max(self._sizes.get(entry.path, 0), entry.stat().st_size)
        except FileNotFoundError:
            return  # removed while looking


def tree_anonymous_bytes(pid: int) -> int:
    """Anonymous memory of a process and all its children: what no file backs."""
    try:
        root = psutil.Process(pid)
        return sum(_anonymous_bytes(one.pid) for one in [root, *root.children(recursive=True)])
    except psutil.NoSuchProcess:
        return 0


def _anonymous_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    sizes = {line.partition(":")[0]: line.partition(":")[2] for line in lines}
    found = sizes.get("RssAnon") or sizes.get("VmRSS") or "0 kB"
    return int(found.split()[0]) * 1024
