"""`python -m benchmarks.driver`: what a step costs the driver by the number of slots, in one process.

A join of two streams by key, with as many ingest tasks as slots for each. What is measured is the CPU of the step
outside of tasks, and every byte that the driver writes. The first steps, in which the windows fill, are not counted.

With hundreds of slots the tasks of one process take minutes. So by default tasks do no work: they read their commands,
create empty files, and report rows, bytes and times as such tasks would. The driver does all that it does otherwise.
With `tasks` they do their work, on few rows.
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.slots import build_plan
from braid.control.fanouts import LookupCounts
from braid.engine.commands import IngestCommand, ProbeCommand
from braid.engine.reports import IngestReport, MergeReport, Output, ProbeReport, ResultFile, UnitCounts
from braid.engine.sending.command_files import receive
from braid.optimizer.strategies import Biclique
from braid.optimizer.strategies.biclique import Routing
from braid.placement.units import units_by_slot
from braid.state.blocks import WrittenBlock
from braid.state.files import LocalFiles
from braid.state.manifest import Block, stored_block
from braid.state.observed.samples import FrequentKey, KeyCounts, NumberSample
from braid.state.usage import Usage
from braid.testing import InlineQuery, ManualClock

STEP_US = 1_000_000
ROWS_PER_SLOT = 200
WARM, COUNTED = 16, 32
# A unit for every slot, however little work there is.
ROUTINGS: dict[str, Routing] = {"equality": "contrand", "band": "range"}


class CountedFiles(LocalFiles):
    """Counts what the driver writes, by directory. Tasks open their own files."""

    def __init__(self) -> None:
        self.written: dict[str, int] = defaultdict(int)

    def write_new(self, path: str, data: bytes) -> None:
        self.written[path.rsplit("/", 2)[1]] += len(data)
        super().write_new(path, data)


class Spent:
    """CPU seconds of steps outside of their tasks; if asked for with a profile."""

    def __init__(self) -> None:
        self.tasks = 0.0
        self.profile: cProfile.Profile | None = None

    def in_task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            if self.profile is not None:
                self.profile.disable()
            began = time.process_time()
            try:
                return function(*arguments)
            finally:
                self.tasks += time.process_time() - began
                if self.profile is not None:
                    self.profile.enable()

        return run

    @contextmanager
    def step(self) -> Iterator[list[float]]:
        """Adds the seconds of a step to the list."""
        found: list[float] = []
        self.tasks = 0.0
        gc.collect()
        if self.profile is not None:
            self.profile.enable()
        began = time.process_time()
        yield found
        found.append(time.process_time() - began - self.tasks)
        if self.profile is not None:
            self.profile.disable()


class NoRows:
    """A table for tasks that do no work."""

    num_rows = 0

    def take(self, _: pa.Array) -> NoRows:
        return self


class IdleTasks:
    """Tasks that report without having worked."""

    def __init__(self, query: InlineQuery, slots: int) -> None:
        self._checkpoint, self._slots = query.checkpoint.path, slots
        self._staging = Path(self._checkpoint).parent / "out" / "_braid_staging"
        self._blocks = Path(self._checkpoint) / "blocks"
        self._chance = np.random.default_rng(2)
        for directory in (self._staging, self._blocks):
            directory.mkdir(parents=True, exist_ok=True)

    def take(self, text: str, stream: int, partition: int, _: pa.Table, attempt: int) -> IngestReport:
        command = receive(IngestCommand, text, partition, self._checkpoint)
        block = self._written(
            f"{command.run[:8]}-{command.step:012d}-{stream}-{partition:05d}-{attempt}.block", command.step
        )
        keys = KeyCounts(block.rows, tuple(FrequentKey(n, str(n), self._random(9) / 7) for n in range(4)))
        return IngestReport(
            stream=stream,
            host="host",
            rows=block.rows,
            late_rows=0,
            newest_us=block.max_time,
            times=(),
            keys=keys,
            numbers=NumberSample(),
            block=block,
            arrival_log=None,
            late_file=None,
            usage=self._usage(),
        )

    def probe(self, _: Any, kind: type[ProbeCommand], text: str, slot: int, attempt: int) -> ProbeReport:
        command = receive(kind, text, slot, self._checkpoint)
        name = f"{command.run[:8]}-{command.step:012d}-0-s{slot:05d}-{attempt}"
        layout, units = command.layouts[-1], units_by_slot(command.layouts[-1], 2, self._slots)[slot]
        steps = {block.file: (block.first_step, block.last_step) for block in command.blocks}

        def made(merge: Any, suffix: str, number: int) -> Block:
            known = [steps[file] for file in merge.files]
            first, last = min(step for step, _ in known), max(step for _, step in known)
            written = self._written(f"{name}-{suffix}{number}.block", first, last)
            owned = tuple(unit.number for unit in units if merge.stream in unit.streams)
            return stored_block(written, merge.stream, (first, last), layout.epoch, owned)

        result = ResultFile(f"{name}.parquet", self._random(400), self._random(9000))
        (self._staging / result.name).touch()
        return ProbeReport(
            slot,
            "host",
            tuple(
                UnitCounts(0, unit.number, self._random(999) / 7e5, *map(self._random, [9999] * 8)) for unit in units
            ),
            tuple(LookupCounts(n, 1 - n, 200, self._random(999), self._random(999), 1e-4, 1e-4, 9) for n in range(2)),
            tuple(made(gather, "g", number) for number, gather in enumerate(command.gathers)),
            tuple(
                MergeReport(merge.number, merge.stream, 200, 1e-4, made(merge, "m", number))
                for number, merge in enumerate(command.merges)
            ),
            (),
            output=Output(result.rows, (result,)),
            usage=self._usage(),
        )

    def _random(self, most: int) -> int:
        return int(self._chance.integers(1, most))

    def _usage(self) -> Usage:
        return Usage(self._random(999) / 7e5, self._random(999) / 7e5, 30, 9, self._random(99), self._random(99999))

    def _written(self, name: str, first: int, last: int | None = None) -> WrittenBlock:
        (self._blocks / name).touch()
        oldest, newest = first * STEP_US + self._random(9999), ((last or first) + 1) * STEP_US - self._random(9999)
        rows = ROWS_PER_SLOT * ((last or first) - first + 1) + self._random(30)
        return WrittenBlock(name, rows, 50 * rows + self._random(3000), oldest, newest)


def measure(kind: str, slots: int, profiled: bool, working: bool) -> None:
    chance, clock, files, spent = np.random.default_rng(1), ManualClock(0), CountedFiles(), Spent()
    seconds, sizes, parts = [], [], defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        query = InlineQuery(
            build_plan(kind),
            directory,
            strategy=Biclique(routing=ROUTINGS[kind]),
            slots=slots,
            ingest_tasks=slots,
            clock=clock,
            files=files,
        )
        cluster: Any = query.cluster
        if not working:
            tasks = IdleTasks(query, slots)
            cluster._take, cluster._slot = tasks.take, tasks.probe
        cluster._attempt = spent.in_task(cluster._attempt)
        for step in range(WARM + COUNTED):
            tables: dict[str, Any] = {name: _rows(chance, step, slots) if working else NoRows() for name in ("r", "s")}
            clock.advance(1000)
            files.written.clear()
            if step == WARM and profiled:
                spent.profile = cProfile.Profile()
            with spent.step() as found:
                query.run(step, tables)
            if step >= WARM:
                seconds += found
                sizes.append(sum(files.written.values()))
                for name, size in files.written.items():
                    parts[name].append(size)
        blocks = len(query.steps.manifest.blocks)
    _print(f"{kind:9} {slots:4} slots", seconds, sizes, parts)
    print(f"  {blocks / slots:.1f} live blocks a slot", flush=True)
    if spent.profile is not None:
        pstats.Stats(spent.profile).sort_stats("tottime").print_stats(40)


def _print(what: str, seconds: list[float], sizes: list[int], parts: dict[str, list[int]]) -> None:
    milliseconds = [1000 * second for second in seconds]
    kilobytes = [size / 1000 for size in sizes]
    print(
        f"{what}: driver median {statistics.median(milliseconds):.1f} ms, least {min(milliseconds):.1f}, "
        f"most {max(milliseconds):.1f}; written a step: median {statistics.median(kilobytes):.1f} KB, "
        f"average {statistics.mean(kilobytes):.1f}, p99 {np.percentile(kilobytes, 99):.1f}, most {max(kilobytes):.1f}"
    )
    for name, found in sorted(parts.items()):
        print(f"  {name}: median {statistics.median(found) / 1000:.1f} KB, most {max(found) / 1000:.1f}")


def _rows(chance: np.random.Generator, step: int, slots: int) -> pa.Table:
    rows = 40 * slots
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, rows))
    columns = {"k": pa.array(chance.integers(0, 4 * rows + 1, rows)), "v": pa.array(chance.random(rows) * 4 * rows)}
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), **columns})


def main(arguments: list[str]) -> None:
    """The numbers of slots, by default 2, 32 and 256; `profile` prints where the time goes, `tasks` lets tasks work."""
    kinds = [word for word in arguments if word in ("equality", "band")] or ["equality"]
    numbers = [int(word) for word in arguments if word.isdigit()] or [2, 32, 256]
    for kind in kinds:
        for slots in numbers:
            measure(kind, slots, "profile" in arguments, "tasks" in arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
