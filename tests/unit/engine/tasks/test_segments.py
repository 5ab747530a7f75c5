"""Opening segments: stored indexes are mapped, and are those that the rows would give; opening is counted once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.engine.tasks.segments import SegmentStore
from braid.kernels.ordering import open_index
from braid.optimizer.build import build_plan
from braid.plan.logical import LogicalPlan
from braid.state.cache import LocalCopies
from braid.state.files import LocalFiles
from braid.state.usage import Meter
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import constant, equal, within

SECOND = "b"


def three_streams(second: str) -> LogicalPlan:
    """Stream `b` is looked up by a key, and by a second key or a band."""
    draft = Draft()
    a = draft.stream("a", {"k": "bigint"}, window_us=None)
    b = draft.stream(SECOND, {"k": "bigint", "j": "bigint", "v": "float"}, window_us=None)
    c = draft.stream("c", {"j": "bigint", "v": "float"}, window_us=None)
    draft.on(equal(a["k"], b["k"]))
    draft.on(equal(b["j"], c["j"]) if second == "key" else within(b["v"], c["v"], constant(0.5, "float")))
    return draft.logical_plan()


@pytest.mark.parametrize("second", ["key", "band"])
def test_a_stored_index_is_mapped_and_equals_what_the_rows_give(second: str, tmp_path: Path) -> None:
    logical_plan, chance = three_streams(second), np.random.default_rng(1)
    query = InlineQuery(logical_plan, str(tmp_path), slots=1)
    rows = {
        "ts": pa.array(np.arange(500), pa.timestamp("us", "UTC")),
        "k": pa.array(chance.integers(0, 200, 500)),
        "j": pa.array(chance.integers(0, 200, 500)),
        "v": pa.array(np.where(chance.random(500) < 0.1, np.nan, chance.random(500)).astype(np.float32)),
    }
    query.run(0, {SECOND: pa.table(rows)})
    plan = build_plan(logical_plan)
    store = SegmentStore(plan, LocalCopies(LocalFiles(), ""), f"{query.checkpoint.path}/blocks")
    checked = 0
    for block in (block for block in query.steps.manifest.blocks if block.stream == 1):
        for segment in store.reader(block.file).segments:
            opened = store.stored(block.file, segment, 1)
            for index, found in zip(plan.indexes(1)[1:], opened.indexes[1:], strict=True):
                expected = open_index(plan, index, 1, opened.rows, found.positions)
                for name in ("keys", "numbers"):
                    own, computed = getattr(found, name), getattr(expected, name)
                    np.testing.assert_array_equal(own, computed)
                    assert own is None or not own.flags.owndata, "mapped, not made"
                checked += 1
    assert checked


def test_opening_is_counted_when_a_block_is_not_open_yet(tmp_path: Path) -> None:
    query = InlineQuery(three_streams("key"), str(tmp_path), slots=1)
    progress = query.run(0, {"a": pa.table({"ts": pa.array([1], pa.timestamp("us", "UTC")), "k": [1]})})
    assert progress is not None
    assert 0.0 < progress["openingCpuSeconds"] < progress["cpuSeconds"]["probe"]
    (block,) = query.steps.manifest.blocks
    store = SegmentStore(
        build_plan(three_streams("key")), LocalCopies(LocalFiles(), ""), f"{query.checkpoint.path}/blocks"
    )
    spent = []
    for _ in range(2):
        meter = Meter()
        with meter.running():
            store.stored(block.file, store.reader(block.file).segments[0], 0)
        spent.append(meter.usage().opening)
    assert spent[0] > 0.0
    assert spent[1] == 0.0
