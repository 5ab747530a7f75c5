"""Live blocks and the driver's records stay small however long a query runs, with tasks that only report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import slots as by_slots
from benchmarks.driver import CountedFiles, IdleTasks, NoRows
from braid.control.merging import DEFAULT_PERIODS
from braid.optimizer.strategies import Biclique
from braid.testing import InlineQuery, ManualClock

WINDOW, STEPS = 40, 70


@pytest.mark.parametrize("slots", [8, 32])
def test_live_blocks_are_bounded_by_the_archive_periods(
    slots: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window has forty steps, each with a block for every slot and stream: merged, a few for each period remain."""
    monkeypatch.setattr(by_slots, "WINDOW_STEPS", WINDOW)
    clock, files = ManualClock(0), CountedFiles()
    plan = by_slots.build_plan("equality")
    strategy = Biclique(routing="contrand")
    query = InlineQuery(
        plan, str(tmp_path), strategy=strategy, slots=slots, ingest_tasks=slots, clock=clock, files=files
    )
    cluster: Any = query.cluster
    tasks = IdleTasks(query, slots)
    cluster._take, cluster._slot = tasks.take, tasks.probe
    most = 0
    for step in range(STEPS):
        clock.advance(1000)
        files.written.clear()
        tables: dict[str, Any] = {name: NoRows() for name in ("r", "s")}
        query.run(step, tables)
        live = Counter((block.stream, block.units) for block in query.steps.manifest.blocks)
        assert max(live.values()) <= 3 * DEFAULT_PERIODS, f"step {step}"
        most = max(most, sum(files.written.values()))
    assert len(live) == 2 * slots, "every slot has one kind of blocks for each stream"
    assert most < 1200 * slots + 8000
