"""A workload: generated streams, cut into one parquet file a batch and stream, and the question asked of them.

A row depends only on the seed, its stream and its event-time second, so one stretch of event time holds the same rows
however it is cut into batches.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FIRST_SECOND = 1_767_225_600  # 2026-01-01 00:00:00 UTC
SECOND_US = 1_000_000
TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Feed:
    """One stream: its columns, and the rows of any second of event time, in order of `ts`."""

    name: str
    schema: pa.Schema
    second: Callable[[int], pa.Table]


@dataclass(frozen=True)
class PythonCondition:
    """A predicate as a vectorised Python function, for the systems that take one."""

    function: Callable[..., Any]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """A condition on a column of the first stream minus the same column of the second."""

    column: str
    comparison: Literal["<", "<=", ">", ">="]
    bound: float


@dataclass(frozen=True)
class Workload:
    """A join of feeds within a window of event time; `window_seconds` None is the whole history.

    `on` is SQL that Spark, Braid and DuckDB read alike. `expected_on` says the same where DuckDB needs help to be
    quick, and `cells` that partners lie in neighbouring cells of so large a grid over some columns. `equal_columns` and
    `differences` say in parts what `on` says, for systems without SQL.
    """

    name: str
    title: str
    feeds: tuple[Feed, ...]
    on: str
    select: tuple[str, ...]
    seconds_per_batch: float
    batches: int
    window_seconds: float | None
    equal_columns: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    function: PythonCondition | None = None
    expected_on: str | None = None
    cells: tuple[tuple[str, ...], float] | None = None

    @property
    def stream_names(self) -> tuple[str, ...]:
        return tuple(feed.name for feed in self.feeds)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(re.split(r"\s+AS\s+", text)[-1] for text in self.select)

    @property
    def chosen(self) -> tuple[tuple[str, str, str], ...]:
        """The selection as stream, column and name, for systems without SQL."""
        found = [re.fullmatch(r"(\w+)\.(\w+)\s+AS\s+(\w+)", text) for text in self.select]
        return tuple((one[1], one[2], one[3]) for one in found if one is not None)

    def live_columns(self, feed: Feed) -> list[str]:
        """The columns of a feed that the question reads; every system gets these and no others."""
        read = set(re.findall(r"\b(\w+\.\w+)\b", " ".join((self.on, *self.select))))
        return [name for name in feed.schema.names if name == "ts" or f"{feed.name}.{name}" in read]

    @property
    def on_equates(self) -> bool:
        """Whether a conjunct of `on` is an equality, which is what Spark's own join asks for."""
        return any(re.fullmatch(r"\s*\w+\.\w+\s*=\s*\w+\.\w+\s*", part) for part in self.on.split(" AND "))

    def write(self, directory: Path) -> Iterator[int]:
        """Write the files, yielding the number of each finished batch; modification times follow the batches."""
        oldest = time.time() - 2 * self.batches
        for feed in self.feeds:
            (directory / feed.name).mkdir(parents=True, exist_ok=True)
        for batch in range(self.batches):
            for feed in self.feeds:
                path = directory / feed.name / file_name(batch)
                pq.write_table(self._batch(feed, batch), path)
                os.utime(path, (oldest + batch, oldest + batch))
            yield batch

    def _batch(self, feed: Feed, batch: int) -> pa.Table:
        begin = round(batch * self.seconds_per_batch * SECOND_US)
        end = round((batch + 1) * self.seconds_per_batch * SECOND_US)
        seconds = range(begin // SECOND_US, -(-end // SECOND_US))
        table = pa.concat_tables([feed.second(second) for second in seconds]).cast(feed.schema)
        if begin % SECOND_US == 0 and end % SECOND_US == 0:
            return table
        first, last = (pa.scalar(FIRST_SECOND * SECOND_US + edge, pa.int64()).cast(TIME) for edge in (begin, end))
        return table.filter(pc.and_(pc.greater_equal(table["ts"], first), pc.less(table["ts"], last)))


def named(stream: str, *columns: str) -> tuple[str, ...]:
    """Columns of a stream under their own names."""
    return tuple(f"{stream}.{column} AS {column}" for column in columns)


def window_text(seconds: float | None) -> str:
    return "whole history" if seconds is None else f"window ±{seconds:g} s"


def link_batches(data: Path, target: Path, streams: tuple[str, ...], batches: int) -> None:
    """Give a run the first batches of a workload as directories of their own; links keep the modification times."""
    for stream in streams:
        (target / stream).mkdir(parents=True)
        for batch in range(batches):
            os.link(data / stream / file_name(batch), target / stream / file_name(batch))


def batch_files(data: Path, stream: str, batches: int) -> list[str]:
    """The files of a stream's first batches."""
    return [str(data / stream / file_name(batch)) for batch in range(batches)]


def row_counts(data: Path, streams: tuple[str, ...], batches: int) -> list[int]:
    """The rows of each batch, all streams together."""
    return [
        sum(pq.ParquetFile(data / stream / file_name(batch)).metadata.num_rows for stream in streams)
        for batch in range(batches)
    ]


def file_name(batch: int) -> str:
    return f"{batch:05d}.parquet"
