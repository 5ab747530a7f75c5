"""Paced runs: their rate, their warm-up, and when a file counts as taken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.pacing import (
    FILE_SECONDS,
    _quantile,
    _taken,
    lateness,
    offered_task,
    paced_task,
    sustained_rows_a_batch,
)
from tests.benchmarks.small_task import TASK


def test_lateness_counts_rows_not_files() -> None:
    late = [(0.1, 98), (0.2, 1), (5.0, 1)]
    assert _quantile(late, 0.5) == 0.1
    assert _quantile(late, 0.99) == 0.2


def test_a_paced_task_runs_at_half_of_the_rate_in_smaller_files() -> None:
    paced = paced_task(TASK, 200.0)
    assert (paced.mode, paced.rows_per_second, paced.latency) == ("paced", 100.0, False)
    assert paced.workload.seconds_per_batch == TASK.workload.seconds_per_batch / 5
    assert paced.rows_per_second is not None
    seconds_a_file = sustained_rows_a_batch(paced) / paced.rows_per_second
    assert paced.warm_up * seconds_a_file >= 12  # the start's backlog does not count


def test_a_paced_task_fills_its_window_before_it_counts() -> None:
    paced = paced_task(replace(TASK, warm_up=40), 200_000.0)
    window = TASK.workload.window_seconds
    assert window is not None
    assert paced.warm_up * paced.workload.seconds_per_batch >= window


def test_an_offered_rate_has_files_of_a_quarter_second_after_a_full_window() -> None:
    for rate in (20.0, 5_000.0):
        offered = offered_task(TASK, rate)
        assert sustained_rows_a_batch(offered) == pytest.approx(rate * FILE_SECONDS)
        window = TASK.workload.window_seconds
        assert window is not None
        assert offered.fill * offered.workload.seconds_per_batch >= window
        assert 0 < offered.fill < offered.warm_up < offered.batches == offered.workload.batches
    assert not offered_task(replace(TASK, peer="Flink"), 20.0).settings


def test_what_was_not_taken_is_as_late_as_the_end() -> None:
    task = replace(TASK, batches=4, warm_up=1, fill=1, rows_per_second=10.0)
    due = {1: 100.0, 2: 101.0, 3: 102.0}
    found = lateness(task, [5, 5, 5, 5], due, {0: 90.0, 1: 100.5, 2: 101.5}, ended=117.0)
    assert (found["p50"], found["p99"], found["taken"], found["files"]) == (0.5, 15.0, 3, 4)
    assert found["error"] == "took in 3 of 4 files"
    assert "error" not in lateness(task, [5, 5, 5, 5], due, dict.fromkeys(range(4), 103.0), ended=117.0)


def test_a_file_is_taken_when_the_batch_with_its_last_part_is_committed(tmp_path: Path) -> None:
    def write(path: str, *lines: str) -> Path:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("\n".join(lines))
        return tmp_path / path

    def entry(file: str, number: int) -> str:
        return json.dumps({"path": f"file:///in/{file}.parquet", "timestamp": 1, "batchId": number})

    write("sources/0/0", "v1", entry("00000", 0))
    write("sources/0/1", "v1", entry("00001", 1))
    write("sources/1/0.compact", "v1", entry("00000", 0), entry("00001", 0))
    write("offsets/0", "v1", "{}", '{"logOffset":0}', "-")
    write("offsets/1", "v1", "{}", '{"logOffset":0}', '{"logOffset":0}')
    write("offsets/2", "v1", "{}", '{"logOffset":1}', '{"logOffset":0}')
    write("commits/0", "v1")
    assert _taken(TASK, tmp_path) == {}
    second = write("commits/1", "v1").stat().st_mtime
    assert _taken(TASK, tmp_path) == {0: second}
    third = write("commits/2", "v1").stat().st_mtime
    assert _taken(TASK, tmp_path) == {0: second, 1: third}
