"""`python -m benchmarks.memory.child`: the process that is sampled."""

from __future__ import annotations

import json
import sys

from benchmarks.memory.scenarios import SCENARIOS


def ready() -> None:
    """Everything is imported; go on when the parent has seen it."""
    print("ready", flush=True)
    sys.stdin.readline()


def main(on: str, name: str, directory: str, limit: str, steps: str, workers: str = "") -> None:
    """On Spark the Python workers may be put in the cgroup `workers`."""
    if on == "spark":
        from benchmarks.memory import on_spark

        found = on_spark.run(directory, SCENARIOS[name], int(limit), int(steps), ready, workers)
    else:
        from benchmarks.memory import in_process

        found = in_process.run(directory, SCENARIOS[name], int(limit), int(steps), ready)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
