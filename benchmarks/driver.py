"""`python -m benchmarks.driver`: what a step costs the driver by the number of slots, in one process.

A join of two streams, with as many ingest tasks as slots for each. Tasks are those of the inline cluster, and their
time is not counted: what is measured is the CPU of the step outside of tasks, and every byte that the driver writes.
The first steps, in which the windows fill, are not counted.
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
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.slots import build_plan
from braid.state.files import LocalFiles
from braid.testing import InlineQuery, ManualClock

STEP_US = 1_000_000
ROWS_PER_SLOT = 40
WARM, COUNTED = 10, 20


class CountedFiles(LocalFiles):
    """Counts what the driver writes, by directory. Tasks open their own files."""

    def __init__(self) -> None:
        self.written: dict[str, int] = defaultdict(int)

    def write_new(self, path: str, data: bytes) -> None:
        self.written[path.rsplit("/", 2)[1]] += len(data)
        super().write_new(path, data)


class Spent:
    """CPU seconds outside of the tasks; a profile of the same, if asked for."""

    def __init__(self, profiled: bool) -> None:
        self.tasks = 0.0
        self.profile = cProfile.Profile() if profiled else None

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
        """Adds the seconds of a step, outside of tasks, to the list."""
        found: list[float] = []
        self.tasks = 0.0
        if self.profile is not None:
            self.profile.enable()
        began = time.process_time()
        yield found
        found.append(time.process_time() - began - self.tasks)
        if self.profile is not None:
            self.profile.disable()


def measure(kind: str, slots: int, profiled: bool = False) -> None:
    chance, clock, files, spent = np.random.default_rng(1), ManualClock(0), CountedFiles(), Spent(False)
    with tempfile.TemporaryDirectory() as directory:
        plan = build_plan(kind)
        query = InlineQuery(plan, directory, slots=slots, ingest_tasks=slots, clock=clock, files=files)
        cluster: Any = query.cluster
        for name in ("_take", "_slot", "_received", "_attempt"):
            setattr(cluster, name, _outermost(spent, getattr(cluster, name)))
        seconds, sizes, parts = [], [], defaultdict(list)
        for step in range(WARM + COUNTED):
            tables = {name: _rows(chance, step, slots) for name in ("r", "s")}
            clock.advance(1000)
            files.written.clear()
            if step == WARM and profiled:
                spent.profile = cProfile.Profile()
            gc.collect()
            with spent.step() as found:
                query.run(step, tables)
            if step >= WARM:
                seconds += found
                sizes.append(sum(files.written.values()))
                for name, size in files.written.items():
                    parts[name].append(size)
        blocks = len(query.steps.manifest.blocks)
    print(
        f"{kind:9} {slots:4} slots: driver {1000 * statistics.median(seconds):.1f} ms, "
        f"most {1000 * max(seconds):.1f} ms; written a step {statistics.mean(sizes) / 1000:.1f} KB on average, "
        f"median {statistics.median(sizes) / 1000:.1f}, most {max(sizes) / 1000:.1f} KB "
        f"({', '.join(f'{name} {statistics.mean(found) / 1000:.1f}' for name, found in sorted(parts.items()))}); "
        f"{blocks / slots:.1f} blocks a slot",
        flush=True,
    )
    if spent.profile is not None:
        pstats.Stats(spent.profile).sort_stats("tottime").print_stats(35)


def _outermost(spent: Spent, function: Callable[..., Any]) -> Callable[..., Any]:
    """Task functions call each other: only the outermost call is counted."""
    counted = spent.in_task(function)

    def run(*arguments: Any) -> Any:
        if _depth[0]:
            return function(*arguments)
        _depth[0] = 1
        try:
            return counted(*arguments)
        finally:
            _depth[0] = 0

    return run


_depth = [0]


def _rows(chance: np.random.Generator, step: int, slots: int) -> pa.Table:
    rows = ROWS_PER_SLOT * slots
    times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, rows))
    columns = {"k": pa.array(chance.integers(0, 4 * rows, rows)), "v": pa.array(chance.random(rows) * 4 * rows)}
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), **columns})


def main(arguments: list[str]) -> None:
    """The numbers of slots, by default 2, 32 and 256; `profile` prints where the driver's time goes."""
    kinds = [word for word in arguments if word in ("equality", "band")] or ["equality"]
    numbers = [int(word) for word in arguments if word.isdigit()] or [2, 32, 256]
    for kind in kinds:
        for slots in numbers:
            measure(kind, slots, "profile" in arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
