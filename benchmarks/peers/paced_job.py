"""Systems that are processes of their own, at an offered rate: when a job has settled, and when results were out."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.tasks import Task
from benchmarks.workloads.workload import file_name

QUIET_SECONDS = 2.0  # without a new byte in the output: everything that was read is joined
ENDING_SECONDS = 60.0
POLL_SECONDS = 0.05


class Job:
    """A running job: active until it is stopped or its process ends."""

    def __init__(self, child: subprocess.Popen[bytes], written: Callable[[], int]) -> None:
        self._child = child
        self._written = written

    @property
    def isActive(self) -> bool:  # noqa: N802 (as Spark's)
        return self._child.poll() is None

    def settle(self, seconds: float) -> bool:
        """Wait until some results came and none more come; whether they did within the time."""
        end, size, since = time.time() + seconds, 0, time.time()
        while self.isActive and time.time() < end:
            now = self._written()
            if now != size:
                size, since = now, time.time()
            elif size and time.time() - since > QUIET_SECONDS:
                return True
            time.sleep(POLL_SECONDS)
        return False


def taken(task: Task, data: Path, ids: Mapping[str, npt.NDArray[Any]], times: npt.NDArray[Any]) -> dict[int, float]:
    """When the last result of each file was out, from the rows of all results and the time of each.

    A result counts to the later of the files of its rows.
    """
    files = [
        np.searchsorted(_first_ids(task, data, name), ids[name], "right") - 1 for name in task.workload.stream_names
    ]
    return latest(np.max(files, axis=0), times)


def with_results(due: Mapping[int, float], out: Mapping[int, float]) -> dict[int, float]:
    """The files that count: one without results says nothing, unless none came after it either."""
    return {batch: at for batch, at in due.items() if batch in out or batch > max(out, default=-1)}


def latest(numbers: npt.NDArray[Any], times: npt.NDArray[Any]) -> dict[int, float]:
    """The latest time of each number."""
    order = np.lexsort((times, numbers))
    last = np.append(numbers[order][1:] != numbers[order][:-1], True)
    return dict(zip(numbers[order][last].tolist(), times[order][last].tolist(), strict=True))


def _first_ids(task: Task, data: Path, stream: str) -> npt.NDArray[Any]:
    """The first id of each file of a stream; ids grow with time."""
    firsts: list[int] = []
    for batch in range(task.batches):
        ids = pq.read_table(data / stream / file_name(batch), columns=["id"])["id"]
        firsts.append(ids[0].as_py() if len(ids) else firsts[-1] if firsts else 0)
    return np.array(firsts)
