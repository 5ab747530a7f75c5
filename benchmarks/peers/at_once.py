"""Polars measured: the whole join at once, some times over."""

from __future__ import annotations

import time

from benchmarks.answers import answer_of, connect
from benchmarks.peers.polars import join_at_once
from benchmarks.peers.streaming import Announce, Places
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import batch_files, row_counts


def run_polars(task: Task, places: Places, announce: Announce) -> Measurement:
    """The join of a task's batches by Polars' streaming engine."""
    workload = task.workload
    assert workload.window_seconds is not None
    files = {feed.name: batch_files(places.data, feed.name, task.batches) for feed in workload.feeds}
    seconds, result = [], None
    for repeat in range(task.repeats):
        started = time.perf_counter()
        result = join_at_once(files, workload.equal_columns, workload.window_seconds, workload.chosen, task.cores)
        seconds.append(time.perf_counter() - started)
        announce(repeat)
    with connect(task.cores, order="free") as connection:
        assert result is not None
        connection.register("result", result.to_arrow())
        answer = answer_of(connection, "result", workload.output_names)
    rows = sum(row_counts(places.data, workload.stream_names, task.batches))
    settings = {"threads": str(task.cores), "engine": "streaming"}
    return Measurement(
        tuple(seconds), (rows,) * len(seconds), answer, task.batches, settings=settings, details={"at_once": True}
    )
