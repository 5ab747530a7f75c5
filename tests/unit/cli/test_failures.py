"""How errors are printed: without a traceback, with the exit code."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from braid.cli import main
from braid.cli.failures import reported
from braid.errors import BraidError

RUNNER = CliRunner()


def failing(error: Exception) -> object:
    def run_demo(*_: object) -> None:
        raise error

    return run_demo


def test_an_error_is_printed_without_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "run_demo", failing(BraidError("It broke.", "here", "fix it")))
    result = RUNNER.invoke(main.app, ["demo"])
    assert result.exit_code == 1
    assert result.stderr == "Error: It broke.\nhere\nHint: fix it\n"


def test_other_errors_point_at_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "run_demo", failing(ValueError("odd")))
    result = RUNNER.invoke(main.app, ["demo"])
    assert result.exit_code == 1
    assert "ValueError: odd" in result.stderr
    assert "--debug" in result.stderr


@pytest.mark.parametrize("arguments", [["--debug", "demo"], ["demo", "--debug"]])
def test_debug_lets_the_traceback_through(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    error = BraidError("It broke.")
    monkeypatch.setattr(main, "run_demo", failing(error))
    result = RUNNER.invoke(main.app, arguments)
    assert result.exception is error


def test_an_interrupt_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as found, reported(debug=False):
        raise KeyboardInterrupt
    assert found.value.exit_code == 1
    assert "run the command again" in capsys.readouterr().err
