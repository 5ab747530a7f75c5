"""`python -m benchmarks.before_and_after COMMIT NAME`: tasks of Braid with the engine of an earlier commit and of this.

Both engines run the same tasks of the same benchmark code on the same files, in turn, each run in a process of its own;
which of them is first changes from round to round. A worktree of the commit is made below `.bench`. Prints rows a
second, medians with the lowest and highest, and the ratio of medians; and writes every rate to a JSON file there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
from pathlib import Path

from benchmarks.answers import expected_answer
from benchmarks.isolation import ROOT, run_isolated
from benchmarks.machine import describe_run
from benchmarks.suite import spine, wide
from benchmarks.tasks import Task

PLACE = ROOT / ".bench" / "before-and-after"
ROUNDS = 5


def tasks_of(name: str) -> dict[str, Task]:
    """Braid's tasks of a benchmark, as a quick run has them; wide rows in larger batches too."""
    chosen = {"spine": spine, "wide": wide}[name]("quick")
    found = {label: task for label, task in chosen.tasks.items() if task.peer == "Braid"}
    if name == "wide":
        large = {"seconds_per_batch": 5, "batches": 24}
        found = {"20 K": found["Braid"], "100 K": Task("Braid", "wide", large, 24, warm_up=10)}
    return found


def sources(commit: str) -> dict[str, Path]:
    """The code of both engines, by their names."""
    before = PLACE / commit
    if not before.exists():
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--detach", str(before), commit], check=True)
    return {"before": before / "src", "after": ROOT / "src"}


def measure(commit: str, tasks: dict[str, Task], rounds: int) -> dict[str, dict[str, list[float]]]:
    """By task and engine: the rows a second of each round."""
    found: dict[str, dict[str, list[float]]] = {label: {"before": [], "after": []} for label in tasks}
    engines = sources(commit)
    for number in range(rounds):
        order = list(engines) if number % 2 == 0 else list(engines)[::-1]
        for label, task in tasks.items():
            for name in order:
                rate = _rate(task, engines[name], PLACE / "scratch" / f"{number}-{name}-{task.key}")
                found[label][name].append(rate)
                print(f"round {number + 1}, {label}, {name}: {rate:,.0f} rows/s", flush=True)
    return found


def _rate(task: Task, source: Path, scratch: Path) -> float:
    data = PLACE / "data" / task.data_key
    if not data.exists():
        for _ in task.workload.write(data.with_suffix(".unfinished")):
            pass
        data.with_suffix(".unfinished").rename(data)
    shutil.rmtree(scratch, ignore_errors=True)
    measured = run_isolated(task, data, scratch, lambda _: None, source)
    rate = measured.rows_per_second(task)
    if rate is None:
        raise RuntimeError(f"{task.title} gave no rate: {measured.error}")
    if measured.answer != expected_answer(task.workload, data, measured.answer_batches, task.cores):
        raise AssertionError(f"{task.title}: another answer than DuckDB's")
    shutil.rmtree(scratch, ignore_errors=True)
    return rate


def described(rates: list[float]) -> str:
    return f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_and_after", description=__doc__)
    parser.add_argument("commit", help="the earlier commit")
    parser.add_argument("name", choices=("spine", "wide"), help="whose tasks run")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    run = describe_run()
    found = measure(given.commit, tasks_of(given.name), given.rounds)
    for label, rates in found.items():
        ratio = statistics.median(rates["after"]) / statistics.median(rates["before"])
        texts = [f"{name} {described(own)}" for name, own in rates.items()]
        print(f"{label}: {', '.join(texts)} rows/s, {ratio:.3f} times")
    path = PLACE / f"{given.name}.json"
    path.write_text(json.dumps({**run, "before": given.commit, "rates": found}, indent=1) + "\n")
    print(f"Written: {path}")


if __name__ == "__main__":
    main()
