"""The demo's directories: its own are reused or deleted, others are left alone."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from braid.cli import main
from braid.cli.demo import Places, _show_steps, prepare
from braid.cli.screen import Totals, step_header, step_line

RUNNER = CliRunner()


@pytest.mark.parametrize("fresh", [[], ["--fresh"]])
def test_demo_leaves_directories_alone_that_are_not_its_own(tmp_path: Path, fresh: list[str]) -> None:
    (tmp_path / "precious.txt").write_text("keep me")
    result = RUNNER.invoke(main.app, ["demo", "--dir", str(tmp_path), *fresh])
    assert result.exit_code == 2
    assert "choose another directory" in result.stderr.replace("\n", " ")
    assert (tmp_path / "precious.txt").exists()


def test_fresh_deletes_an_earlier_demo_only(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    assert prepare(places, fresh=False).startswith("Starting")
    places.checkpoint.mkdir()
    assert prepare(places, fresh=False).startswith("Continuing")
    assert prepare(places, fresh=True).startswith("Starting")
    assert not places.checkpoint.exists()


@pytest.mark.parametrize("terminal", [True, False])
def test_every_step_stays_on_the_screen_and_in_the_log(tmp_path: Path, terminal: bool) -> None:
    steps = [
        {
            "batchId": number,
            "numInputRows": 1000 + number,
            "numOutputRows": 5,
            "lateRows": {"taxi": 1, "van": 0},
            "processedRowsPerSecond": 10.0,
            "stateRows": 7,
            "stateBytes": 8,
            "watermarks": {"taxi": None, "van": None},
            "durationMs": {"trigger": 1},
        }
        for number in range(20)
    ]
    screen, totals = StringIO(), Totals(20_000)
    console = Console(file=screen, force_terminal=terminal, width=100, _environ={})
    _show_steps(iter(steps), Places(tmp_path), totals, console)
    lines = [step_header(), *(step_line(progress) for progress in steps)]
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", screen.getvalue())
    assert [line for line in shown.splitlines() if line in lines] == lines
    assert (tmp_path / "steps.log").read_text().splitlines() == lines
    assert ("20,190 rows" in shown) == terminal
    assert (totals.steps, totals.late) == (20, 20)
    assert "There are two rates." in shown
