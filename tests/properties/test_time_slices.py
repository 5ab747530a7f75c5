"""Time slices: nothing is stored twice, a row visits each unit once, and every pair is compared once."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control.slicing.balancing import MAX_LIVE_EPOCHS
from braid.engine import delta
from braid.optimizer.strategies import TimeSliced
from braid.plan.layout import Adapt, SlicingKind
from braid.testing import Draft, InlineQuery, ManualClock
from tests.budget import seeds

Row = tuple[int, int, int]
"""Stream, step, event time."""
LATENESS_US = 10_000
STEPS = 6


def everything(left: pa.Array, right: pa.Array) -> np.ndarray:
    return np.ones(len(left), bool)


def third(left: pa.Array, right: pa.Array) -> np.ndarray:
    return np.asarray((left.to_numpy() + right.to_numpy()) % 3 == 0)


class Run:
    """A join of a chain of streams by functions, with fixed sequences, and all its rows."""

    def __init__(self, seed: int, directory: Path) -> None:
        chance = random.Random(seed)
        self.streams = chance.choice((2, 3, 3, 4))
        self.windows = [chance.choice((3, 10, 25)) for _ in range(self.streams)]
        self.units = chance.randint(1, 5)
        self.orders = tuple(_outwards(head, self.streams) for head in range(self.streams))
        draft = Draft()
        made = [
            draft.stream(f"s{n}", {"v": "bigint"}, window_us=window, lateness_us=LATENESS_US)
            for n, window in enumerate(self.windows)
        ]
        self.passes = [chance.choice((everything, third)) for _ in range(self.streams - 1)]
        for (one, other), function in zip(itertools.pairwise(made), self.passes, strict=True):
            draft.on_function(function, one["v"], other["v"], raises=False)
        slicing: SlicingKind = chance.choice(("time", "count"))
        adapt: Adapt = chance.choice(("off", "passive", "aggressive"))
        slices = {f"s{n}": chance.randint(1, 12) for n in range(self.streams)}
        self.query = InlineQuery(
            draft.logical_plan(),
            directory,
            strategy=TimeSliced(self.units, chance.choice(("auto", slices)), slicing=slicing, adapt=adapt),
            slots=chance.choice((1, 2, 3)),
            ingest_tasks=chance.choice((1, 2)),
            clock=ManualClock(0),
        )
        self.rows: list[Row] = [
            (stream, step, 8 * step + chance.randint(0, 10))
            for step in range(STEPS)
            for stream in range(self.streams)
            for _ in range(chance.randint(0, 5))
        ]

    def steps(self) -> list[dict[str, Any]]:
        found = []
        for step in range(STEPS):
            tables = {f"s{stream}": self._table(stream, step) for stream in range(self.streams)}
            found.append(self.query.run(step, tables) or {})
        return found

    def _table(self, stream: int, step: int) -> pa.Table:
        times = [time for own, when, time in self.rows if (own, when) == (stream, step)]
        return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": pa.array(times, pa.int64())})

    def compared(self, step: int) -> int:
        """By brute force: the pairs that the lookups of a step compare, within the windows of what is joined so far."""
        return self._count(step)[1]

    def probing(self, step: int) -> int:
        """By brute force: the rows that the lookups of a step begin with."""
        return self._count(step)[0]

    def _count(self, step: int) -> tuple[int, int]:
        probing = compared = 0
        for head, order in enumerate(self.orders):
            joined: list[tuple[Row, ...]] = [(row,) for row in self.rows if row[:2] == (head, step)]
            for stream in order:
                probing += len(joined)
                pairs = [
                    (*rows, row)
                    for rows in joined
                    for row in self.rows
                    if row[0] == stream and self._sees(head, step, row) and self._in_window((*rows, row), row)
                ]
                compared += len(pairs)
                joined = [rows for rows in pairs if self._passes(rows)]
        return probing, compared

    def _sees(self, head: int, step: int, row: Row) -> bool:
        return row[1] <= step if row[0] < head else row[1] < step

    def _in_window(self, rows: tuple[Row, ...], added: Row) -> bool:
        newest = max(time for _, _, time in rows[:-1])
        reach = min(time + self.windows[stream] for stream, _, time in rows[:-1])
        return newest - self.windows[added[0]] <= added[2] <= reach

    def _passes(self, rows: tuple[Row, ...]) -> bool:
        times = {stream: time for stream, _, time in rows}
        return all(
            function is everything or one not in times or one + 1 not in times or (times[one] + times[one + 1]) % 3 == 0
            for one, function in enumerate(self.passes)
        )


def _outwards(head: int, streams: int) -> tuple[int, ...]:
    """A sequence in which every stream is joined to a neighbour: down to the first, then up to the last."""
    return (*range(head - 1, -1, -1), *range(head + 1, streams))


@pytest.mark.parametrize("seed", seeds(40_000, 50))
def test_every_pair_within_the_windows_is_compared_once(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(seed, tmp_path)
    monkeypatch.setattr(delta, "best_orders", lambda *_: run.orders)
    progress = run.steps()
    found = [sum(unit["pairsCompared"] for unit in step["units"]) for step in progress]
    assert found == [run.compared(step) for step in range(STEPS)]


@pytest.mark.parametrize("seed", seeds(41_000, 30))
def test_nothing_is_stored_twice_and_a_row_visits_a_unit_once(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(seed, tmp_path)
    monkeypatch.setattr(delta, "best_orders", lambda *_: run.orders)
    for step, progress in enumerate(run.steps()):
        came = sum(row[1] <= step for row in run.rows)
        assert progress["stateRows"] == came, "the watermark is far behind, so nothing has expired"
        assert len(run.query.steps.manifest.layouts) <= MAX_LIVE_EPOCHS
        if all(row[1] != step for row in run.rows):
            continue  # no job, so no unit reports
        assert sum(unit["rowsStored"] for unit in progress["units"]) == came
        probes = run.probing(step)
        for unit in progress["units"]:
            assert unit["visits"] <= probes


def test_rows_visit_only_units_whose_slices_their_windows_touch(tmp_path: Path) -> None:
    """Rows of the stream with two slices are at two units of four."""
    draft = Draft()
    one, other = (draft.stream(name, {"v": "bigint"}, window_us=20, lateness_us=LATENESS_US) for name in "ab")
    draft.on_function(everything, one["v"], other["v"], raises=False)
    query = InlineQuery(draft.logical_plan(), tmp_path, strategy=TimeSliced(4, {"a": 2, "b": 8}), slots=2)
    times = pa.table({"ts": pa.array(range(160), pa.timestamp("us", "UTC")), "v": pa.array(range(160), pa.int64())})
    first = query.run(0, {"a": times.slice(40, 10), "b": times.slice(0, 0)}) or {}
    assert {unit["unit"]: unit["rowsStored"] for unit in first["units"] if unit["rowsStored"]} == {0: 10}
    second = query.run(1, {"a": times.slice(0, 0), "b": times}) or {}
    # Rows of b from 20 to 69 have the slice from 40 to 49 in their windows.
    assert {unit["unit"]: unit["visits"] for unit in second["units"] if unit["visits"]} == {0: 50}
