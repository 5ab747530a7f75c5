"""Why a task gave no measurement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.isolation import ERROR_LETTERS, reason
from benchmarks.peers.streaming import Places
from tests.benchmarks.small_task import TASK


def test_a_run_without_a_batch_in_its_time_says_so_and_others_say_their_own(tmp_path: Path) -> None:
    task, places = replace(TASK, limit_seconds=60.0), Places(tmp_path, tmp_path)
    refused = ValueError("x" * 1000)
    assert reason(refused, task, places, 61.0) == "no batch ended in 60 s"
    assert reason(refused, task, places, 59.0) == f"ValueError: {'x' * 1000}"[:ERROR_LETTERS]
    (tmp_path / "checkpoint" / "spark" / "commits").mkdir(parents=True)
    (tmp_path / "checkpoint" / "spark" / "commits" / "0").touch()
    assert reason(refused, task, places, 61.0).startswith("ValueError: xxx")
