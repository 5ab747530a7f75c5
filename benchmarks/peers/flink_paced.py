"""Flink at an offered rate: CSV files appear in directories that it watches, and its results say when they came out.

With checkpoints a result is out when the file it stands in is committed, which is when a checkpoint ends. Without, no
file is ever committed: there the time counts at which the join emitted a row, which the row carries along. At the end a
savepoint closes the files, so that they can be read.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.answers import Answer, answer_of, connect
from benchmarks.pacing import OVERLOAD_SECONDS, feed, lateness
from benchmarks.peers import flink
from benchmarks.peers.paced_job import ENDING_SECONDS, QUIET_SECONDS, Job, taken, with_results
from benchmarks.peers.streaming import Announce, Places
from benchmarks.processes import end_group
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import batch_files, row_counts

MONITOR = "50 ms"  # how often Flink looks for files
EMITTED = "emitted"
FIRST_FILE = "start.csv"


def run_flink_paced(task: Task, spec: dict[str, Any], python: Path, places: Places, announce: Announce) -> Measurement:
    """A task's files through a job that watches for them."""
    staged, until, log = places.scratch / "staged", places.scratch / "stop", places.scratch / "flink.log"
    _stage(task, places, staged)
    streams = [{**stream, "monitor": MONITOR} for stream in spec["streams"]]
    spec = {**spec, "streams": streams, "until": str(until), "savepoints": str(places.scratch / "savepoints")}
    rows = row_counts(places.data, task.workload.stream_names, task.batches)
    child = flink.start_flink_job(spec, python, log)
    try:
        job = Job(child, lambda: sum(path.stat().st_size for path in places.output.rglob("*part-*") if path.is_file()))
        if not job.settle(task.limit_seconds):
            return Measurement(error=f"had not joined its first window after {task.limit_seconds:g} s: {_end(log)}")

        def give(batch: int) -> None:
            for name in task.workload.stream_names:
                (staged / name / f"{batch:05d}.csv").rename(places.inputs / name / f"{batch:05d}.csv")

        due = feed(task, rows, give, job, announce)
        job.settle(OVERLOAD_SECONDS + QUIET_SECONDS)
        ended = time.time()
        until.touch()
        child.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        return Measurement(error=f"did not stop in {ENDING_SECONDS:g} s")
    finally:
        end_group(child)
    said = flink.said_in(log) or {"error": f"gave no outcome: {_end(log)}"}
    return _measured(task, places, said, rows, due, ended)


def _measured(
    task: Task, places: Places, said: dict[str, Any], rows: list[int], due: dict[int, float], ended: float
) -> Measurement:
    if "error" in said:
        return Measurement(error=str(said["error"]))
    committed = "execution.checkpointing.interval" in task.settings
    out = _out(task, places, said["columns"], committed=committed)
    settings = flink.settings_of(said)
    return Measurement(
        answer=_answer(task, places, said["columns"]),
        answer_batches=task.batches,
        settings=settings,
        details={"latency": lateness(task, rows, with_results(due, out), out, ended)},
    )


def _stage(task: Task, places: Places, staged: Path) -> None:
    """Each batch as a CSV file, beside the watched directory; those of the start as one, in it."""
    for each in task.workload.feeds:
        live = task.workload.live_columns(each)
        files = [Path(file) for file in batch_files(places.data, each.name, task.batches)]
        flink.write_csv(files[: task.fill], places.inputs / each.name, live, FIRST_FILE)
        for batch, file in enumerate(files[task.fill :], start=task.fill):
            flink.write_csv([file], staged / each.name, live, f"{batch:05d}.csv")


def _results(task: Task, places: Places, columns: Sequence[Sequence[str]]) -> tuple[str, dict[str, float]]:
    """The committed files as a relation, and when each was committed: that is a rename, which changes its status."""
    files = [path for path in (places.output / "0").glob("part-*") if path.stat().st_size]
    described = ", ".join(f"'{name}': '{kind}'" for name, kind in columns)
    names = [str(path) for path in files]
    relation = f"read_csv({names}, header = false, auto_detect = false, filename = true, columns = {{{described}}})"
    return relation, {str(path): path.stat().st_ctime for path in files}


def _out(task: Task, places: Places, columns: Sequence[Sequence[str]], *, committed: bool) -> dict[int, float]:
    """When the last result of each file was out."""
    relation, commits = _results(task, places, columns)
    if not commits:
        return {}
    ids = ", ".join(f"{name}_id" for name in task.workload.stream_names)
    query = f"SELECT {ids}, epoch({EMITTED}::TIMESTAMP) AS emitted, filename FROM {relation}"
    with connect(task.cores, order="free") as connection:
        found: pa.Table = connection.sql(query).to_arrow_table()
    ids_of = {name: np.asarray(found.column(f"{name}_id")) for name in task.workload.stream_names}
    times = _commit_times(found.column("filename"), commits) if committed else np.asarray(found.column("emitted"))
    return taken(task, places.data, ids_of, times)


def _commit_times(names: pa.ChunkedArray, commits: Mapping[str, float]) -> npt.NDArray[Any]:
    encoded = names.combine_chunks().dictionary_encode()
    known = np.array([commits[name] for name in encoded.dictionary.to_pylist()])
    times: npt.NDArray[Any] = known[encoded.indices.to_numpy()]
    return times


def _answer(task: Task, places: Places, columns: Sequence[Sequence[str]]) -> Answer:
    relation, commits = _results(task, places, columns)
    if not commits:
        return Answer(0, "0")
    with connect(task.cores, order="free") as connection:
        return answer_of(connection, relation, task.workload.output_names)


def _end(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "nothing in the log")
