"""Time slices: nothing is stored twice, a row visits each unit once, and every pair is compared once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from braid.control.slicing.balancing import MAX_LIVE_EPOCHS
from braid.engine import delta
from braid.optimizer.strategies import TimeSliced
from braid.plan.layout import Adapt, SlicingKind
from braid.testing import Draft, InlineQuery
from tests.budget import seeds
from tests.properties.chains import LATENESS_US, Chain, everything

STEPS = 6


def slices_of(chain: Chain) -> TimeSliced:
    """Slices of any kind and number, at any units."""
    chance = chain.chance
    slicing: SlicingKind = chance.choice(("time", "count"))
    adapt: Adapt = chance.choice(("off", "passive", "aggressive"))
    slices = {f"s{n}": chance.randint(1, 12) for n in range(chain.streams)}
    return TimeSliced(chance.randint(1, 5), chance.choice(("auto", slices)), slicing=slicing, adapt=adapt)


@pytest.mark.parametrize("seed", seeds(40_000, 27))
def test_every_pair_within_the_windows_is_compared_once(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = Chain(seed, STEPS)
    monkeypatch.setattr(delta, "best_orders", lambda *_: chain.orders)
    progress = chain.run(slices_of(chain), tmp_path)
    found = [sum(unit["pairsCompared"] for unit in step["units"]) for step in progress]
    assert found == [chain.count(step)[1] for step in range(STEPS)]


@pytest.mark.parametrize("seed", seeds(41_000, 15))
def test_nothing_is_stored_twice_and_a_row_visits_a_unit_once(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = Chain(seed, STEPS)
    monkeypatch.setattr(delta, "best_orders", lambda *_: chain.orders)
    query = chain.start(slices_of(chain), tmp_path)
    for step, progress in enumerate(chain.feed(query)):
        came = sum(row[1] <= step for row in chain.rows)
        assert progress["stateRows"] == came, "the watermark is far behind, so nothing has expired"
        assert len(query.steps.manifest.layouts) <= MAX_LIVE_EPOCHS
        if all(row[1] != step for row in chain.rows):
            continue  # no job, so no unit reports
        assert sum(unit["rowsStored"] for unit in progress["units"]) == came
        probes = chain.count(step)[0]
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
