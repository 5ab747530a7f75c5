"""The cluster of a step, with the job that runs now, and a record of what its jobs used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from braid.engine.cluster import Cluster
from braid.engine.commands import Command, IngestCommand, ProbeCommand, RoundsCommand, SiteCommand
from braid.engine.memory.disk import DiskLimit
from braid.engine.memory.executors import ExecutorMemory
from braid.engine.reports import IngestReport, SiteReport, SlotReport
from braid.plan.layout import Layout
from braid.state.usage import Usage

R = TypeVar("R", bound=SlotReport)


@dataclass(frozen=True)
class RunningJob:
    """What a job of a step does, in which of its step's `rounds` (0: it has none), and since when."""

    phase: str
    round: int
    rounds: int
    began: float
    run: str = ""
    step: int = 0


class Cores:
    """The cores of a query: an `elastic` one uses those there are at each step, others those that they started with."""

    def __init__(self, cluster: Cluster, elastic: bool) -> None:
        self._cluster = cluster
        self._elastic = elastic
        self._requested_epoch: int | None = None

    def follow(self) -> None:
        """Before a step: use the cores there are."""
        if self._elastic:
            self._cluster.follow_cores()

    def request(self, layout: Layout) -> list[str]:
        """Request the cores of a layout that is new, or new to this run; the outcome."""
        if not self._elastic or self._requested_epoch == layout.epoch:
            return []
        self._requested_epoch = layout.epoch
        outcome = self._cluster.request_cores(layout)
        return [] if outcome is None else [outcome]


class MeteredCluster:
    """Runs tasks on a cluster, and adds up what the tasks of each slot used since the last `begin`.

    What ingest used is in the delta record, because a replay does not ingest again. `running` is the job that runs now,
    for other threads to read. Before each job the limit on the size of the checkpoint is asked.
    """

    def __init__(self, cluster: Cluster, disk: DiskLimit) -> None:
        self._cluster = cluster
        self._disk = disk
        self._slots: dict[int, Usage] = defaultdict(Usage)
        self.running: RunningJob | None = None
        self._memory = ExecutorMemory()

    @property
    def slots(self) -> int:
        return self._cluster.slots

    @property
    def ingest_tasks(self) -> int:
        return self._cluster.ingest_tasks

    def begin(self) -> None:
        """Begin a step."""
        self._slots.clear()

    @property
    def used(self) -> tuple[Usage, ...]:
        """What each slot used in the step that had a task."""
        return tuple(self._slots.values())

    def memory(self) -> dict[str, int]:
        """What executors held since the last call, and the size of the checkpoint, where there are limits."""
        return {**self._memory.take(), **self._disk.progress()}

    def follow_cores(self) -> None:
        self._cluster.follow_cores()

    def request_cores(self, layout: Layout) -> str | None:
        return self._cluster.request_cores(layout)

    def ingest(self, command: IngestCommand) -> list[IngestReport]:
        with self._watched(command):
            reports = self._cluster.ingest(command)
        self._memory.add(reports)
        return reports

    def run(self, command: Command[R]) -> list[R]:
        with self._watched(command):
            reports = self._cluster.run(command)
        self._memory.add(reports)
        for report in reports:
            self._slots[report.slot] += report.usage
        return reports

    def converse(self, command: SiteCommand, rounds: int) -> list[SiteReport]:
        with self._watched(command):
            reports = self._cluster.converse(command, rounds)
        self._memory.add(reports)
        for report in reports:
            self._slots[report.slot] += report.usage
        return reports

    def needs_own_round(self, command: ProbeCommand, round_number: int) -> bool:
        return self._cluster.needs_own_round(command, round_number)

    @contextmanager
    def _watched(self, command: Command[Any]) -> Iterator[None]:
        self._disk.require(command)
        if isinstance(command, RoundsCommand):
            command = command.probes[0]
        phase = type(command).__name__.removesuffix("Command").lower()
        first, rounds = (command.first_round, command.rounds) if isinstance(command, ProbeCommand) else (0, 0)
        self.running = RunningJob(phase, first + 1, rounds, monotonic(), command.run, command.step)
        try:
            yield
        finally:
            self.running = None
