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
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers.streaming import Announce, Places, Query
from benchmarks.tasks import Task
from benchmarks.workloads.workload import file_name, row_counts

POLL_SECONDS = 0.01
SHARES = {"p0": 0.0, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p99": 0.99, "p100": 1.0}
CUTS = 5  # files of a paced task in a batch of the sustained one
START_SECONDS = 12.0  # until the backlog of the start is worked off
STEADY_SECONDS = 12.0
FILE_SECONDS = 0.25  # of an offered rate: what comes in this time is a file
SETTLE_SECONDS = 6.0  # at an offered rate, before it counts: the window was taken in before
OVERLOAD_SECONDS = 15.0  # to wait for what is left of an offered rate; later than this is later than any bound
KEEP_LOGS = {"spark.sql.streaming.minBatchesToRetain": "100000"}  # they say when each file was taken in


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
        settings={**task.settings, **KEEP_LOGS},
    )


def offered_task(task: Task, rate: float) -> Task:
    """The same question at an offered rate: a window of rows is there at the start, then a file comes every quarter of
    a second.

    So the state is full however low the rate, and a file is no larger than what comes in that time.
    """
    assert task.workload.window_seconds is not None
    seconds_per_file = rate * FILE_SECONDS / rows_a_second(task)
    fill = math.ceil(task.workload.window_seconds / seconds_per_file)
    warm_up = fill + round(SETTLE_SECONDS / FILE_SECONDS)
    files = warm_up + round(STEADY_SECONDS / FILE_SECONDS)
    return replace(
        task,
        options={**task.options, "seconds_per_batch": seconds_per_file, "batches": files},
        batches=files,
        warm_up=warm_up,
        mode="paced",
        rows_per_second=rate,
        fill=fill,
        settings={**task.settings, **({} if task.peer == "Flink" else KEEP_LOGS)},
    )


def _batches_of_a_window(task: Task) -> int:
    """Batches until the state is full; without a window there is no such time."""
    window = task.workload.window_seconds
    return task.warm_up if window is None else math.ceil(window / task.workload.seconds_per_batch) + 2


def sustained_rows_a_batch(task: Task) -> float:
    """Rows of a second of event time, all streams together, times the seconds of a batch."""
    return rows_a_second(task) * task.workload.seconds_per_batch


def rows_a_second(task: Task) -> float:
    """Rows of a second of event time, all streams together."""
    return float(sum(feed.second(0).num_rows for feed in task.workload.feeds))


def follow_paced(task: Task, places: Places, checkpoint: Path, query: Query, announce: Announce) -> dict[str, Any]:
    """Feed a running query, wait until it has taken everything, stop it; the seconds from arrival to results."""
    assert task.rows_per_second is not None
    rows = row_counts(places.data, task.workload.stream_names, task.batches)
    for batch in range(task.fill):
        link_file(task, places.data, places.inputs, batch)
    _wait(task.fill, task, checkpoint, query, task.limit_seconds)
    due = feed(task, rows, lambda batch: link_file(task, places.data, places.inputs, batch), query, announce)
    taken = _wait(task.batches, task, checkpoint, query, OVERLOAD_SECONDS if task.fill else task.limit_seconds)
    ended = time.time()
    query.stop()
    return lateness(task, rows, due, taken, ended)


def lateness(
    task: Task, rows: list[int], due: dict[int, float], taken: Mapping[int, float], ended: float
) -> dict[str, Any]:
    """How late the counted rows were. What was not taken is as late as the end of the run, at least."""
    late = [
        (taken.get(batch, ended) - due[batch], rows[batch])
        for batch in range(task.warm_up, task.batches)
        if batch in due
    ]
    found: dict[str, Any] = {"rate": task.rows_per_second, "files": task.batches, "taken": len(taken)}
    if len(taken) < task.batches:
        found["error"] = f"took in {len(taken)} of {task.batches} files"
    return found | ({name: _quantile(late, share) for name, share in SHARES.items()} if late else {})


def complete(details: dict[str, Any]) -> bool:
    """Whether a run took in everything: the answer of one that did not is of no known batches."""
    latency = details.get("latency", {})
    return bool(latency.get("taken") == latency.get("files"))


def _wait(number: int, task: Task, checkpoint: Path, query: Query, seconds: float) -> dict[int, float]:
    """When each file was taken in, once so many were, or the time is over."""
    end = time.time() + seconds
    taken = _taken(task, checkpoint)
    while len(taken) < number and query.isActive and time.time() < end:
        time.sleep(0.1)
        taken = _taken(task, checkpoint)
    return taken


class Running(Protocol):
    """Something that takes in files until it ends."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 (as Spark's)


def feed(
    task: Task, rows: list[int], give: Callable[[int], None], query: Running, announce: Announce
) -> dict[int, float]:
    """Give each file after those of the start when it is due; returns the times."""
    assert task.rows_per_second is not None
    began = time.time() + 1.0
    due: dict[int, float] = {}
    sent = 0
    for batch in range(task.fill, task.batches):
        sent += rows[batch]
        due[batch] = began + sent / task.rows_per_second
        while time.time() < due[batch]:
            time.sleep(POLL_SECONDS)
        if not query.isActive:
            break
        give(batch)
        announce(batch)
    return due


def link_file(task: Task, data: Path, inputs: Path, batch: int) -> None:
    for name in task.workload.stream_names:
        os.link(data / name / file_name(batch), inputs / name / file_name(batch))


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
