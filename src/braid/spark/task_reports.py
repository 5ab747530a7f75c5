"""Reports of a task on their way past the JVM.

A job whose rows the JVM filters has several Python functions in one Spark task. The first ones leave their reports in
a local file of the task's attempt, and the last one takes them when its input has ended: by then the others are done.
Rows cannot carry the reports: Spark would evaluate registered Python functions on them, with NULLs.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from braid.engine.tasks.work import Task


def _directory() -> Path:
    """Local, because the functions of one task run on one host."""
    root = Path(os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0])
    return root / f"braid-reports-{os.getuid()}"


class TaskReports:
    """The reports of one attempt of a task."""

    def __init__(self, run: str, task: Task) -> None:
        self._path = _directory() / f"{run}-{task.attempt}"

    def add(self, report: dict[str, Any]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(report) + os.linesep)

    def take(self) -> list[dict[str, Any]]:
        """All reports, once: those of another attempt have another name."""
        reports = [json.loads(line) for line in self._path.read_text().splitlines()]
        self._path.unlink()
        return reports
