"""Rings chosen by what was measured: at every restart others, and the same answer."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from braid.optimizer import check_orders, ring_estimates, sequences
from braid.optimizer.strategies import TimeSliced
from tests.budget import seeds
from tests.properties.test_functions import Case, table


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are enough to measure by, and any gain to change the rings for."""
    monkeypatch.setattr(ring_estimates, "MIN_ROWS", 1.0)
    monkeypatch.setattr(ring_estimates, "MIN_GAIN", 1.0)
    monkeypatch.setattr(check_orders, "MIN_PAIRS", 3.0)
    monkeypatch.setattr(check_orders, "MIN_SAMPLED", 3.0)
    monkeypatch.setattr(sequences, "MIN_PROBES", 3.0)


def run(case: Case, directory: Path, task_seconds: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every step in a run of its own, with another time of a task; the epochs of the layouts."""
    epochs = []
    for number, step in enumerate(case.steps):
        monkeypatch.setattr(ring_estimates, "TASK_SECONDS", task_seconds[number % len(task_seconds)])
        query = case.query(directory)
        query.run(number, {name: table(rows) for name, rows in step.items()})
        epochs.append(query.steps.manifest.layout.epoch)
    published = query.published()
    columns = [
        zip(published[f"{name}_ts"].cast(pa.int64()).to_pylist(), published[name].to_pylist(), strict=True)
        for name in case.streams
    ]
    assert Counter(zip(*columns, strict=True)) == case.expected()
    return epochs


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("seed", seeds(64_000, 40))
def test_other_rings_at_every_restart_change_no_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(seed)
    case.strategy = TimeSliced(random.Random(seed).randint(1, 6))
    run(case, tmp_path, (1e-9, 1e-3, 1e-6), monkeypatch)


@pytest.mark.usefixtures("eager")
def test_rings_do_change_and_stay_where_nothing_else_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(64_007)
    case.strategy = TimeSliced(6)
    assert run(case, tmp_path / "changing", (1e-9, 1.0), monkeypatch)[-1] > 0
    case.strategy = TimeSliced(6, goal="throughput")
    assert run(case, tmp_path / "throughput", (1e-9, 1.0), monkeypatch) == [0] * len(case.steps)
