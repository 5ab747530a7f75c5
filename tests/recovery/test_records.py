"""Crashes around records and commands as of many slots: snapshots, changes, commands in files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from braid.control import merging
from braid.state.files import LocalFiles
from braid.testing import FailingFiles
from tests.properties.cases import make_case
from tests.recovery.many_slots import as_with_many_slots
from tests.recovery.test_inline_recovery import MOMENTS, Drill


@pytest.mark.parametrize(("seed", "snapshot_every"), [(5001, 2), (5003, 3)])
def test_a_crash_at_any_write_loses_nothing_and_leaves_no_command(
    seed: int, snapshot_every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_with_many_slots(monkeypatch, snapshot_every)
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    case = make_case(seed, small=True)
    counted = FailingFiles(LocalFiles())
    whole = Drill(case, tmp_path / "whole", random.Random(seed), changing=False)
    assert whole.attempt(counted)
    assert sum("/commands/" in operation for operation in counted.log) > 3
    for at in range(1, counted.operations + 1):
        drill = Drill(case, tmp_path / str(at), random.Random(at), changing=False)
        assert not drill.attempt(FailingFiles(LocalFiles(), at, MOMENTS[at % 2]))
        assert drill.attempt(FailingFiles(LocalFiles()))
        drill.check()
        assert LocalFiles().list(f"{drill.directory}/checkpoint/commands") == []
