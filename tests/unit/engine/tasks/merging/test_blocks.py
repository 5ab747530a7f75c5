"""Merging in the engine: a slow stream over many units keeps few blocks, and every row."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from braid.control import compaction, merging
from braid.engine.tasks.merging import slices
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


@pytest.mark.parametrize(
    ("strategy", "slots"),
    [(Partitioned(3), (2, 2)), (Partitioned(3), (1, 3)), (Biclique((2, 2), routing="random"), (2, 1))],
)
def test_a_merge_over_several_steps_keeps_every_row_and_ends_in_one_block(
    strategy: Strategy, slots: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of slots changes between two slices; parts are not read before the merge is complete."""
    monkeypatch.setattr(merging, "FAN_IN", 4)
    monkeypatch.setattr(compaction, "SHARE", 0.0)
    monkeypatch.setattr(compaction, "LEAST_ROWS", 12)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 1)
    draft = Draft()
    a, b = (draft.stream(name, {"k": "int"}, window_us=None) for name in ("a", "b"))
    logical_plan = draft.on(equal(a["k"], b["k"])).logical_plan()
    chance, unfinished = random.Random(1), 0
    keys: list[int] = []
    found = 0
    for step in range(40):
        count = slots[step % 8 // 4]
        query = InlineQuery(logical_plan, str(tmp_path), strategy=strategy, slots=count)
        rows = {"ts": [step] * 20, "k": [chance.randint(0, 30) for _ in range(20)]}
        keys += rows["k"]
        probe = {"ts": [step], "k": [chance.randint(0, 30)]} if step % 5 == 4 else {"ts": [], "k": []}
        tables = {"a": pa.table(rows).cast(a.schema()), "b": pa.table(probe).cast(b.schema())}
        progress = query.run(step, tables)
        assert progress is not None
        found += progress["numOutputRows"]
        manifest = query.steps.manifest
        unfinished += len(manifest.unfinished)
        live = {block.file for block in manifest.blocks}
        assert not live & {part.file for begun in manifest.unfinished for part in begun.parts}
        assert sum(block.rows for block in manifest.blocks if block.stream == 0) == len(keys)
    assert unfinished > 10
    assert max(block.rows for block in manifest.blocks) > 30
    columns = query.published().to_pydict()
    assert found == len(columns["k"] if "k" in columns else next(iter(columns.values())))
