"""Ids of the rows of row-based windows: which ids a step's ingest tasks may use, and where the next step begins.

No two rows of a stream have the same id. The tasks of a step take turns: row n of task p has the id first + n * stride
+ p. So an id depends only on the manifest before the step, the task and the row's place in it: a retried task repeats
its ids. The manifest has the first id that is not in use yet, so ids are as dense as the rows and do not depend on the
number of steps. They are stored in 64 bits and start again from the smallest number after the largest: ids of
different rows are equal only if 2^64 ids lie between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Ids are stored as 64-bit integers.
DISTINCT_IDS = 1 << 64


@dataclass(frozen=True)
class RowIds:
    """The ids of a step: from `first` on, for at most `stride` ingest tasks."""

    first: int
    stride: int

    def of(self, task: int, start: int, count: int) -> npt.NDArray[np.int64]:
        """The ids of `count` rows of a task, from its row `start` on."""
        if not 0 <= task < self.stride:
            raise ValueError(f"ingest task {task} has no ids: there are ids for tasks 0 to {self.stride - 1}")
        first = (self.first + task + start * self.stride) % DISTINCT_IDS
        ids = np.uint64(first) + np.arange(count, dtype=np.uint64) * np.uint64(self.stride)
        return ids.view(np.int64)

    def first_after(self, rows: Iterable[int]) -> int:
        """The first id of the next step, from the number of rows of each task."""
        return (self.first + max(rows, default=0) * self.stride) % DISTINCT_IDS
