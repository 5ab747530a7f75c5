"""Steps in one process, slot after slot: the work of every slot in every round, and the driver's own."""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.scale.model import SlotWork, StepWork, by_slot
from benchmarks.scale.rows import Join
from benchmarks.strategies import strategy_of
from braid.engine.commands import Command, IngestCommand
from braid.engine.reports import read_reports, report_text
from braid.testing import InlineQuery, ManualClock

ROWS_PER_BATCH = 10_000
# The first step is small: where ranges are chosen from its rows, they meet every unit of the layout before.
FIRST_SHARE = 0.05


class Watched:
    """Records the work of the slots of a query, and the CPU seconds that are not the driver's."""

    def __init__(self, query: InlineQuery) -> None:
        self.rounds: list[tuple[SlotWork, ...]] = []
        self.elsewhere = 0.0
        self._slots = query.cluster.slots
        cluster: Any = query.cluster
        self._sender = cluster._sender
        cluster.ingest, cluster.run = self._watched(cluster.ingest), self._watched(cluster.run)

    def begin(self) -> None:
        self.rounds, self.elsewhere = [], 0.0

    def _watched(self, run: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
        def watched(command: Command[Any]) -> list[Any]:
            began = time.process_time()
            reports = run(command)
            texts = [report_text(report) for report in reports]
            self.elsewhere += time.process_time() - began
            self._driver_part(command, texts)
            work = [SlotWork(report.usage.cpu, report.usage.moved_bytes) for report in reports]
            if isinstance(command, IngestCommand):
                # The tasks of each stream come one after the other, in the order of their partitions.
                numbered = [(number % self._slots, one) for number, one in enumerate(work)]
                self.rounds.append(by_slot(numbered, self._slots))
            else:
                self.rounds.append(tuple(work))
            return reports

        return watched

    def _driver_part(self, command: Command[Any], texts: list[str]) -> None:
        """Of a job, the driver sends the command and reads the reports; the rest is done by tasks.

        Both are done once more, outside of what is counted as done elsewhere.
        """
        with self._sender.sent(command, self._slots):
            read_reports(command.reports, texts)


def measure_steps(join: Join, slots: int, steps: int, counted: int, strategy: str | None) -> dict[str, Any]:
    """The median of the last `counted` steps, of which the state is steady."""
    clock = ManualClock(0)
    works: list[StepWork] = []
    progress: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="braid-scale-") as directory:
        query = InlineQuery(
            join.plan(),
            directory,
            strategy=None if strategy is None else strategy_of(strategy),
            slots=slots,
            ingest_tasks=slots,
            clock=clock,
            rows_per_batch=ROWS_PER_BATCH,
        )
        watched = Watched(query)
        for step in range(steps):
            tables = join.tables(step, FIRST_SHARE if step == 0 else 1.0)
            clock.advance(1000)
            watched.begin()
            with _no_collection():
                began = time.process_time()
                record = query.run(step, tables)
                whole = time.process_time() - began
            if record is None:
                raise AssertionError(f"step {step} was not run")
            rounds = tuple(watched.rounds)
            works.append(StepWork(record["numInputRows"], whole - watched.elsewhere, rounds))
            progress.append(record)
    return summarize(works[-counted:], progress[-counted:]) | {"results": sum(p["numOutputRows"] for p in progress)}


@contextmanager
def _no_collection() -> Iterator[None]:
    """Garbage is collected after the block, all of it.

    In one process a collection searches the objects of all slots and of the driver: a tenth of a second each with 256
    slots, charged to whom it happens to meet.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


def summarize(works: list[StepWork], progress: list[dict[str, Any]]) -> dict[str, Any]:
    def median(values: list[float]) -> float:
        return float(statistics.median(values))

    return {
        "rows": works[-1].rows,
        "rounds": len(works[-1].rounds),
        "cpu_seconds": median([work.cpu for work in works]),
        "cpu_per_row": median([work.cpu / work.rows for work in works]),
        "slowest_slots": median([sum(max(slot.cpu for slot in r) for r in work.rounds) for work in works]),
        "driver_seconds": median([work.driver for work in works]),
        "modelled_seconds": median([work.modelled_seconds() for work in works]),
        "modelled_rate": median([work.modelled_rate() for work in works]),
        "bytes_moved": median([p["bytesMoved"] for p in progress]),
        "segment_reads": max(p["segmentReads"]["largestSlot"] for p in progress),
        "record_bytes": max(p["recordBytes"] for p in progress),
        "blocks": progress[-1]["stateBlocks"],
        "layout": progress[-1]["strategy"],
    }
