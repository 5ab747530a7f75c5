"""Reports beside the rows of a task: the lookups' report comes back with what every function of the task used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from braid.engine.reports import ProbeReport, TaskFailure
from braid.engine.tasks.task import Task
from braid.spark.task_reports import TaskReports
from braid.state.usage import Usage

REPORT = ProbeReport(1, "h", (), (), (), (), (), usage=Usage(1.0, 0.5, 3, 2, 1, 7))


@pytest.fixture(autouse=True)
def local_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))


def test_usage_of_all_functions_is_added() -> None:
    reports = TaskReports("run", Task(1, 5))
    reports.add_usage(Usage(cpu=0.25))
    reports.add(REPORT)
    reports.add_usage(Usage(cpu=0.5, store_writes=1))
    assert reports.take() == replace(REPORT, usage=Usage(1.0, 1.25, 3, 3, 1, 7))


def test_the_first_failure_is_taken_instead() -> None:
    reports = TaskReports("run", Task(1, 6))
    reports.add_usage(Usage(cpu=0.25))
    reports.add(TaskFailure("PredicateError", "first", "", ""))
    reports.add(TaskFailure("PredicateError", "second", "", ""))
    assert reports.take() == TaskFailure("PredicateError", "first", "", "")
