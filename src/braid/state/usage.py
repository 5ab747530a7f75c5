"""What tasks and steps use: time, requests to storage, and segments read, counted where it happens.

A meter that is running counts for its thread. A task has its own, so what it uses is not counted by the step around it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, Self

Activity = Literal["opening", "placing"]
"""What opens blocks, and what decides where rows are stored: parts of a task that are measured for themselves."""


@dataclass(frozen=True)
class Usage:
    """What one or more tasks used.

    `seconds` and `cpu` are those inside task functions. Requests to storage are counted as they are made: those that
    read are opened or mapped files, listings and tests for existence; those that write create, rename or delete.
    `moved_bytes` are those of the segments read that another slot wrote, and of the rows that it sent. `opening` is the
    part of `cpu` that opened blocks: mapped files, checked segments, made indexes; `placing` the part that chose the
    units of rows. `fetched_bytes` are payloads that were stored apart; those that another slot wrote have moved too.
    """

    seconds: float = 0.0
    cpu: float = 0.0
    store_reads: int = 0
    store_writes: int = 0
    segment_reads: int = 0
    moved_bytes: int = 0
    opening: float = 0.0
    placing: float = 0.0
    fetched_bytes: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.seconds + other.seconds,
            self.cpu + other.cpu,
            self.store_reads + other.store_reads,
            self.store_writes + other.store_writes,
            self.segment_reads + other.segment_reads,
            self.moved_bytes + other.moved_bytes,
            self.opening + other.opening,
            self.placing + other.placing,
            self.fetched_bytes + other.fetched_bytes,
        )


@dataclass(frozen=True)
class WorkerMemory:
    """What a worker of an executor held at the end of a task, and at most during it, in bytes above idle.

    Besides: what the task read from the disk, how often it waited for a page of it, and the page cache of the host.
    """

    executor: str
    worker: int
    resident: int
    peak: int
    device_bytes: int = 0
    major_faults: int = 0
    page_cache: int = 0


class Meter:
    """Counts while it is running; `is_own` says whether a file was written by the slot of this task."""

    def __init__(self, is_own: Callable[[str], bool] = lambda _: True) -> None:
        self._is_own = is_own
        self._seconds = self._cpu = 0.0
        # By file: whether this task's slot wrote it, and the segments that were read.
        self._segments: dict[str, tuple[bool, set[int]]] = {}
        self._moved_bytes = self._fetched_bytes = 0
        self.store_reads = self.store_writes = self.record_bytes = 0
        self._spent: dict[Activity, float] = {"opening": 0.0, "placing": 0.0}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count time, requests and segments meanwhile."""
        began, began_cpu = time.monotonic(), time.process_time()
        try:
            with self.counting():
                yield
        finally:
            self._seconds += time.monotonic() - began
            self._cpu += time.process_time() - began_cpu

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count requests and segments meanwhile, in place of a meter that is running already."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def read_segment(self, path: str, offset: int, length: int) -> None:
        """A segment counts once, also if a task comes back to it."""
        known = self._segments.get(path)
        if known is None:
            known = self._segments[path] = (self._is_own(path.rpartition("/")[2]), set())
        is_own, offsets = known
        if offset not in offsets:
            offsets.add(offset)
            self._moved_bytes += 0 if is_own else length

    def spend(self, activity: Activity, seconds: float) -> None:
        """CPU time of an activity."""
        self._spent[activity] += seconds

    def count_moved(self, length: int) -> None:
        """Rows that another slot sent."""
        self._moved_bytes += length

    def fetch(self, file: str, length: int) -> None:
        """Payloads of some rows of a file."""
        self._fetched_bytes += length
        self._moved_bytes += 0 if self._is_own(file) else length

    def usage(self) -> Usage:
        return Usage(
            seconds=self._seconds,
            cpu=self._cpu,
            store_reads=self.store_reads,
            store_writes=self.store_writes,
            segment_reads=sum(len(offsets) for _, offsets in self._segments.values()),
            moved_bytes=self._moved_bytes,
            opening=self._spent["opening"],
            placing=self._spent["placing"],
            fetched_bytes=self._fetched_bytes,
        )


_current: ContextVar[Meter | None] = ContextVar("braid_meter", default=None)


def count_read(requests: int = 1) -> None:
    """Requests to storage that read."""
    meter = _current.get()
    if meter is not None:
        meter.store_reads += requests


def count_write(requests: int = 1) -> None:
    """Requests to storage that create, rename or delete."""
    meter = _current.get()
    if meter is not None:
        meter.store_writes += requests


def count_record(size: int) -> None:
    """The bytes of a record that is written."""
    meter = _current.get()
    if meter is not None:
        meter.record_bytes += size


def count_segment(path: str, offset: int, length: int) -> None:
    """A segment that is read from a block."""
    meter = _current.get()
    if meter is not None:
        meter.read_segment(path, offset, length)


def count_fetched(file: str, length: int) -> None:
    """Payloads that are read from a payload file."""
    meter = _current.get()
    if meter is not None:
        meter.fetch(file, length)


@contextmanager
def measuring(activity: Activity) -> Iterator[None]:
    """Count the CPU time of this thread meanwhile as that of the activity."""
    meter = _current.get()
    began = time.thread_time()
    try:
        yield
    finally:
        if meter is not None:
            meter.spend(activity, time.thread_time() - began)
