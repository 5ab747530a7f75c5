"""Two engines on the same tasks: in turn, each first as often as the other, and only with right answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import before_and_after
from benchmarks.answers import expected_answer
from benchmarks.before_and_after import measure, tasks_of
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import row_counts
from tests.benchmarks.small_task import TASK

SOURCES = {"before": Path("old"), "after": Path("new")}


class Engines:
    """Instead of processes: the earlier engine takes twice as long."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.wrong = False

    def run(self, task: Task, data: Path, scratch: Path, announce: Any, source: Path) -> Measurement:
        self.ran.append(str(source))
        rows = row_counts(data, task.workload.stream_names, task.batches)
        answer = expected_answer(task.workload, data, task.batches, 1)
        answer = replace(answer, rows=answer.rows + 1) if self.wrong else answer
        seconds = 2.0 if source == SOURCES["before"] else 1.0
        return Measurement((seconds,) * task.batches, tuple(rows), answer, task.batches)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engines:
    found = Engines()
    monkeypatch.setattr(before_and_after, "PLACE", tmp_path)
    monkeypatch.setattr(before_and_after, "sources", lambda commit: SOURCES)
    monkeypatch.setattr(before_and_after, "run_isolated", found.run)
    return found


def test_each_engine_is_first_in_turn(engines: Engines) -> None:
    rates = measure("0000000", {"small": TASK}, 2)
    assert engines.ran == ["old", "new", "new", "old"]
    assert [after / before for before, after in zip(*rates["small"].values(), strict=True)] == [2.0, 2.0]


def test_another_answer_is_an_error(engines: Engines) -> None:
    engines.wrong = True
    with pytest.raises(AssertionError, match="another answer"):
        measure("0000000", {"small": TASK}, 1)


@pytest.mark.parametrize("name", ["spine", "wide"])
def test_tasks_are_those_of_braid_alone(name: str) -> None:
    tasks = tasks_of(name)
    assert len(tasks) == 2
    assert {task.peer for task in tasks.values()} == {"Braid"}
    assert all(task.batches <= task.workload.batches for task in tasks.values())
