"""A campaign continues after an interruption, and measures again what other code measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks import campaign as campaigns
from benchmarks.answers import expected_answer
from benchmarks.campaign import Campaign
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import row_counts
from tests.benchmarks.small_task import TASK


class Systems:
    """Instead of processes: every task gives a right answer, but one that is to fail once."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.fail_on: str | None = None

    def run(self, task: Task, data: Path, scratch: Path, announce: Any) -> Measurement:
        self.ran.append(task.peer)
        if task.peer == self.fail_on:
            self.fail_on = None
            raise KeyboardInterrupt
        rows = row_counts(data, task.workload.stream_names, task.batches)
        answer = expected_answer(task.workload, data, task.batches, 1)
        return Measurement((1.0,) * task.batches, tuple(rows), answer, task.batches)


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> Systems:
    found = Systems()
    monkeypatch.setattr(campaigns, "run_isolated", found.run)
    return found


def test_an_interrupted_campaign_goes_on_after_the_last_finished_task(systems: Systems, tmp_path: Path) -> None:
    tasks = [replace(TASK, peer=peer) for peer in ("a", "b", "c")]
    systems.fail_on = "b"
    with pytest.raises(KeyboardInterrupt):
        Campaign(tmp_path, Console(quiet=True)).run(tasks)
    results = Campaign(tmp_path, Console(quiet=True)).run(tasks)
    assert systems.ran == ["a", "b", "b", "c"]
    assert [result.task.peer for result in results] == ["a", "b", "c"]
    assert all(result.agrees and result.rate for result in results)
    assert not list((tmp_path / "data").iterdir())


def test_what_other_code_measured_is_measured_again(
    systems: Systems, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Campaign(tmp_path, Console(quiet=True)).run([TASK])
    monkeypatch.setattr(campaigns, "code_hash", lambda: "other")
    Campaign(tmp_path, Console(quiet=True)).run([TASK])
    assert systems.ran == ["Braid", "Braid"]
