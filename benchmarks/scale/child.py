"""One part in a process of its own: no part sees the JVM, the caches or the memory of another."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.processes import end_group
from benchmarks.scale.parts import Part
from benchmarks.scale.rows import Join

ROOT = Path(__file__).parent.parent.parent
LOG_LINES = 3


def run_part(part: Part, scratch: Path) -> dict[str, Any]:
    """What a part measured; `error` says why it did not, in a sentence."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    request, answer = scratch / "part.json", scratch / "answer.json"
    request.write_text(json.dumps(asdict(part)))
    command = [sys.executable, "-m", "benchmarks.scale.child", str(request), str(answer)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with (scratch / "log.txt").open("wb") as log:
        environment = {**os.environ, "PYTHONPATH": path}
        child = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            child.wait(part.limit_seconds)
        except subprocess.TimeoutExpired:
            return {"error": f"not finished in {part.limit_seconds:g} s"}
        finally:
            end_group(child)
    if not answer.exists():
        lines = (scratch / "log.txt").read_text(errors="replace").splitlines()[-LOG_LINES:]
        return {"error": f"ended with exit code {child.returncode}: {' '.join(lines)}"}
    found: dict[str, Any] = json.loads(answer.read_text())
    shutil.rmtree(scratch, ignore_errors=True)
    return found


def measure(part: Part, scratch: Path) -> dict[str, Any]:
    """The child's work. Each kind imports what it needs: a part without Spark starts none."""
    arguments = dict(part.arguments)
    if part.what == "noop":
        from benchmarks.scale.on_spark import measure_noop, open_session

        return measure_noop(open_session(arguments["slots"], scratch), **arguments)
    if part.what == "skew":
        from benchmarks.scale.skew import measure_skew

        return measure_skew(**arguments)
    join = Join(*(arguments.pop(name) for name in ("kind", "rows", "window_steps")))
    if part.what == "spark":
        from benchmarks.scale.on_spark import measure_join, open_session

        return measure_join(open_session(arguments["slots"], scratch), join, **arguments, scratch=scratch)
    from benchmarks.scale.in_process import measure_steps

    return measure_steps(join, **arguments)


def main(request: str, answer: str) -> None:
    part = Part(**json.loads(Path(request).read_text()))
    found = measure(part, Path(request).parent)
    # Complete or absent: the parent may end this process at any time.
    unfinished = Path(f"{answer}.unfinished")
    unfinished.write_text(json.dumps(found))
    unfinished.rename(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
