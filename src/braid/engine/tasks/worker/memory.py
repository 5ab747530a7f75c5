"""What a worker process holds: proportional bytes of mapped files and anonymous bytes, above those when it was idle.

Pages that several workers map count once, in equal shares (`Pss`). The page cache is not counted: it belongs to no
process, and the kernel reclaims it. Reading the sums takes 0.6 ms, and 5 ms more for each gigabyte that is mapped, so
they are read once a task, and only if there is a limit; the peak in between is the kernel's own, by resident bytes.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from braid.state.usage import WorkerMemory

ROLLUP, STATUS, CLEAR = "/proc/self/smaps_rollup", "/proc/self/status", "/proc/self/clear_refs"
HOST = "/proc/meminfo"
RESET_PEAK = "5"
KILOBYTE = 1024
SECTOR_BYTES = 512

_idle: Resident | None = None
_idle_resident = 0
_began = (0, 0)


@dataclass(frozen=True)
class Resident:
    """Anonymous bytes of a process, and its share of mapped files."""

    anonymous: int = 0
    mapped: int = 0

    @property
    def total(self) -> int:
        return self.anonymous + self.mapped

    def above(self, idle: Resident) -> Resident:
        """What is held beyond that of an idle process."""
        return Resident(max(0, self.anonymous - idle.anonymous), max(0, self.mapped - idle.mapped))


def parse_rollup(text: str) -> Resident:
    """The sums of a process, as the kernel writes them to `smaps_rollup`."""
    found = _fields(text)
    return Resident(found.get("Pss_Anon", 0), found.get("Pss_File", 0) + found.get("Pss_Shmem", 0))


def parse_mappings(text: str, is_state: tuple[str, ...]) -> Resident:
    """The same from `smaps`, exact: of mapped files only those whose path has one of some endings or beginnings."""
    anonymous = mapped = 0
    counts = False
    for line in text.splitlines():
        first, _, rest = line.partition(" ")
        if not first.endswith(":"):
            path = line.split(maxsplit=5)[5] if len(line.split(maxsplit=5)) > 5 else ""
            path = path.removesuffix(" (deleted)")
            counts = any(path.startswith(part) or path.endswith(part) for part in is_state)
        elif first == "Anonymous:":
            anonymous += int(rest.split()[0]) * KILOBYTE
        elif first == "Pss:" and counts:
            mapped += int(rest.split()[0]) * KILOBYTE
    return Resident(anonymous, mapped)


def remember_idle() -> None:
    """When a task begins under a limit; before the first in a process: what it holds without state."""
    global _idle, _idle_resident, _began
    if _idle is None:
        _idle = parse_rollup(_read(ROLLUP))
        _idle_resident = _fields(_read(STATUS)).get("VmRSS", 0)
    with suppress(OSError):
        Path(CLEAR).write_text(RESET_PEAK)
    _began = _reads()


def resident_now() -> WorkerMemory | None:
    """What this worker holds above idle, its peak and reads since `remember_idle`; None if the kernel does not say."""
    text = _read(ROLLUP)
    if _idle is None or not text:
        return None
    resident = parse_rollup(text).above(_idle).total
    peak = max(resident, _fields(_read(STATUS)).get("VmHWM", 0) - _idle_resident)
    device_bytes, faults = (now - before for now, before in zip(_reads(), _began, strict=True))
    cached = _fields(_read(HOST)).get("Cached", 0)
    executor = f"{os.uname().nodename}/{os.getppid()}"
    return WorkerMemory(executor, os.getpid(), resident, peak, device_bytes, faults, cached)


def sibling_workers() -> int:
    """How many processes the parent of this one has: the workers of an executor have one parent."""
    parent = os.getppid()
    return max(1, len(_read(f"/proc/{parent}/task/{parent}/children").split()))


def _reads() -> tuple[int, int]:
    """The bytes that this process has read from the disk, and its page faults that waited for it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_inblock * SECTOR_BYTES, used.ru_majflt


def _fields(text: str) -> dict[str, int]:
    """The lines with kilobytes, in bytes."""
    lines = (line.split() for line in text.splitlines())
    return {parts[0][:-1]: int(parts[1]) * KILOBYTE for parts in lines if len(parts) == 3 and parts[2] == "kB"}


def _read(path: str) -> str:
    """A file of the kernel's; empty where there is none."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""
