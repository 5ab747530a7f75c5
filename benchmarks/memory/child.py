"""`python -m benchmarks.memory.child`: the process that is sampled."""

from __future__ import annotations

import json
import sys

from benchmarks.memory.large import Large
from benchmarks.memory.scenarios import SCENARIOS


def ready() -> None:
    """Everything is imported; go on when the parent has seen it."""
    print("ready", flush=True)
    sys.stdin.readline()


def main(on: str, name: str, directory: str, limit: str, steps: str, more: str = "") -> None:
    """`more` is the cgroup that the Python workers are put in, on Spark; of `large` its rows and units."""
    if name == "large":
        from benchmarks.memory import large

        rows, units = more.split()
        asked = Large(int(rows), int(steps), int(units), int(limit))
        found = large.run(asked, "spark" if on == "spark" else "process", directory, ready)
    elif on == "spark":
        from benchmarks.memory import on_spark

        found = on_spark.run(directory, SCENARIOS[name], int(limit), int(steps), ready, more)
    else:
        from benchmarks.memory import in_process

        found = in_process.run(directory, SCENARIOS[name], int(limit), int(steps), ready)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
