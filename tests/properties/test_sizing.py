"""Slots that are used come and go with the work of the steps: the results are those of the oracle."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.control import sizing
from braid.state.manifest import Manifest
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import constant, equal, within
from tests.budget import seeds
from tests.properties.cases import make_case, results_of, some_exchange

SEEDS = seeds(9700, 18)
STEP_US = 1_000_000


@pytest.mark.parametrize("seed", SEEDS)
def test_results_do_not_depend_on_the_slots_in_use(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other slots in use in every step."""
    chance = random.Random(seed)

    def varying(manifest: Manifest, slots: int) -> int:
        if not manifest.work_seconds:
            return min(slots, max(manifest.layout.units))
        return 1 + random.Random(f"{seed} {manifest.step}").randrange(slots)

    monkeypatch.setattr(sizing, "slots_needed", varying)
    monkeypatch.setattr(sizing, "LEAST_SLOTS", 1)
    case = make_case(seed)
    clock = ManualClock(0)
    query = InlineQuery(
        case.logical_plan,
        str(tmp_path),
        slots=chance.randint(2, 6),
        ingest_tasks=chance.randint(1, 3),
        clock=clock,
        exchange=some_exchange(case.logical_plan, chance),
    )
    for batch in range(len(case.batches)):
        clock.now_ms = case.clock_ms[batch]
        query.run(batch, case.tables(batch))
    assert results_of(case, query.published()) == case.expected, case.describe()


@pytest.mark.parametrize("kind", ["equality", "band"])
def test_a_large_cluster_uses_few_slots_for_small_steps_and_all_for_large_ones(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is that of the real tasks; what counts as little is set so that rows decide it, not the machine."""
    draft = Draft()
    r, s = (draft.stream(n, {"k": "bigint", "v": "double"}, window_us=2 * STEP_US, lateness_us=0) for n in "rs")
    draft.on(equal(r["k"], s["k"]) if kind == "equality" else within(r["v"], s["v"], constant(0.5, "double")))
    clock = ManualClock(0)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), slots=16, ingest_tasks=4, clock=clock)
    chance = np.random.default_rng(5)

    def run(step: int, seconds_per_slot: float) -> dict[str, object]:
        monkeypatch.setattr(sizing, "SECONDS_PER_SLOT", seconds_per_slot)
        times = np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, 400))
        table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": times % 97, "v": times % 991 * 1.0})
        clock.advance(1000)
        return query.run(step, {"r": table, "s": table}) or {}

    small = [run(step, 1000.0) for step in range(sizing.RECORDED_STEPS + 5)]
    assert max(query.steps.manifest.layout.units) == sizing.LEAST_SLOTS
    changes = [text for progress in small for text in progress["adaptations"] if "slots" in text]
    assert [text.partition(":")[0] for text in changes] == ["uses 8 instead of 16 of 16 slots"]
    blocks = [block for block in query.steps.manifest.blocks if block.stream == 0]
    assert len({unit for block in blocks for unit in block.units or ()}) <= sizing.LEAST_SLOTS
    run(sizing.RECORDED_STEPS + 5, 1e-9)
    run(sizing.RECORDED_STEPS + 6, 1e-9)
    assert max(query.steps.manifest.layout.units) == 16
