"""The command line without Spark: help, version, wrong usage, exit codes, how errors are printed."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from braid.cli import main
from braid.cli.demo import Places, prepare
from braid.cli.failures import reported
from braid.cli.screen import Totals, live_view, size_text
from braid.cli.traffic import Fleet, files_in, make_file, write_file
from braid.errors import BraidError

RUNNER = CliRunner()
FLEET = Fleet("taxi", seed=1, vehicles=40)


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


def test_experiments_are_named_and_others_refused() -> None:
    assert "bistream: stored, volume" in RUNNER.invoke(main.app, ["experiments", "list"]).stdout
    unknown = RUNNER.invoke(main.app, ["experiments", "run", "nonsense"])
    assert unknown.exit_code == 2
    assert "There are no experiments nonsense" in unknown.stderr.replace("\n", " ")


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


@pytest.mark.parametrize("fresh", [[], ["--fresh"]])
def test_demo_leaves_directories_alone_that_are_not_its_own(tmp_path: Path, fresh: list[str]) -> None:
    (tmp_path / "precious.txt").write_text("keep me")
    result = RUNNER.invoke(main.app, ["demo", "--dir", str(tmp_path), *fresh])
    assert result.exit_code == 2
    assert "choose another directory" in result.stderr.replace("\n", " ")
    assert (tmp_path / "precious.txt").exists()


def test_bench_names_its_benchmarks() -> None:
    result = RUNNER.invoke(main.app, ["bench", "--list"])
    assert result.exit_code == 0
    assert "equality" in result.stdout
    unknown = RUNNER.invoke(main.app, ["bench", "nonsense"])
    assert unknown.exit_code == 2
    assert "There is no benchmark nonsense" in unknown.stderr.replace("\n", " ")


@pytest.mark.parametrize("fresh", [[], ["--fresh"]])
def test_bench_leaves_directories_alone_that_are_not_its_own(tmp_path: Path, fresh: list[str]) -> None:
    (tmp_path / "precious.txt").write_text("keep me")
    result = RUNNER.invoke(main.app, ["bench", "small", "--dir", str(tmp_path), *fresh])
    assert result.exit_code == 1
    assert "Choose another directory" in result.stderr
    assert (tmp_path / "precious.txt").exists()


def test_bench_outside_a_checkout_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.cli.checkout.braid.__file__", str(tmp_path / "site-packages" / "braid" / "__init__.py"))
    result = RUNNER.invoke(main.app, ["bench", "--list"])
    assert result.exit_code == 1
    assert "from a checkout" in result.stderr


def test_fresh_deletes_an_earlier_demo_only(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    assert prepare(places, fresh=False).startswith("Starting")
    places.checkpoint.mkdir()
    assert prepare(places, fresh=False).startswith("Continuing")
    assert prepare(places, fresh=True).startswith("Starting")
    assert not places.checkpoint.exists()


def failing(error: Exception) -> object:
    def run_demo(*_: object) -> None:
        raise error

    return run_demo


def test_an_error_is_printed_without_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "run_demo", failing(BraidError("It broke.", "here", "mend it")))
    result = RUNNER.invoke(main.app, ["demo"])
    assert result.exit_code == 1
    assert result.stderr == "Error: It broke.\nhere\nHint: mend it\n"


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


def test_a_file_of_reports_is_always_the_same() -> None:
    assert make_file(FLEET, 3).equals(make_file(FLEET, 3))
    assert not make_file(FLEET, 3).equals(make_file(FLEET, 4))


def test_every_report_is_in_one_file() -> None:
    reports = [row for number in range(20) for row in make_file(FLEET, number).to_pylist()]
    distinct = {(row["vehicle"], row["ts"]) for row in reports}
    assert len(distinct) == len(reports)
    assert len(reports) >= 19 * FLEET.rows_per_file


def test_a_feed_grows_by_whole_files(tmp_path: Path) -> None:
    assert files_in(tmp_path / "feed") == 0
    rows = write_file(FLEET, 0, tmp_path / "feed")
    assert rows == make_file(FLEET, 0).num_rows
    assert files_in(tmp_path / "feed") == 1


def test_totals_add_up() -> None:
    totals = Totals(planned_rows=100)
    step = {
        "batchId": 0,
        "numInputRows": 40,
        "numOutputRows": 3,
        "lateRows": {"a": 1, "b": 0},
        "watermarks": {"a": None, "b": "2026-01-01T08:00:05.000Z"},
        "processedRowsPerSecond": 80.0,
        "stateRows": 40,
        "stateBytes": 2048,
        "durationMs": {"trigger": 500},
    }
    totals.add(step)
    totals.add({**step, "batchId": 1})
    assert (totals.rows, totals.results, totals.late, totals.steps) == (80, 6, 2, 2)
    assert totals.seconds >= 0.5
    assert live_view(totals) is not None


@pytest.mark.parametrize(
    ("count", "text"), [(12, "12 B"), (1500, "1.5 kB"), (2_500_000, "2.5 MB"), (3_200_000_000, "3.2 GB")]
)
def test_sizes_read_well(count: int, text: str) -> None:
    assert size_text(count) == text
