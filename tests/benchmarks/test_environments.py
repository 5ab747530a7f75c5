"""Environments of peers, without a network."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.environments import MARKER, EnvironmentFailed, peer_python


def test_environment_is_made_once_and_apart(tmp_path: Path) -> None:
    python = peer_python("bare", (), tmp_path)
    prefix = subprocess.check_output([python, "-c", "import sys; print(sys.prefix)"], text=True).strip()
    assert Path(prefix) == python.parent.parent
    kept = python.parent.parent / "kept"
    kept.touch()
    assert peer_python("bare", (), tmp_path) == python
    assert kept.exists()
    assert [path.name for path in tmp_path.iterdir()] == [python.parent.parent.name]


def test_interrupted_creation_is_redone(tmp_path: Path) -> None:
    directory = peer_python("bare", (), tmp_path).parent.parent
    (directory / MARKER).unlink()
    (directory / "left_over").touch()
    (directory / "bin" / "python").unlink()
    python = peer_python("bare", (), tmp_path)
    assert not (directory / "left_over").exists()
    assert subprocess.run([python, "-c", ""]).returncode == 0


def test_failing_pip_is_quoted_and_leaves_no_environment(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing-1.0-py3-none-any.whl")
    with pytest.raises(EnvironmentFailed, match=r"pip could not install .*missing-1\.0") as caught:
        peer_python("broken", (missing,), tmp_path)
    assert "No such file or directory" in str(caught.value)
    (directory,) = tmp_path.iterdir()
    assert not (directory / MARKER).exists()


def test_other_requirements_have_another_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.environments._create", lambda directory, with_pip: directory.mkdir())
    installed = []
    monkeypatch.setattr("benchmarks.environments._install", lambda python, required: installed.append(required))
    one = peer_python("peer", ("a==1", "b"), tmp_path)
    other = peer_python("peer", ("a==2", "b"), tmp_path)
    assert one != other
    assert peer_python("peer", ("a==1", "b"), tmp_path) == one
    assert installed == [("a==1", "b"), ("a==2", "b")]
