"""Runs in a cgroup that has as much memory as the units may hold, and what the workers hold when idle."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.memory import in_process
from benchmarks.memory.cgroups import memory_cgroup
from benchmarks.memory.large import On
from benchmarks.memory.measuring import ROWS_ON_SPARK, environment
from benchmarks.memory.scenarios import SCENARIOS, UNITS, steps_for


def limited(on: On, name: str, limit: int, state_bytes: int, scratch: str | None = None) -> dict[str, Any]:
    """A child's own figures, with those of its group: what was allowed, kills, and waits for the disk.

    On Spark only the Python workers are in the group: the JVM has a limit of its own.
    """
    steps = steps_for(state_bytes, ROWS_ON_SPARK if on == "spark" else in_process.ROWS)
    with tempfile.TemporaryDirectory(dir=scratch) as directory, memory_cgroup() as group:
        workers = str(group.path) if on == "spark" else ""
        arguments = [on, name, directory, str(limit), str(steps), workers]
        command = [sys.executable, "-m", "benchmarks.memory.child", *arguments]
        whole = command if on == "spark" else [*group.joining, *command]
        own_variables = environment(on, limit)
        with subprocess.Popen(
            whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=own_variables
        ) as process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the child has no pipes")
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"the run of {name} ended before it began")
            idle, faults = group.in_use, group.major_faults
            allowed = UNITS * limit + idle
            group.limit(allowed)
            text, _ = process.communicate("go\n")
        own: dict[str, Any] = json.loads(text) if process.returncode == 0 and text else {}
        found = {"idle": idle, "allowed": allowed, "kills": group.kills, "peak_of_group": group.peak}
        found |= {"major_faults_of_group": group.major_faults - faults, "ended_with": process.returncode}
    if own:
        found["expected"] = SCENARIOS[name].expected(own["steps"], own["rows"])
    return {**own, **found}
