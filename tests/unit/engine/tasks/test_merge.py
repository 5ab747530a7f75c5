"""Merging in the engine: a slow stream over many units keeps few blocks, and every row."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from braid.control import merging
from braid.optimizer.strategies import Biclique, Partitioned, Strategy
from braid.testing import Draft, InlineQuery, equal


@pytest.mark.parametrize("strategy", [Partitioned(16), Biclique((12, 7))])
def test_few_rows_over_many_units_stay_in_few_blocks(
    strategy: Strategy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step touches one or two of the units; merged blocks must not differ by which."""
    monkeypatch.setattr(merging, "FAN_IN", 4)
    draft = Draft()
    a, b = (draft.stream(name, {"k": "int"}, window_us=None) for name in ("a", "b"))
    query = InlineQuery(draft.on(equal(a["k"], b["k"])).logical_plan(), str(tmp_path), strategy=strategy, slots=2)
    chance = random.Random(0)
    for step in range(64):
        rows = {"ts": [step, step], "k": [chance.randint(0, 10**6) for _ in range(2)]}
        query.run(step, {"a": pa.table(rows).cast(a.schema())})
    blocks = query.steps.manifest.blocks
    assert len(blocks) <= 12
    assert sum(block.rows for block in blocks) == 128
