"""Pathway, whose interval join runs as a child process with the Python of its own environment."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.processes import end_group

REQUIREMENTS: tuple[str, ...] = ("pathway==0.33.0",)
JOB = Path(__file__).with_name("pathway_job.py")


def start_pathway_job(spec: dict[str, Any], python: Path, log: Path) -> subprocess.Popen[bytes]:
    """A job in a process group of its own; whoever starts it must end the group.

    The log takes what Pathway prints; the spec is kept beside it.
    """
    order = log.with_name(f"{log.stem}.spec.json")
    order.write_text(json.dumps(spec, indent=2))
    # Isolated: neither our packages nor the modules beside the job may hide Pathway's.
    command = [str(python), "-I", str(JOB), str(order)]
    with log.open("wb") as errors:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )


def run_pathway_job(spec: dict[str, Any], python: Path, limit_seconds: float, log: Path) -> dict[str, Any]:
    """What the job says of itself, or `{"error": …}`; its whole process group ends with the limit."""
    with start_pathway_job(spec, python, log) as child:
        try:
            return outcome(child, limit_seconds, log)
        except subprocess.TimeoutExpired:
            return {"error": f"did not finish in {limit_seconds:g} s"}
        finally:
            end_group(child)


def outcome(child: subprocess.Popen[bytes], seconds: float, log: Path) -> dict[str, Any]:
    """What a job says at its end, for which it has so many seconds."""
    said, _ = child.communicate(timeout=seconds)
    lines = said.decode().splitlines()
    try:
        answer = json.loads(lines[-1]) if lines else None
    except json.JSONDecodeError:
        answer = None
    if isinstance(answer, dict):
        return answer
    code = child.returncode
    ending = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return {"error": f"ended with {ending}: {_last_line(log)}"}


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "nothing in the log")
