"""Crashes while time slices are redistributed, moved and cut, and rings change: each result of the oracle, once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from braid.control import compaction, merging
from braid.engine.tasks.merging import slices
from braid.optimizer.strategies import TimeSliced
from braid.plan.layout import Adapt, SlicingKind
from braid.state.checkpoint import Checkpoint
from braid.state.files import LocalFiles
from braid.testing import FailingFiles
from tests.budget import seeds
from tests.properties.cases import Case, make_case
from tests.properties.slicing import adapt_often, change_rings_often
from tests.recovery.test_inline_recovery import MOMENTS, Drill

KINDS: tuple[tuple[SlicingKind, Adapt], ...] = (("time", "passive"), ("time", "aggressive"), ("count", "aggressive"))


@pytest.fixture(autouse=True)
def change_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices are redistributed nearly every step, and moves of a few rows take several."""
    adapt_often(monkeypatch)
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    monkeypatch.setattr(compaction, "SHARE", 0.0)
    monkeypatch.setattr(compaction, "LEAST_ROWS", 6)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 1)


def drill(case: Case, directory: Path, slicing: SlicingKind, adapt: Adapt, chance: random.Random) -> Drill:
    slices = {stream.name: 1 + number for number, stream in enumerate(case.streams)}
    strategy = TimeSliced(3, slices, slicing=slicing, adapt=adapt)
    return Drill(case, directory, chance, changing=False, strategy=strategy)


@pytest.mark.parametrize("adapt", ["passive", "aggressive"])
@pytest.mark.parametrize("seed", seeds(44_100, 1))
def test_a_crash_at_any_write_while_rings_change_loses_and_repeats_nothing(
    seed: int, adapt: Adapt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step has other rings, by what the manifest before it says; a replay has those of the delta record."""
    change_rings_often(monkeypatch)
    case = make_case(seed, small=True, shares=(0, 100, 0))
    counted, strategy = FailingFiles(LocalFiles()), TimeSliced(3, interleave=2, adapt=adapt)
    whole = Drill(case, tmp_path / "whole", random.Random(seed), changing=False, strategy=strategy)
    assert whole.attempt(counted)
    whole.check()
    manifest = Checkpoint(LocalFiles(), f"{whole.directory}/checkpoint").last_manifest()
    assert manifest is not None
    assert manifest.layout.epoch > 1, "rings have changed"
    for at in range(1, counted.operations + 1):
        crashed = Drill(case, tmp_path / str(at), random.Random(at), changing=False, strategy=strategy)
        assert not crashed.attempt(FailingFiles(LocalFiles(), at, MOMENTS[at % 2]))
        assert crashed.attempt(FailingFiles(LocalFiles()))
        crashed.check()


@pytest.mark.parametrize(("slicing", "adapt"), KINDS)
@pytest.mark.parametrize("seed", seeds(44_000, 1))
def test_a_crash_at_any_write_while_slices_change_loses_and_repeats_nothing(
    seed: int, slicing: SlicingKind, adapt: Adapt, tmp_path: Path
) -> None:
    case = make_case(seed, small=True, shares=(0, 100, 0))
    counted = FailingFiles(LocalFiles())
    whole = drill(case, tmp_path / "whole", slicing, adapt, random.Random(seed))
    assert whole.attempt(counted)
    whole.check()
    manifest = Checkpoint(LocalFiles(), f"{whole.directory}/checkpoint").last_manifest()
    assert manifest is not None
    assert manifest.layout.epoch > 0, "slices were redistributed"
    for at in range(1, counted.operations + 1):
        crashed = drill(case, tmp_path / str(at), slicing, adapt, random.Random(at))
        assert not crashed.attempt(FailingFiles(LocalFiles(), at, MOMENTS[at % 2]))
        assert crashed.attempt(FailingFiles(LocalFiles()))
        crashed.check()
