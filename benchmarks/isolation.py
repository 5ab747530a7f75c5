"""Each task in a process of its own, one after the other, so that JVMs, caches and memory do not mix.

The child reads its task from a file, sends a JSON line for each finished batch and one for the measurement through a
pipe, and leaves everything that it and its JVM print in `log.txt`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.answers import Answer
from benchmarks.peers import PEERS, Measurement, Task, Tell
from benchmarks.workload import Workload

ROOT = Path(__file__).parent.parent
LOG_LINES = 30


class TaskFailed(Exception):
    """A task's process ended without a measurement."""


def run_isolated(task: Task, tell: Tell) -> Measurement:
    """Run a task in a new process; `tell` hears the number of each batch as it ends."""
    scratch = Path(task.scratch)
    scratch.mkdir(parents=True)
    order = scratch / "task.json"
    order.write_text(json.dumps(asdict(task), indent=2))
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "benchmarks.isolation", str(order), str(writing)]
    measurement = None
    with (scratch / "log.txt").open("wb") as log, os.fdopen(reading) as messages:
        child = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, pass_fds=(writing,))
        os.close(writing)
        try:
            for line in messages:
                message = json.loads(line)
                if "batch" in message:
                    tell(message["batch"])
                else:
                    measurement = _measurement(message)
            code = child.wait()
        finally:
            child.kill()
            child.wait()
    if code != 0 or measurement is None:
        raise TaskFailed(f"{task.title} ended with exit code {code}. The end of {log.name}:\n{_tail(Path(log.name))}")
    return measurement


def _measurement(message: dict[str, Any]) -> Measurement:
    answer = Answer(**message.pop("answer"))
    return Measurement(seconds=tuple(message.pop("seconds")), answer=answer, **message)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])


def main(order: str, pipe: str) -> None:
    """The child's part."""
    saved = json.loads(Path(order).read_text())
    task = Task(workload=Workload(**saved.pop("workload")), **saved)
    with os.fdopen(int(pipe), "w", buffering=1) as messages:
        measurement = PEERS[task.peer](task, lambda batch: print(json.dumps({"batch": batch}), file=messages))
        print(json.dumps(asdict(measurement)), file=messages)


if __name__ == "__main__":
    main(*sys.argv[1:])
