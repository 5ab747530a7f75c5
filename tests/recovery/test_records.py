"""Crashes around commands in files: nothing is lost or repeated, and no file of a command stays."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from braid.control import merging
from braid.engine.sending import command_files
from braid.state.files import LocalFiles
from braid.testing import FailingFiles
from tests.properties.cases import make_case
from tests.recovery.test_inline_recovery import MOMENTS, Drill


@pytest.fixture(autouse=True)
def as_with_many_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command is a file, and two blocks are enough to merge."""
    monkeypatch.setattr(command_files, "INLINE_BYTES", 0)
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)


@pytest.mark.parametrize("seed", [5001])
def test_a_crash_at_any_write_leaves_no_command(seed: int, tmp_path: Path) -> None:
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
