"""State and files stay bounded: over event time, and over steps inside one window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from braid.optimizer.strategies import Biclique, Partitioned, Strategy
from braid.state.manifests import SNAPSHOT_EVERY
from braid.testing import Draft, InlineQuery, constant, equal, within
from tests.properties.bounded import SECOND, own_files, rows
from tests.properties.payloads import payloads_as_measured


@pytest.fixture(autouse=True)
def _narrow_rows_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Payload files have bounds of their own (`test_payloads.py`)."""
    payloads_as_measured(monkeypatch)


def inline_query(directory: Path, window_s: int, strategy: Strategy) -> InlineQuery:
    draft = Draft()
    columns = {"id": "bigint", "k": "int"}
    a = draft.stream("a", columns, window_us=window_s * SECOND, lateness_us=SECOND)
    b = draft.stream("b", columns, window_us=window_s * SECOND, lateness_us=SECOND)
    keyed = isinstance(strategy, Partitioned)
    draft.on(equal(a["k"], b["k"]) if keyed else within(a["id"], b["id"], constant(10, "bigint")))
    return InlineQuery(draft.logical_plan(), str(directory), strategy=strategy)


@pytest.mark.parametrize("strategy", [Partitioned(units=3), Biclique(units=2)], ids=["partitioned", "biclique"])
def test_state_stays_bounded_over_event_time(tmp_path: Path, strategy: Strategy) -> None:
    """300 windows, three a step: after a few steps nothing grows."""
    query = inline_query(tmp_path, window_s=10, strategy=strategy)
    seen = []
    for step in range(100):
        times = np.sort(np.random.default_rng(step).uniform(step * 30, step * 30 + 30, 12))
        progress = query.run(step, {"a": rows(step * 12, times), "b": rows(step * 12, times)})
        assert progress is not None
        files = own_files(tmp_path / "checkpoint")
        seen.append((progress["stateRows"], progress["stateBytes"], progress["stateBlocks"], files))
    early, late = np.array(seen[5:30]).max(axis=0), np.array(seen[30:]).max(axis=0)
    assert (late <= early * 1.5).all(), (early, late)
    state_rows, _, blocks, files = late.tolist()
    assert state_rows <= 2 * 12 * 3
    assert blocks <= 12
    assert files <= blocks + 12 + SNAPSHOT_EVERY


@pytest.mark.parametrize("strategy", [Partitioned(units=3), Biclique(units=2)], ids=["partitioned", "biclique"])
def test_blocks_stay_few_inside_one_window(tmp_path: Path, strategy: Strategy) -> None:
    """200 tiny steps whose rows all stay live: blocks are merged, so their number grows far slower than the steps."""
    query = inline_query(tmp_path, window_s=3600, strategy=strategy)
    blocks, files = [], []
    for step in range(200):
        times = np.array([step + 0.25, step + 0.5])
        progress = query.run(step, {"a": rows(step * 2, times), "b": rows(step * 2, times)})
        assert progress is not None
        blocks.append(progress["stateBlocks"])
        files.append(own_files(tmp_path / "checkpoint"))
    assert progress["stateRows"] == 2 * 2 * 200
    assert max(blocks) <= 60, max(blocks)
    assert max(files) <= 100, max(files)
