"""One run of a benchmark: generate workloads, run systems on them one after the other, compare their answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.answers import Answer, expected_answer
from benchmarks.isolation import TaskFailed, run_isolated
from benchmarks.peers import ONE_SHOT, Measurement, PeerName, Task
from benchmarks.report import Row
from benchmarks.workload import Workload

COLUMNS = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


@dataclass(frozen=True)
class Measured:
    """A finished task whose answer is not yet compared."""

    system: str
    task: Task
    measurement: Measurement


class Bench:
    """A directory to work in and a progress display for everything that takes time."""

    def __init__(self, directory: Path, console: Console, cores: int) -> None:
        self.progress = Progress(*COLUMNS, console=console)
        self._directory = directory
        self._cores = cores

    def generate(self, workload: Workload) -> None:
        bar = self.progress.add_task(f"Write {workload.name}", total=workload.batches)
        for _ in workload.write(self._data(workload)):
            self.progress.advance(bar)

    def run(
        self,
        system: str,
        peer: PeerName,
        workload: Workload,
        batches: int,
        warm_up: int = 0,
        *,
        repeats: int = 1,
        limit_seconds: float | None = None,
    ) -> Measured:
        """Run one task; fails when its time ran out before a steady batch."""
        scratch = self._directory / f"{peer}-{workload.seconds_per_batch}s"
        task = Task(
            peer=peer,
            workload=workload,
            data=str(self._data(workload)),
            scratch=str(scratch),
            batches=batches,
            warm_up=warm_up,
            repeats=repeats,
            cores=self._cores,
            time_limit_seconds=limit_seconds,
        )
        bar = self.progress.add_task(f"{system} {workload.name}", total=repeats if peer in ONE_SHOT else batches)
        measurement = run_isolated(task, lambda _: self.progress.advance(bar))
        if len(measurement.seconds) <= warm_up:
            raise TaskFailed(
                f"{system} finished {len(measurement.seconds)} batches in {limit_seconds} s: none after the warm-up "
                f"of {warm_up}. Its log: {scratch / 'log.txt'}"
            )
        return Measured(system, task, measurement)

    def compare(self, measured: list[Measured]) -> list[Row]:
        """Put what each task should have returned beside what it did."""
        bar = self.progress.add_task("Compare answers", total=len(measured))
        rows = []

        @cache
        def expected(workload: Workload, batches: int) -> Answer:
            return expected_answer(workload, self._data(workload), batches, self._cores)

        for one in measured:
            answer = expected(one.task.workload, one.measurement.answer_batches)
            rows.append(Row(one.system, one.task, one.measurement, answer))
            self.progress.advance(bar)
        return rows

    def _data(self, workload: Workload) -> Path:
        return self._directory / "data" / f"{workload.seconds_per_batch}s"
