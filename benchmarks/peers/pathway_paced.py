"""Pathway at an offered rate: its job waits for each file, and its output is watched while it grows.

A result is out when it stands in the output file. The file itself does not say when that was, so its size is noted a
hundred times a second, and each line counts from when the file was as long as the line's end.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks.pacing import OVERLOAD_SECONDS, feed, lateness, link_file
from benchmarks.peers import pathway
from benchmarks.peers.paced_job import ENDING_SECONDS, Job, taken, with_results
from benchmarks.peers.streaming import Announce, Places
from benchmarks.processes import end_group
from benchmarks.tasks import Task
from benchmarks.workloads.workload import batch_files, row_counts

WATCH_SECONDS = 0.01
LINE_END = 10  # "\n"
Sizes = list[tuple[float, int]]
"""How long a file was at a time, whenever it had grown."""


def run_pathway_paced(
    task: Task, spec: dict[str, Any], python: Path, places: Places, announce: Announce
) -> dict[str, Any]:
    """What the job says of itself and how late its results were, or `{"error": …}`.

    A job that is not done long after the last file is ended, and says nothing of itself.
    """
    output, until, log = Path(spec["output"]), places.scratch / "stop", places.scratch / "pathway.log"
    names, rows = task.workload.stream_names, row_counts(places.data, task.workload.stream_names, task.batches)
    for name in names:
        (places.inputs / name).mkdir(parents=True)
    for batch in range(task.fill):
        link_file(task, places.data, places.inputs, batch)
    files = {name: batch_files(places.inputs, name, task.batches) for name in names}
    streams = [{**stream, "files": files[stream["name"]]} for stream in spec["streams"]]
    spec = {**spec, "streams": streams, "together": task.fill, "until": str(until)}
    said: dict[str, Any] = {}
    with (
        pathway.start_pathway_job(spec, python, log) as child,
        watched(output) as sizes,
    ):
        try:
            job = Job(child, lambda: sizes[-1][1] if sizes else 0)
            if not job.settle(task.limit_seconds):
                return {"error": f"had not joined its first window after {task.limit_seconds:g} s"}
            due = feed(task, rows, lambda batch: link_file(task, places.data, places.inputs, batch), job, announce)
            ended = _end(child)
            until.touch()
            with suppress(subprocess.TimeoutExpired):
                said = pathway.outcome(child, ENDING_SECONDS, log)
        finally:
            end_group(child)
    if "error" in said:
        return said
    out = _out(task, places.data, output, sizes)
    return {**said, "latency": lateness(task, rows, with_results(due, out), out, ended)}


def _end(child: subprocess.Popen[bytes]) -> float:
    """When the job had joined every file, or as long after the last one as is waited for it."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(OVERLOAD_SECONDS)
    return time.time()


@contextmanager
def watched(path: Path) -> Iterator[Sizes]:
    """Note the sizes of a file that may not exist yet, until the end of the block."""
    sizes: Sizes = []
    stopped = threading.Event()

    def note() -> None:
        size = path.stat().st_size if path.exists() else 0
        if size > (sizes[-1][1] if sizes else 0):
            sizes.append((time.time(), size))

    def watch() -> None:
        while not stopped.wait(WATCH_SECONDS):
            note()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield sizes
    finally:
        stopped.set()
        thread.join()
        note()


def line_times(content: npt.NDArray[np.uint8], sizes: Sequence[tuple[float, int]]) -> npt.NDArray[np.float64]:
    """When each line after the first, which names the columns, was in the file as a whole."""
    ends = np.flatnonzero(content == LINE_END)[1:] + 1
    times, lengths = np.array(sizes).reshape(-1, 2).T
    found: npt.NDArray[np.float64] = times[np.searchsorted(lengths, ends)]
    return found


def _out(task: Task, data: Path, output: Path, sizes: Sizes) -> dict[int, float]:
    """When the last result of each file was out."""
    lines = whole_lines(np.memmap(output, np.uint8, "r")) if sizes else np.empty(0, np.uint8)
    if not len(lines):
        return {}
    names = task.workload.stream_names
    options = pacsv.ConvertOptions(include_columns=[f"{name}_id" for name in names])
    found = pacsv.read_csv(pa.BufferReader(pa.py_buffer(lines)), convert_options=options)
    ids = {name: found[f"{name}_id"].to_numpy() for name in names}
    return taken(task, data, ids, line_times(lines, sizes))


def whole_lines(content: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Without what stands after the last end of a line: a job that was ended may have been writing it."""
    ends = np.flatnonzero(content == LINE_END)
    return content[: ends[-1] + 1 if len(ends) else 0]
