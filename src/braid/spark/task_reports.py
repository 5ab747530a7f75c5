"""Reports of a task on their way past the JVM.

A job whose rows the JVM filters has several Python functions in one Spark task. The first ones leave their reports in
a local file of the task's attempt, and the last one takes them when its input has ended: by then the others are done.
Rows cannot carry the reports: Spark would evaluate registered Python functions on them, with NULLs.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from braid.engine.reports import FAILURE, REPORT, ProbeReport, TaskFailure, report_text
from braid.engine.tasks.task import Task
from braid.plan.typed_json import from_json, to_text
from braid.state.usage import Usage

USAGE = "usage"


def _directory() -> Path:
    """Local, because the functions of one task run on one host."""
    root = Path(os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0])
    return root / f"braid-reports-{os.getuid()}"


class TaskReports:
    """The reports of one attempt of a task."""

    def __init__(self, run: str, task: Task) -> None:
        self._path = _directory() / f"{run}-{task.attempt}"

    def add(self, report: ProbeReport | TaskFailure) -> None:
        self._append(report_text(report))

    def add_usage(self, usage: Usage) -> None:
        """What another function of the task used."""
        self._append(to_text({USAGE: usage}))

    def _append(self, text: str) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(text + os.linesep)

    def take(self) -> ProbeReport | TaskFailure:
        """The report of the lookups with what all functions used, or the first failure of any function.

        It is taken once, since attempts have other names.
        """
        contents = [json.loads(line) for line in self._path.read_text().splitlines()]
        self._path.unlink()
        failures = [content[FAILURE] for content in contents if FAILURE in content]
        if failures:
            return from_json(TaskFailure, failures[0])
        (report,) = (from_json(ProbeReport, content[REPORT]) for content in contents if REPORT in content)
        used = [from_json(Usage, content[USAGE]) for content in contents if USAGE in content]
        return replace(report, usage=sum(used, report.usage))
