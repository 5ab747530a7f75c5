"""A slot gathers the step's rows of its units into one block; lookups do not depend on the number of ingest tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.kernels import join as kernel
from braid.optimizer.strategies import AlignedRouting, Biclique, CoordinatedRouting, Matrix, Partitioned, Strategy
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal

SLOTS = 3
STRATEGIES: list[Strategy] = [
    Partitioned(6),
    Biclique((3, 3), (3, 3)),
    Biclique((2, 4)),
    Matrix(2, 2),
    AlignedRouting("1 us", 3),
    CoordinatedRouting(2),
]


def query(directory: Path, strategy: Strategy, ingest_tasks: int) -> InlineQuery:
    draft = Draft()
    r = draft.stream("r", {"k": "bigint"}, window_us=1000, lateness_us=None)
    s = draft.stream("s", {"k": "bigint"}, window_us=1000, lateness_us=None)
    draft.on(equal(r["k"], s["k"]))
    return InlineQuery(draft.logical_plan(), str(directory), strategy=strategy, slots=SLOTS, ingest_tasks=ingest_tasks)


def rows(seed: int) -> dict[str, pa.Table]:
    chance = np.random.default_rng(seed)
    return {
        name: pa.table(
            {
                "ts": pa.array(chance.integers(seed * 10, seed * 10 + 10, 60), pa.timestamp("us", "UTC")),
                "k": pa.array(chance.integers(0, 12, 60)),
            }
        )
        for name in ("r", "s")
    }


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.describe())
def test_a_step_leaves_one_block_for_each_slot_and_stream(strategy: Strategy, tmp_path: Path) -> None:
    joined = query(tmp_path, strategy, ingest_tasks=5)
    joined.run(0, rows(0))
    manifest = joined.steps.manifest
    owners = [(block.stream, block.units) for block in manifest.blocks]
    assert len(owners) == len(set(owners)) <= 2 * SLOTS
    assert all(units is not None for _, units in owners)
    # Windows are far longer than the segments of a microsecond, so a row of the second stream is at all three units.
    stored = {Matrix: 240, AlignedRouting: 60 + 3 * 60, CoordinatedRouting: 240}.get(type(strategy), 120)
    assert sum(block.rows for block in manifest.blocks) == stored
    assert sum(block.copies for block in manifest.blocks) == stored - 120


def test_ingest_files_are_deleted_after_the_next_step(tmp_path: Path) -> None:
    joined = query(tmp_path, Partitioned(3), ingest_tasks=4)
    joined.run(0, rows(0))
    ingest_files = set(joined.steps.manifest.dropped)
    assert len(ingest_files) == 8
    stored = tmp_path / "checkpoint" / "blocks"
    assert ingest_files <= {path.name for path in stored.iterdir()}, "the step before may still be needed"
    joined.run(1, rows(1))
    assert not ingest_files & {path.name for path in stored.iterdir()}


@pytest.mark.parametrize("strategy", STRATEGIES[:2], ids=lambda strategy: strategy.describe())
def test_lookups_do_not_depend_on_the_number_of_ingest_tasks(
    strategy: Strategy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[int] = []
    for tasks in (1, 6):
        count = _count_matches(monkeypatch)
        joined = query(tmp_path / str(tasks), strategy, tasks)
        for number in range(3):
            joined.run(number, rows(number))
        looked_up.append(count[0])
        monkeypatch.undo()
    assert looked_up[0] == looked_up[1] > 0


def _count_matches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    match: Any = kernel.match
    count = [0]

    def counted(*arguments: Any) -> Any:
        count[0] += 1
        return match(*arguments)

    monkeypatch.setattr("braid.engine.tasks.lookups.match", counted)
    return count


def test_a_slot_without_units_opens_no_file_of_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joined = query(tmp_path, Partitioned(2), ingest_tasks=5)
    # All slots share one process here, and the first that needs a file opens it.
    monkeypatch.setattr(joined.cluster, "slot_order", lambda: [2, 0, 1])
    reports: dict[int, Any] = {}
    run = joined.cluster.run

    def watched(command: Any) -> list[Any]:
        found = run(command)
        reports.update({report.slot: report for report in found})
        return found

    monkeypatch.setattr(joined.cluster, "run", watched)
    joined.run(0, rows(0))
    # Five ingest files of each stream, and the two blocks that the slot has written itself.
    assert [reports[slot].usage.store_reads for slot in (0, 2)] == [5 + 5 + 2, 0]
    assert [len(reports[slot].stored) for slot in range(SLOTS)] == [2, 2, 0]
