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
import pyarrow.parquet as pq

from benchmarks.answers import Answer, answer_of, connect
from benchmarks.pacing import OVERLOAD_SECONDS, feed, lateness
from benchmarks.peers import flink
from benchmarks.peers.streaming import Announce, Places
from benchmarks.processes import end_group
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import batch_files, file_name, row_counts

MONITOR = "50 ms"  # how often Flink looks for files
EMITTED = "emitted"
QUIET_SECONDS = 2.0  # without a new byte in the output: everything that was read is joined
ENDING_SECONDS = 60.0
POLL_SECONDS = 0.05
FIRST_FILE = "start.csv"


class Job:
    """A running job: active until it is stopped or its process ends."""

    def __init__(self, child: subprocess.Popen[bytes], output: Path) -> None:
        self._child = child
        self._output = output

    @property
    def isActive(self) -> bool:  # noqa: N802 (as Spark's)
        return self._child.poll() is None

    def settle(self, seconds: float) -> bool:
        """Wait until some results came and none more come; whether they did within the time."""
        end, size, since = time.time() + seconds, 0, time.time()
        while self.isActive and time.time() < end:
            now = sum(path.stat().st_size for path in self._output.rglob("*part-*") if path.is_file())
            if now != size:
                size, since = now, time.time()
            elif size and time.time() - since > QUIET_SECONDS:
                return True
            time.sleep(POLL_SECONDS)
        return False


def run_flink_paced(task: Task, spec: dict[str, Any], python: Path, places: Places, announce: Announce) -> Measurement:
    """A task's files through a job that watches for them."""
    staged, until, log = places.scratch / "staged", places.scratch / "stop", places.scratch / "flink.log"
    _stage(task, places, staged)
    streams = [{**stream, "monitor": MONITOR} for stream in spec["streams"]]
    spec = {**spec, "streams": streams, "until": str(until), "savepoints": str(places.scratch / "savepoints")}
    rows = row_counts(places.data, task.workload.stream_names, task.batches)
    child = flink.start_flink_job(spec, python, log)
    try:
        job = Job(child, places.output)
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
    taken = _taken(task, places, said["columns"], committed=committed)
    settings = flink.settings_of(said)
    # A file without results says nothing, unless none came after it either.
    counted = {batch: at for batch, at in due.items() if batch in taken or batch > max(taken, default=-1)}
    return Measurement(
        answer=_answer(task, places, said["columns"]),
        answer_batches=task.batches,
        settings=settings,
        details={"latency": lateness(task, rows, counted, taken, ended)},
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


def _taken(task: Task, places: Places, columns: Sequence[Sequence[str]], *, committed: bool) -> dict[int, float]:
    """When the last result of each file was out; results count to the later of the files of their rows."""
    relation, commits = _results(task, places, columns)
    if not commits:
        return {}
    ids = ", ".join(f"{name}_id" for name in task.workload.stream_names)
    query = f"SELECT {ids}, epoch({EMITTED}::TIMESTAMP) AS emitted, filename FROM {relation}"
    with connect(task.cores, order="free") as connection:
        found: pa.Table = connection.sql(query).to_arrow_table()
    names = task.workload.stream_names
    ids_of = {name: np.asarray(found.column(f"{name}_id")) for name in names}
    files = [np.searchsorted(_first_ids(task, places, name), ids_of[name], "right") - 1 for name in names]
    times = _commit_times(found.column("filename"), commits) if committed else np.asarray(found.column("emitted"))
    return latest(np.max(files, axis=0), times)


def _commit_times(names: pa.ChunkedArray, commits: Mapping[str, float]) -> npt.NDArray[Any]:
    encoded = names.combine_chunks().dictionary_encode()
    known = np.array([commits[name] for name in encoded.dictionary.to_pylist()])
    times: npt.NDArray[Any] = known[encoded.indices.to_numpy()]
    return times


def latest(numbers: npt.NDArray[Any], times: npt.NDArray[Any]) -> dict[int, float]:
    """The latest time of each number."""
    order = np.lexsort((times, numbers))
    last = np.append(numbers[order][1:] != numbers[order][:-1], True)
    return dict(zip(numbers[order][last].tolist(), times[order][last].tolist(), strict=True))


def _first_ids(task: Task, places: Places, stream: str) -> npt.NDArray[Any]:
    """The first id of each file of a stream; ids grow with time."""
    firsts: list[int] = []
    for batch in range(task.batches):
        ids = pq.read_table(places.data / stream / file_name(batch), columns=["id"])["id"]
        firsts.append(ids[0].as_py() if len(ids) else firsts[-1] if firsts else 0)
    return np.array(firsts)


def _answer(task: Task, places: Places, columns: Sequence[Sequence[str]]) -> Answer:
    relation, commits = _results(task, places, columns)
    if not commits:
        return Answer(0, "0")
    with connect(task.cores, order="free") as connection:
        return answer_of(connection, relation, task.workload.output_names)


def _end(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "nothing in the log")
