"""Crashes while partition groups change their units: published files hold each result of the oracle once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from braid.control import compaction, merging
from braid.engine.tasks.merging import slices
from braid.optimizer.strategies import Partitioned
from braid.state.checkpoint import Checkpoint
from braid.state.files import LocalFiles
from braid.testing import FailingFiles
from tests.budget import seeds
from tests.properties.cases import make_keyed_case
from tests.properties.grouped import moving, pushing
from tests.recovery.test_inline_recovery import MOMENTS, Drill


@pytest.fixture(autouse=True)
def change_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks are enough to merge, most merges take several steps, and few assignments are live."""
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    monkeypatch.setattr(merging, "MAX_LIVE_ASSIGNMENTS", 2)
    monkeypatch.setattr(compaction, "SHARE", 0.0)
    monkeypatch.setattr(compaction, "LEAST_ROWS", 6)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 1)


@pytest.mark.parametrize("seed", seeds(46_000, 2))
def test_a_crash_at_any_write_of_pushes_and_clean_ups_loses_and_repeats_nothing(seed: int, tmp_path: Path) -> None:
    """Runs end with a clean-up of what is deferred; a run after a crash begins with one."""
    case, strategy = make_keyed_case(seed, batches=4), Partitioned(2, groups=5)

    def drill(name: str) -> Drill:
        chance, memory = random.Random(name), pushing(seed, often=1)
        return Drill(case, tmp_path / name, chance, changing=False, strategy=strategy, memory=memory)

    counted, whole = FailingFiles(LocalFiles()), drill("whole")
    assert whole.attempt(counted)
    whole.check()
    for at in range(1 + seed % 4, counted.operations + 1, 4):
        crashed = drill(str(at))
        assert not crashed.attempt(FailingFiles(LocalFiles(), at, MOMENTS[at // 4 % 2]))
        assert crashed.attempt(FailingFiles(LocalFiles()))
        crashed.check()


@pytest.mark.parametrize("seed", seeds(45_000, 2))
def test_a_crash_at_any_write_while_groups_move_loses_and_repeats_nothing(seed: int, tmp_path: Path) -> None:
    case, strategy = make_keyed_case(seed, batches=4), Partitioned(3, groups=9)

    def drill(name: str) -> Drill:
        return Drill(
            case, tmp_path / name, random.Random(name), changing=False, strategy=strategy, memory=moving(seed, 1)
        )

    counted, whole = FailingFiles(LocalFiles()), drill("whole")
    assert whole.attempt(counted)
    whole.check()
    manifest = Checkpoint(LocalFiles(), f"{whole.directory}/checkpoint").last_manifest()
    assert manifest is not None
    assert manifest.layout.epoch > 0, "groups have moved"
    # Every third operation, a different third for each seed.
    for at in range(1 + seed % 3, counted.operations + 1, 3):
        crashed = drill(str(at))
        assert not crashed.attempt(FailingFiles(LocalFiles(), at, MOMENTS[at % 2]))
        assert crashed.attempt(FailingFiles(LocalFiles()))
        crashed.check()
