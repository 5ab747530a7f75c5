"""The command line without Spark: help, version, wrong usage, exit codes, how errors are printed."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from braid.cli import main

RUNNER = CliRunner()


@pytest.mark.parametrize("command", ["", "demo", "bench", "experiments", "experiments run", "experiments list"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_everywhere(command: str, option: str) -> None:
    result = RUNNER.invoke(main.app, [*command.split(), option])
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_help_lists_only_commands_that_exist() -> None:
    commands = [command.callback.__name__ for command in main.app.registered_commands if command.callback]
    assert commands == ["demo", "bench"]
    assert [group.name for group in main.app.registered_groups] == ["experiments"]


def test_version() -> None:
    result = RUNNER.invoke(main.app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("braid 0.")


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["demo", "--nonsense"], ["demo", "--rows", "0"], ["demo", "--rows", "many"], ["demo", "extra"]],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    assert RUNNER.invoke(main.app, arguments).exit_code == 2
