"""Small runs of the experiments on the engine: nothing is lost, the counts are the model's, and pages can show them."""

from __future__ import annotations

from typing import Any

import pytest

from braid.control.memory.decisions import Relocate, Spill
from braid.control.memory.settings import MemorySettings
from experiments import dcape
from experiments.dcape.counted import COMPLETE, OPENS_NOTHING, all_runs, counted, expected_results, without_limit
from experiments.dcape.engine import run_engine
from experiments.dcape.input import thirds
from experiments.dcape.model import run_model
from experiments.dcape.parallel import LARGE_LIMIT, MINUTES, overflow_minute
from experiments.dcape.runs import a_run, contiguous
from experiments.dcape.size import Size
from experiments.experiment import Experiment, plain

SMALL = Size(
    "small",
    groups=12,
    range_rows=120,
    rows_a_second=0.4,
    step_seconds=15,
    seeds=1,
    engine_step_seconds=300,
    move_step_seconds=300,
)
SHORT = 20


@pytest.mark.parametrize("units", [1, 2])
def test_without_adaptations_the_engine_finds_what_the_model_counts(units: int) -> None:
    owners = contiguous(SMALL.groups, (1 / units,) * units)
    run = a_run(SMALL.engine, thirds(SMALL.groups, (4, 2, 1)), SHORT, 1, owners)
    ran = run_engine(run, None)
    modelled = run_model(run, MemorySettings(run.all_bytes * 2, balance=0.0))
    assert ran.results == modelled.results
    assert ran.results[-1] == expected_results(run)


def test_pushes_and_moves_lose_and_repeat_nothing_and_pushed_rows_stay_closed() -> None:
    run = a_run(SMALL.engine, thirds(SMALL.groups, (4, 2, 1)), 50, 2, contiguous(SMALL.groups, (2 / 3, 1 / 3)))
    whole = without_limit(run)
    settings = MemorySettings(int(0.3 * whole["bytes"]), balance=0.8, min_interval_ms=0)
    ran = run_engine(run, settings)
    assert ran.kinds(Spill)
    assert ran.kinds(Relocate)
    assert ran.cleaned > 0
    one = counted(ran, run, settings, expected_results(run))
    assert one["complete"]
    assert one["opened_bytes"] == 0
    assert not counted(ran, run, settings, expected_results(run) + 1)["complete"]


def test_memory_is_exceeded_at_the_first_sample_above_the_limit() -> None:
    used = {"used_by_time": [10, int(100 * LARGE_LIMIT), 60, 20]}
    assert overflow_minute(used, 100) == MINUTES * 3 / 4
    assert overflow_minute(used, 1_000) is None


@pytest.mark.parametrize("experiment", dcape.ENGINE, ids=lambda one: one.name)
def test_a_small_run_can_be_judged_tabled_and_drawn(experiment: Experiment) -> None:
    measured: dict[str, Any] = plain(experiment.measure(SMALL))
    judged = {one.claim.name: one for one in experiment.judged(measured)}
    assert all(one.verdict.here for one in judged.values())
    assert len(list(all_runs(measured))) >= 3
    for claim in (COMPLETE, OPENS_NOTHING):
        assert claim.name not in judged or judged[claim.name].verdict.holds
    for table in experiment.tables(measured):
        assert {len(row) for row in table.rows} == {len(table.headings)}
    assert all(picture.series for picture in experiment.pictures(measured))
