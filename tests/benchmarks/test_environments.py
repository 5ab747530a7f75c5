"""Environments of peers, without a network; and the text of the queries that Flink gets, without Flink."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.environments import MARKER, EnvironmentFailed, peer_python
from benchmarks.peers.flink import interval_join_query


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


def test_interval_join_has_a_window_for_flink_and_an_exact_one() -> None:
    query = interval_join_query("r.k = s.k", 10, ("r.id AS r_id", "s.id AS s_id"))
    assert query == (
        "SELECT r.id AS r_id, s.id AS s_id FROM r JOIN s ON (r.k = s.k) "
        "AND r.ts BETWEEN s.ts - INTERVAL '0 00:00:10.000' DAY TO SECOND(3) "
        "AND s.ts + INTERVAL '0 00:00:10.000' DAY TO SECOND(3) "
        "AND r.ts_us BETWEEN s.ts_us - 10000000 AND s.ts_us + 10000000"
    )


@pytest.mark.parametrize(
    ("seconds", "span", "microseconds"),
    [
        (0.5, "0 00:00:00.500", 500_000),
        (0.0012, "0 00:00:00.002", 1_200),
        (93_784, "1 02:03:04.000", 93_784_000_000),
    ],
)
def test_window_of_flink_is_never_shorter_than_the_exact_one(seconds: float, span: str, microseconds: int) -> None:
    query = interval_join_query("abs(r.x - s.x) <= 0.5", seconds, ("r.id",))
    assert f"INTERVAL '{span}' DAY TO SECOND(3)" in query
    assert f"s.ts_us + {microseconds}" in query


def test_alternatives_in_a_predicate_stay_together() -> None:
    assert "ON (r.a = s.a OR r.b = s.b) AND" in interval_join_query("r.a = s.a OR r.b = s.b", 1, ("r.id",))
