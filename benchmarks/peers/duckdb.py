"""DuckDB, the whole join at once from the same files into a table in memory: the limit to aim at."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from benchmarks.answers import answer_of, connect, integer_condition, interval_condition, join_query
from benchmarks.peers.streaming import Announce, Places
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import row_counts


def run_duckdb(task: Task, places: Places, announce: Announce) -> Measurement:
    """DuckDB with its default settings."""
    return _run(task, interval_condition(task.workload), "kept", places.data, announce)


def run_duckdb_tuned(task: Task, places: Places, announce: Announce) -> Measurement:
    """The same as fast as we know how to ask for it: times compared as integers, order of rows not kept."""
    condition = integer_condition(task.workload, task.workload.expected_on)
    return _run(task, condition, "free", places.data, announce)


def _run(task: Task, condition: str, order: Literal["kept", "free"], data: Path, announce: Announce) -> Measurement:
    query = join_query(task.workload, condition, data, task.batches)
    seconds = []
    with connect(task.cores, order=order) as connection:
        for repeat in range(task.repeats):
            connection.execute("DROP TABLE IF EXISTS result")
            started = time.perf_counter()
            connection.execute(f"CREATE TABLE result AS {query}")
            seconds.append(time.perf_counter() - started)
            announce(repeat)
        answer = answer_of(connection, "result", task.workload.output_names)
    rows = sum(row_counts(data, task.workload.stream_names, task.batches))
    settings = {"threads": str(task.cores), "condition": condition, "insertion_order": order, "database": "in memory"}
    return Measurement(
        tuple(seconds), (rows,) * len(seconds), answer, task.batches, settings=settings, details={"at_once": True}
    )
