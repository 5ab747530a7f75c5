"""Spark's trigger by itself: the same file sources, and a callback that does nothing."""

from __future__ import annotations

import time

from benchmarks.peers.streaming import Announce, Places, follow, open_inputs, open_session, shared_settings
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import row_counts


def run_noop(task: Task, places: Places, announce: Announce) -> Measurement:
    """A task's batches through a query that ignores them."""
    spark = open_session(task, places)
    first, *others = (frame.select("id") for frame in open_inputs(spark, task, places))
    for other in others:
        first = first.unionByName(other)
    writer = first.writeStream.foreachBatch(lambda frame, batch: None)
    started = time.time()
    query = writer.option("checkpointLocation", str(places.checkpoint)).trigger(availableNow=True).start()
    seconds = follow(task, places.checkpoint, started, query, announce)
    spark.stop()
    rows = row_counts(places.data, task.workload.stream_names, task.batches)
    return Measurement(seconds=seconds, rows=tuple(rows[: len(seconds)]), settings=shared_settings(task))
