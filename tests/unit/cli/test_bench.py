"""`braid bench` without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from braid.cli import main

RUNNER = CliRunner()


def test_bench_names_its_benchmarks() -> None:
    result = RUNNER.invoke(main.app, ["bench", "--list"])
    assert result.exit_code == 0
    assert "equality" in result.stdout
    unknown = RUNNER.invoke(main.app, ["bench", "nonsense"])
    assert unknown.exit_code == 2
    assert "There is no benchmark nonsense" in unknown.stderr.replace("\n", " ")


def test_the_benchmark_scale_is_listed_and_runs_alone() -> None:
    assert "scale" in RUNNER.invoke(main.app, ["bench", "--list"]).stdout
    for arguments in (["scale", "small"], ["small", "--small"]):
        result = RUNNER.invoke(main.app, ["bench", *arguments])
        assert result.exit_code == 2
        assert "runs alone" in result.stderr.replace("\n", " ")


def test_the_page_alone_is_made_of_the_records_without_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bool] = []
    monkeypatch.setattr("benchmarks.command.write_documents", lambda: made.append(True))
    assert RUNNER.invoke(main.app, ["bench", "--page-only"]).exit_code == 0
    assert made == [True]


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
