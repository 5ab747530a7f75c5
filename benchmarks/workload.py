"""Generated input: two streams as parquet files, one file a batch and stream.

A row depends only on the seed, its stream and its event-time second, so one stretch of event time holds the same rows
however it is cut into batches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

STREAMS = ("r", "s")
FIRST_SECOND = 1_767_225_600  # 2026-01-01 00:00:00 UTC
SECOND_US = 1_000_000
SCHEMA = pa.schema(
    [("k", pa.int64()), ("v", pa.float64()), ("id", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))],
)


@dataclass(frozen=True)
class Workload:
    """Two streams of equal rate with uniform keys, joined by `r.k = s.k` within a window of event time."""

    name: str
    rows_per_second: int  # of event time, in each stream
    seconds_per_batch: int
    batches: int
    window_seconds: int = 10
    matches_per_row: int = 5  # partners a row finds in the other stream, away from both ends of the input
    seed: int = 20_260

    @property
    def keys(self) -> int:
        return self.rows_per_second * 2 * self.window_seconds // self.matches_per_row

    @property
    def rows_per_batch(self) -> int:
        return len(STREAMS) * self.rows_per_second * self.seconds_per_batch

    def write(self, directory: Path) -> Iterator[int]:
        """Write the files, yielding the number of each finished batch; modification times follow the batches."""
        oldest = time.time() - self.batches
        for stream in STREAMS:
            (directory / stream).mkdir(parents=True)
        for batch in range(self.batches):
            for number, stream in enumerate(STREAMS):
                path = directory / stream / _file_name(batch)
                pq.write_table(self._batch(number, batch), path)
                os.utime(path, (oldest + batch, oldest + batch))
            yield batch

    def _batch(self, stream: int, batch: int) -> pa.Table:
        first = batch * self.seconds_per_batch
        return pa.concat_tables([self._second(stream, first + n) for n in range(self.seconds_per_batch)])

    def _second(self, stream: int, second: int) -> pa.Table:
        rows = self.rows_per_second
        random = np.random.default_rng([self.seed, stream, second])
        offsets_us = np.sort(random.integers(0, SECOND_US, rows))
        columns = [
            random.integers(0, self.keys, rows),
            random.random(rows),
            np.arange(second * rows, (second + 1) * rows),
            (FIRST_SECOND + second) * SECOND_US + offsets_us,
        ]
        return pa.table([pa.array(c).cast(f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def link_batches(data: Path, target: Path, batches: int) -> None:
    """Give a run the first batches of a workload as directories of their own; links keep the modification times."""
    for stream in STREAMS:
        (target / stream).mkdir(parents=True)
        for batch in range(batches):
            os.link(data / stream / _file_name(batch), target / stream / _file_name(batch))


def batch_files(data: Path, stream: str, batches: int) -> list[str]:
    """The files of a stream's first batches."""
    return [str(data / stream / _file_name(batch)) for batch in range(batches)]


def _file_name(batch: int) -> str:
    return f"{batch:05d}.parquet"
