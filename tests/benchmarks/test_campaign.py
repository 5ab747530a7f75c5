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
from benchmarks.searching import CLOSE, best_rate, tried_of
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


def test_rounds_alternate_and_what_gave_no_rate_is_not_asked_again(systems: Systems, tmp_path: Path) -> None:
    def run(task: Task, data: Path, scratch: Path, announce: Any) -> Measurement:
        if task.peer == "b":
            systems.ran.append("b")
            return Measurement(error="refused")
        return Systems.run(systems, task, data, scratch, announce)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaigns, "run_isolated", run)
        tasks = {peer: replace(TASK, peer=peer) for peer in ("a", "b", "c")}
        rounds = Campaign(tmp_path, Console(quiet=True)).run_rounds(tasks, 3)
    assert systems.ran == ["a", "b", "c", "a", "c", "a", "c"]
    assert [list(one) for one in rounds] == [["a", "b", "c"], ["a", "c"], ["a", "c"]]
    for result in (result for one in rounds for result in one.values()):
        assert set(result.measured) == {"date", "commit", "source", "load"}
        assert all(result.measured.values())
    assert not list((tmp_path / "data").iterdir())


class Queue:
    """A system that takes in so many rows a second; above that it is late, and never ready."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.ran: list[float] = []

    def run(self, task: Task, data: Path, scratch: Path, announce: Any) -> Measurement:
        assert task.rows_per_second is not None
        self.ran.append(task.rows_per_second)
        files = len(list((data / "r").iterdir()))
        if task.rows_per_second > self.most:
            return Measurement(details={"latency": {"p50": 9.0, "p99": 30.0, "taken": 1, "files": files}})
        late = 0.3 + 3 * (task.rows_per_second / self.most) ** 4
        latency = {"p50": 0.1, "p99": late, "taken": files, "files": files}
        answer = expected_answer(task.workload, data, task.batches, 1)
        return Measurement(answer=answer, answer_batches=task.batches, details={"latency": latency})


def test_a_search_offers_rates_until_it_is_close_and_keeps_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Queue(most=300.0)
    monkeypatch.setattr(campaigns, "run_isolated", queue.run)
    task = replace(TASK, options={"rows_per_second": 50}, batches=1, warm_up=0, mode="search", rows_per_second=50.0)
    (result,) = Campaign(tmp_path, Console(quiet=True)).run([task])
    tried = tried_of(result.measurement.details)
    assert [one.rate for one in tried] == queue.ran
    below, above = best_rate(tried, 1.0), best_rate(tried, 5.0)
    assert below is not None
    assert above is not None
    assert 300 * (0.7 / 3) ** 0.25 / CLOSE <= below <= 300 * (0.7 / 3) ** 0.25
    assert 300 / CLOSE <= above <= 300
    assert {one.answer for one in tried} == {"right", "incomplete"}
    assert result.agrees
    Campaign(tmp_path, Console(quiet=True)).run([task])
    assert len(queue.ran) == len(tried)  # resumed, nothing is offered again
