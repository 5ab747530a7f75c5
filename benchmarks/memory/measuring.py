"""A run in a process of its own, sampled from here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.memory import in_process
from benchmarks.memory.large import Large, On
from benchmarks.memory.sampling import Sampler, python_workers
from benchmarks.memory.scenarios import SCENARIOS, steps_for

ROWS_ON_SPARK = 50_000


def environment(on: On, limit: int) -> dict[str, str]:
    """The variables of a child: as a limit gives them to workers of Spark (`braid/spark/memory.py`)."""
    return {**os.environ, **({"ARROW_DEFAULT_MEMORY_POOL": "system"} if limit and on == "process" else {})}


def sampled(
    on: On, name: str, limit: int, state_bytes: int, scratch: str | None = None, before: Sequence[str] = ()
) -> dict[str, Any]:
    """A child's own figures, and its largest sample above idle. A limit of 0 is none; `before` starts the child."""
    steps = steps_for(state_bytes, ROWS_ON_SPARK if on == "spark" else in_process.ROWS)
    found = sampled_child(on, name, limit, [str(steps)], scratch, before)
    return {**found, "expected": SCENARIOS[name].expected(found["steps"], found["rows"])}


def sampled_large(large: Large, on: On, scratch: str | None = None) -> dict[str, Any]:
    """The figures of a run with much state, and its samples."""
    return sampled_child(on, "large", large.limit, [str(large.steps), f"{large.rows} {large.units}"], scratch)


def sampled_child(
    on: On, name: str, limit: int, arguments: Sequence[str], scratch: str | None = None, before: Sequence[str] = ()
) -> dict[str, Any]:
    """What a child prints at its end, and the samples of it or of its workers."""
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        command = [*before, sys.executable, "-m", "benchmarks.memory.child", on, name, directory, str(limit)]
        own = environment(on, limit)
        with subprocess.Popen(
            [*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=own
        ) as process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the child has no pipes")
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"the run of {name} ended before it began")
            sampler = Sampler(lambda: python_workers(process.pid) if on == "spark" else [process.pid])
            sampler.take_idle()
            process.stdin.write("go\n")
            process.stdin.flush()
            samples = sampler.until(lambda: process.poll() is not None)
            text = process.stdout.read()
            if process.returncode:
                raise RuntimeError(f"the run of {name} ended with {process.returncode}")
    found: dict[str, Any] = json.loads(text)
    return {**found, **asdict(samples), "share": samples.largest / max(1, limit * found["units"])}
