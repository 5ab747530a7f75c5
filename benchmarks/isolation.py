"""Each task in a process of its own, one after the other, so that JVMs, caches and memory do not mix.

The child reads its task from a file, sends a JSON line for each finished batch and one for the measurement through a
pipe, and leaves everything that it and its JVM print in `log.txt`. A system that fails is a result: its message is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.peers.registry import PEERS
from benchmarks.peers.streaming import Announce, Places
from benchmarks.processes import end_group
from benchmarks.tasks import Measurement, Task
from benchmarks.watching import Watch

ROOT = Path(__file__).parent.parent
LOG_LINES = 30
ERROR_LETTERS = 400


def run_isolated(task: Task, data: Path, scratch: Path, announce: Announce, source: Path | None = None) -> Measurement:
    """Run a task in a new process; `announce` receives the number of each batch as it ends.

    `source` has the code of Braid; None: what is installed.
    """
    scratch.mkdir(parents=True)
    order = scratch / "task.json"
    order.write_text(json.dumps({"task": asdict(task), "data": str(data), "scratch": str(scratch)}, indent=2))
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "benchmarks.isolation", str(order), str(writing)]
    measurement = None
    with (scratch / "log.txt").open("wb") as log, os.fdopen(reading) as messages:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ if source is None else {**os.environ, "PYTHONPATH": str(source)},
            stdout=log,
            stderr=log,
            pass_fds=(writing,),
            start_new_session=True,
        )
        os.close(writing)
        try:
            with Watch(child.pid, scratch / "checkpoint") as watch:
                for line in messages:
                    message = json.loads(line)
                    if "batch" in message:
                        announce(message["batch"])
                    else:
                        measurement = Measurement.from_json(message)
                child.wait()
        finally:
            end_group(child)
    if measurement is None:
        return Measurement(error=f"ended with exit code {child.returncode}: {_tail(scratch / 'log.txt')}")
    seen = {"peak_bytes": watch.peak_bytes, "written_bytes": watch.written_bytes}
    return replace(measurement, details={**seen, **measurement.details})


def reason(error: Exception, task: Task, places: Places, seconds: float) -> str:
    """Why there is no measurement: time ran out before the first batch ended, or what the system says.

    A sink without a batch cannot be read, and what is said of that explains nothing.
    """
    if task.mode == "sustained" and seconds >= task.limit_seconds and not any(places.checkpoint.rglob("commits/0")):
        return f"no batch ended in {task.limit_seconds:g} s"
    return f"{type(error).__name__}: {error}"[:ERROR_LETTERS]


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])


def main(order: str, pipe: str) -> None:
    """The child's part."""
    saved: dict[str, Any] = json.loads(Path(order).read_text())
    task = Task(**saved["task"])
    places = Places(Path(saved["data"]), Path(saved["scratch"]))
    began = time.time()
    with os.fdopen(int(pipe), "w", buffering=1) as messages:
        try:
            run = PEERS[task.peer]
            measurement = run(task, places, lambda batch: print(json.dumps({"batch": batch}), file=messages))
        except Exception as error:  # whatever a system raises is what it has to say about the task
            print(error, file=sys.stderr)
            measurement = Measurement(error=reason(error, task, places, time.time() - began))
        print(json.dumps(asdict(measurement)), file=messages)


if __name__ == "__main__":
    main(*sys.argv[1:])
