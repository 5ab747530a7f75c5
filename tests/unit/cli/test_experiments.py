"""`braid experiments` without running anything."""

from __future__ import annotations

from typer.testing import CliRunner

from braid.cli import main

RUNNER = CliRunner()


def test_experiments_are_named_and_others_refused() -> None:
    assert "bistream: stored, ripples" in RUNNER.invoke(main.app, ["experiments", "list"]).stdout
    unknown = RUNNER.invoke(main.app, ["experiments", "run", "nonsense"])
    assert unknown.exit_code == 2
    assert "There are no experiments nonsense" in unknown.stderr.replace("\n", " ")
