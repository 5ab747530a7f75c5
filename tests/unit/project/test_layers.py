"""Packages import one way, the engine knows no Spark, and the contracts that say so notice when it is not so."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
CONTRACTS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
PACKAGES = (
    "cli", "testing", "api", "spark", "analysis", "engine", "optimizer", "control",
    "placement", "kernels", "state", "plan", "errors",
)  # fmt: skip


def lint_imports(source: Path) -> subprocess.CompletedProcess[str]:
    """Holds the `braid` package found in `source` against the contracts of pyproject.toml."""
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    return subprocess.run(
        [sys.executable, "-c", program, "--config", str(REPOSITORY / "pyproject.toml"), "--no-cache"],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def build_package(source: Path, module: str, imports: str) -> None:
    """Writes a `braid` of empty modules, all that the contracts name, one of which holds one import."""
    named = {name.removeprefix("braid.") for contract in CONTRACTS for name in _braid_modules(contract)}
    for name in {*PACKAGES, *named, module}:
        directory = source / "braid" / name.replace(".", "/")
        directory.mkdir(parents=True, exist_ok=True)
    for directory in (source / "braid", *(source / "braid").rglob("*")):
        (directory / "__init__.py").touch()
    (source / "braid" / module.replace(".", "/") / "__init__.py").write_text(f"import {imports}\n")


def _braid_modules(contract: dict[str, list[str]]) -> list[str]:
    return [m for key in ("source_modules", "forbidden_modules") for m in contract.get(key, ()) if m[:6] == "braid."]


def test_braid_keeps_its_layers() -> None:
    outcome = lint_imports(REPOSITORY / "src")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("module", "imports"),
    [
        ("cli", "braid.testing"),
        ("testing", "braid.cli"),
        ("api", "pyspark.sql"),
        ("spark", "py4j.java_gateway"),
        ("engine", "braid.kernels"),
        ("engine.step", "braid.engine.tasks"),
    ],
)
def test_a_permitted_import_is_kept(tmp_path: Path, module: str, imports: str) -> None:
    build_package(tmp_path, module, imports)
    outcome = lint_imports(tmp_path)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("module", "imports"),
    [
        ("plan", "braid.state"),
        ("optimizer", "braid.control"),
        ("engine", "braid.spark"),
        ("spark", "braid.testing"),
        ("kernels", "pyspark.sql"),
        ("engine.tasks", "pyspark.sql"),
        ("engine.tasks.probe", "braid.engine.tasks.ordered"),
        ("control", "py4j.java_gateway"),
        ("engine.tasks", "braid.engine.step"),
    ],
)
def test_a_forbidden_import_is_noticed(tmp_path: Path, module: str, imports: str) -> None:
    build_package(tmp_path, module, imports)
    outcome = lint_imports(tmp_path)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    target = imports if imports.startswith("braid.") else imports.split(".")[0]
    assert f"braid.{module} -> {target}" in outcome.stdout


def test_a_new_package_must_be_placed(tmp_path: Path) -> None:
    build_package(tmp_path, "plan", "braid.errors")
    (tmp_path / "braid" / "helpers.py").touch()
    outcome = lint_imports(tmp_path)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
