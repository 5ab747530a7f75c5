"""Results at a given rate: files arrive on schedule, and each is as late as the batch that took it in.

A file's rows have all their results out when Spark commits that batch. The time counts from the moment the file was
due, not from the moment it came, so a feeder that is held up hides nothing.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.peers.streaming import Announce, Places, Query
from benchmarks.tasks import Task
from benchmarks.workloads.workload import file_name, row_counts

POLL_SECONDS = 0.01
SHARES = {"p50": 0.5, "p99": 0.99}
CUTS = 5  # files of a paced task in a batch of the sustained one
START_SECONDS = 12.0  # until the backlog of the start is worked off
STEADY_SECONDS = 12.0


def paced_task(task: Task, sustained: float) -> Task:
    """The same question at half of the rate that was sustained, in smaller files."""
    workload = task.workload
    seconds_per_file = workload.seconds_per_batch / CUTS
    rows_per_file = sustained_rows_a_batch(task) / CUTS
    started = math.ceil(START_SECONDS * sustained / 2 / rows_per_file)
    warm_up = max(started, min(task.warm_up, _batches_of_a_window(task)) * CUTS)
    files = warm_up + max(20, round(STEADY_SECONDS * sustained / 2 / rows_per_file))
    return replace(
        task,
        options={**task.options, "seconds_per_batch": seconds_per_file, "batches": files},
        batches=files,
        warm_up=warm_up,
        mode="paced",
        rows_per_second=sustained / 2,
        latency=False,
        settings={**task.settings, "spark.sql.streaming.minBatchesToRetain": "100000"},
    )


def _batches_of_a_window(task: Task) -> int:
    """Batches until the state is full; without a window there is no such time."""
    window = task.workload.window_seconds
    return task.warm_up if window is None else math.ceil(window / task.workload.seconds_per_batch) + 2


def sustained_rows_a_batch(task: Task) -> float:
    """Rows of a second of event time, all streams together, times the seconds of a batch."""
    workload = task.workload
    return float(sum(feed.second(0).num_rows for feed in workload.feeds) * workload.seconds_per_batch)


def follow_paced(task: Task, places: Places, checkpoint: Path, query: Query, announce: Announce) -> dict[str, Any]:
    """Feed a running query, wait until it has taken everything, stop it; the seconds from arrival to results."""
    assert task.rows_per_second is not None
    rows = row_counts(places.data, task.workload.stream_names, task.batches)
    due = _feed(task, places, rows, query, announce)
    end = time.time() + task.limit_seconds
    taken = _taken(task, checkpoint)
    while len(taken) < task.batches and query.isActive and time.time() < end:
        time.sleep(0.1)
        taken = _taken(task, checkpoint)
    query.stop()
    late = [(taken[batch] - due[batch], rows[batch]) for batch in range(task.warm_up, task.batches) if batch in taken]
    if len(taken) < task.batches:
        return {"error": f"took in {len(taken)} of {task.batches} files"}
    return {name: _quantile(late, share) for name, share in SHARES.items()} | {"rate": task.rows_per_second}


def _feed(task: Task, places: Places, rows: list[int], query: Query, announce: Announce) -> list[float]:
    """Link each batch's files when they are due; returns the times."""
    assert task.rows_per_second is not None
    began = time.time() + 1.0
    due, sent = [], 0
    for batch in range(task.batches):
        sent += rows[batch]
        due.append(began + sent / task.rows_per_second)
        while time.time() < due[-1]:
            time.sleep(POLL_SECONDS)
        if not query.isActive:
            break
        for name in task.workload.stream_names:
            os.link(places.data / name / file_name(batch), places.inputs / name / file_name(batch))
        announce(batch)
    return due


def _taken(task: Task, checkpoint: Path) -> dict[int, float]:
    """When the results of each file were out: the commit of the first batch whose offsets include all its parts."""
    offsets = sorted((int(path.name), path) for path in _numbered(checkpoint / "offsets"))
    reached = [(number, _log_offsets(path)) for number, path in offsets]
    parts: dict[int, list[float]] = defaultdict(list)
    for source, _ in enumerate(task.workload.feeds):
        for name, entry in _source_entries(checkpoint / "sources" / str(source)).items():
            batch = next((number for number, ends in reached if ends[source] >= entry), None)
            commit = checkpoint / "commits" / str(batch)
            if batch is not None and commit.exists():
                parts[int(name.removesuffix(".parquet"))].append(commit.stat().st_mtime)
    return {number: max(times) for number, times in parts.items() if len(times) == len(task.workload.feeds)}


def _log_offsets(path: Path) -> list[int]:
    return [json.loads(line)["logOffset"] if line != "-" else -1 for line in path.read_text().splitlines()[2:]]


def _source_entries(directory: Path) -> dict[str, int]:
    entries: dict[str, int] = {}
    if not directory.exists():
        return entries
    for path in directory.iterdir():
        if path.name.removesuffix(".compact").isdigit():
            for line in path.read_text().splitlines()[1:]:
                entry = json.loads(line)
                entries[entry["path"].rsplit("/", 1)[1]] = entry["batchId"]
    return entries


def _numbered(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.name.isdigit()] if directory.exists() else []


def _quantile(late: list[tuple[float, int]], share: float) -> float:
    """The lateness within which a share of the rows had their results."""
    total, seen = sum(rows for _, rows in late), 0
    for seconds, rows in sorted(late):
        seen += rows
        if seen >= share * total:
            return round(seconds, 4)
    raise ValueError("nothing arrived")
