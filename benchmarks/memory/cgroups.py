"""A cgroup with a memory limit, below the one of this process: what is in it is killed if it needs more.

The kernel counts page cache too, but takes it back before it kills. Where no cgroup can be made, `NoCgroup` says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


class NoCgroup(Exception):
    """No cgroup with a memory limit can be made here."""


@dataclass(frozen=True)
class Cgroup:
    """A group of one of the two versions of the interface."""

    path: Path
    version: int

    @property
    def joining(self) -> list[str]:
        """What starts a command inside: it moves itself into the group."""
        return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self.path)]

    def limit(self, size: int) -> None:
        (self.path / ("memory.limit_in_bytes" if self.version == 1 else "memory.max")).write_text(str(size))

    @property
    def in_use(self) -> int:
        """Anonymous and mapped bytes of the processes inside, and what the kernel has for them, which counts too."""
        stat = self._fields("memory.stat")
        names = ("rss", "mapped_file") if self.version == 1 else ("anon", "file_mapped", "kernel")
        kernel = self.path / "memory.kmem.usage_in_bytes"
        own = int(kernel.read_text()) if self.version == 1 and kernel.exists() else 0
        return own + sum(stat.get(name, 0) for name in names)

    @property
    def kills(self) -> int:
        """How many processes were killed for memory."""
        return self._fields("memory.oom_control" if self.version == 1 else "memory.events").get("oom_kill", 0)

    @property
    def major_faults(self) -> int:
        return self._fields("memory.stat").get("pgmajfault", 0)

    @property
    def peak(self) -> int:
        """The most that was in use, page cache included; 0 if the kernel does not say."""
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        path = self.path / name
        return int(path.read_text()) if path.exists() else 0

    def _fields(self, name: str) -> dict[str, int]:
        lines = (line.split() for line in (self.path / name).read_text().splitlines())
        return {parts[0]: int(parts[1]) for parts in lines if len(parts) == 2}


@contextmanager
def memory_cgroup() -> Iterator[Cgroup]:
    """A group without a limit yet, removed when what is inside has ended."""
    parent, version = _own_group()
    path = parent / f"braid-{os.getpid()}"
    try:
        if version == 2 and "memory" not in (parent / "cgroup.subtree_control").read_text().split():
            (parent / "cgroup.subtree_control").write_text("+memory")
        path.mkdir()
    except OSError as error:
        raise NoCgroup(f"{path} cannot be created: {error.strerror}.") from error
    made = Cgroup(path, version)
    try:
        if not (path / ("memory.limit_in_bytes" if version == 1 else "memory.max")).exists():
            raise NoCgroup(f"{path} has no file for a memory limit: the controller is not enabled there.")
        yield made
    finally:
        with suppress(OSError):  # a process is still in it
            path.rmdir()


def _own_group() -> tuple[Path, int]:
    """The memory group of this process, and the version of its interface."""
    found = dict(_entries(Path("/proc/self/cgroup")))
    if "memory" in found and (ROOT / "memory").is_dir():
        return ROOT / "memory" / found["memory"].lstrip("/"), 1
    unified = ROOT / found.get("", "/").lstrip("/")
    controllers = unified / "cgroup.controllers"
    if not controllers.exists():
        raise NoCgroup(f"{ROOT} has neither a memory controller nor the unified interface.")
    if "memory" not in controllers.read_text().split():
        raise NoCgroup(f"{unified} has no memory controller.")
    return unified, 2


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    try:
        text = path.read_text()
    except OSError as error:
        raise NoCgroup(f"{path} cannot be read: {error.strerror}.") from error
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, group
