"""Samples of what processes hold, as the limit counts it: proportional bytes of files and anonymous bytes, above idle.

The exact sums (`smaps_rollup`) take a process some milliseconds, so they are read only where the resident bytes, which
take some microseconds and are never less, come near the largest sum so far. A sampler that ran only when cores are
idle, as what it samples may, would miss what happens while it waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from braid.engine.tasks.worker.memory import parse_rollup

# Well above 20 samples a second, for little of the cores that the sampled processes need.
INTERVAL_SECONDS = 0.03
# Below this share of the largest sum so far a sample cannot be the largest.
READ_ABOVE = 0.7
RESIDENT = (b"RssAnon:", b"RssFile:", b"RssShmem:")
KILOBYTE = 1024


@dataclass(frozen=True)
class Samples:
    """The largest sum above idle, the samples a second, and the longest time between two."""

    largest: int
    count: int
    per_second: float
    longest_gap: float
    processes: int


class Sampler:
    """Samples the processes that a function lists; those that come later are idle with what others are on average."""

    def __init__(self, processes: Callable[[], Sequence[int]]) -> None:
        self._processes = processes
        self._idle: dict[int, tuple[int, int]] = {}
        self._largest = 0
        self._count = 0
        self._gap = 0.0
        self._most = 0

    def take_idle(self) -> None:
        """Before there is state: what the processes hold now is idle."""
        self._idle = {pid: (resident(pid), exact(pid)) for pid in self._processes()}

    def until(self, is_over: Callable[[], bool]) -> Samples:
        """Sample until something is over."""
        with as_others():
            return self._until(is_over)

    def _until(self, is_over: Callable[[], bool]) -> Samples:
        began = last = time.monotonic()
        listed, pids = 0.0, self._processes()
        while not is_over():
            now = time.monotonic()
            if now - listed > 1:
                listed, pids = now, self._processes()
            self._sample(pids)
            self._count, self._gap, last = self._count + 1, max(self._gap, now - last), now
            time.sleep(INTERVAL_SECONDS)
        seconds = time.monotonic() - began
        return Samples(self._largest, self._count, self._count / seconds, self._gap, self._most)

    def _sample(self, pids: Sequence[int]) -> None:
        known = [self._idle[pid] for pid in self._idle]
        mean = tuple(sum(column) // max(1, len(known)) for column in zip(*known, strict=True)) or (0, 0)
        idle = [self._idle.get(pid, mean) for pid in pids]
        self._most = max(self._most, len(pids))
        upper = sum(resident(pid) - own[0] for pid, own in zip(pids, idle, strict=True))
        if upper > READ_ABOVE * self._largest:
            in_use = sum(max(0, exact(pid) - own[1]) for pid, own in zip(pids, idle, strict=True))
            self._largest = max(self._largest, in_use)


@contextmanager
def as_others() -> Iterator[None]:
    """Run as other processes do, also if this one was started to run only when cores are idle, like what it samples.

    What is started afterwards has the policy from before.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, policy, parameters)


def resident(pid: int) -> int:
    """Resident bytes of a process; 0 if it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return 0
    lines = (line.split() for line in text.splitlines() if line.startswith(RESIDENT))
    return sum(int(line[1]) for line in lines) * KILOBYTE


def exact(pid: int) -> int:
    """What the limit counts of a process; 0 if it is gone."""
    try:
        return parse_rollup(Path(f"/proc/{pid}/smaps_rollup").read_text()).total
    except OSError:
        return 0


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """All processes below one; a JVM starts them from any of its threads."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                parents.setdefault(int(after_name[1]), []).append(int(entry.name))
    found, following = [], [pid]
    while following:
        own = parents.get(following.pop(), [])
        found += own
        following += own
    return found


def python_workers(pid: int) -> list[int]:
    """The Python workers of a Spark application: what its daemons have forked."""
    daemons = [one for one in descendants(pid) if _is_daemon(one) and not _is_daemon(_parent(one))]
    return [worker for daemon in daemons for worker in children(daemon)]


def _is_daemon(pid: int) -> bool:
    try:
        return b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
