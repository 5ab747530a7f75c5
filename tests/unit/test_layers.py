"""The rooms of the house import one way, and the contract that says so notices when they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
ROOMS = (
    "cli", "testing", "api", "runtime", "query", "optimizer", "control",
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


def build_house(source: Path, room: str, imports: str) -> None:
    """Writes a `braid` of empty rooms, one of which holds one import."""
    house = source / "braid"
    house.mkdir()
    (house / "__init__.py").touch()
    for name in ROOMS:
        (house / f"{name}.py").write_text(f"import {imports}\n" if name == room else "")


def test_braid_keeps_its_layers() -> None:
    outcome = lint_imports(REPOSITORY / "src")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("room", "imports"),
    [
        ("cli", "braid.testing"),
        ("testing", "braid.cli"),
        ("api", "pyspark.sql"),
        ("runtime", "braid.kernels"),
    ],
)
def test_a_permitted_import_is_kept(tmp_path: Path, room: str, imports: str) -> None:
    build_house(tmp_path, room, imports)
    outcome = lint_imports(tmp_path)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("room", "imports"),
    [
        ("plan", "braid.state"),
        ("query", "braid.optimizer"),
        ("runtime", "braid.testing"),
        ("kernels", "pyspark.sql"),
        ("control", "py4j.java_gateway"),
    ],
)
def test_a_forbidden_import_is_noticed(tmp_path: Path, room: str, imports: str) -> None:
    build_house(tmp_path, room, imports)
    outcome = lint_imports(tmp_path)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    assert f"braid.{room} -> {imports.split('.')[0]}" in outcome.stdout


def test_a_new_room_must_be_placed(tmp_path: Path) -> None:
    build_house(tmp_path, "plan", "braid.errors")
    (tmp_path / "braid" / "helpers.py").touch()
    outcome = lint_imports(tmp_path)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
