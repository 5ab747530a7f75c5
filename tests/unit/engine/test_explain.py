"""What `explain` says of a run: the sort orders in force, and what was seen of the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from braid.engine.explain import explain_query
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Auto, TimeSliced
from braid.state.slice_state import RingVote
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.drafts import TIMESTAMP
from braid.testing.expressions import constant, within


def test_a_run_shows_the_path_that_it_has_chosen_and_those_it_has_not(tmp_path: Path) -> None:
    draft = Draft()
    a, b = (draft.stream(name, {"x": "double", "y": "double"}, window_us=5_000_000) for name in "ab")
    draft.on(within(a["x"], b["x"], constant(1.0, "double"))).on(within(a["y"], b["y"], constant(1.0, "double")))
    logical_plan = draft.logical_plan()
    query = InlineQuery(logical_plan, str(tmp_path), clock=ManualClock(0), rows_per_batch=10_000)
    chance = np.random.default_rng(1)

    def rows() -> pa.Table:
        times = np.sort(chance.integers(0, 300_000_000, 12_000))
        return pa.table(
            {"ts": pa.array(times).cast(TIMESTAMP), "x": chance.random(12_000) * 3, "y": chance.random(12_000) * 60}
        )

    progress = query.run(0, {"a": rows(), "b": rows()})
    assert progress is not None
    sorts = [text for text in progress["adaptations"] if text.startswith("sorts")]
    assert [text.partition(":")[0] for text in sorts] == [
        "sorts a by a.y instead of a.x",
        "sorts b by b.y instead of b.x",
    ]
    before, after = (
        explain_query(logical_plan, build_plan(logical_plan), Auto(), 2, "physical", manifest)
        for manifest in (None, query.steps.manifest)
    )
    assert "  sorted by a.x\n" in before
    assert "look up a by band: a.x <= b.x + 1, a.x >= b.x - 1 (guess: " in before
    assert "  sorted by a.y (seen: share of rows that are candidates by a.x 0." in after
    assert "look up a by band: a.y <= b.y + 1, a.y >= b.y - 1 (seen: " in after
    assert "  cut into sub-indexes of about " in after


def test_a_run_by_time_slices_shows_its_rings_and_what_they_are_expected_to_take(tmp_path: Path) -> None:
    draft = Draft()
    a, b = (draft.stream(name, {"v": "bigint"}, window_us=10_000) for name in "ab")
    draft.on_function(lambda one, other: np.ones(len(one), bool), a["v"], b["v"], raises=False)
    logical_plan, strategy = draft.logical_plan(), TimeSliced(4)
    query = InlineQuery(logical_plan, str(tmp_path), strategy=strategy, clock=ManualClock(0))
    rows = pa.table({"ts": pa.array(range(0, 1_500_000, 1000)).cast(TIMESTAMP), "v": range(1500)})
    query.run(0, {"a": rows, "b": rows})
    manifest = query.steps.manifest
    assert manifest.slice_state is not None
    voted = replace(manifest, slice_state=replace(manifest.slice_state, rings=RingVote((3, 2), 1.5, 2)))
    before, after, waiting = (
        explain_query(logical_plan, build_plan(logical_plan), strategy, 2, "layout", manifest)
        for manifest in (None, manifest, voted)
    )
    assert "new rows of a: b (guess: " in before
    assert "rings for latency: all units, because no rates were measured yet" in before
    assert "new rows of a: b (estimate: " in after
    assert "rings for latency: a 4, b 4; expected " in after
    assert " for 3,000 rows of a step, with " in after
    assert "rings of a 3, b 2 units would be 1.5 times as fast; they are chosen after 8 steps in a row" in waiting
