"""What a join must return: its number of rows and a checksum of them, by DuckDB.

The checksum adds up a hash of each row, so it sees lost, repeated and altered rows and does not depend on their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from benchmarks.workloads.workload import FIRST_SECOND, SECOND_US, Workload, batch_files

SLICE_WINDOWS = 50  # of event time: an overlap of one window with the slice before costs little


@dataclass(frozen=True)
class Answer:
    """A join's result in brief; equal answers are equal multisets of rows."""

    rows: int
    checksum: str


def interval_condition(workload: Workload, on: str | None = None) -> str:
    """The join's condition with the window, as SQL says it."""
    condition = workload.on if on is None else on
    if workload.window_seconds is None:
        return condition
    names = workload.stream_names
    bound = f"INTERVAL '{workload.window_seconds:g}' SECOND"
    if len(names) == 2:
        one, other = names
        return f"{condition} AND {one}.ts BETWEEN {other}.ts - {bound} AND {other}.ts + {bound}"
    times = ", ".join(f"{name}.ts" for name in names)
    return f"{condition} AND greatest({times}) - least({times}) <= {bound}"


def integer_condition(workload: Workload, on: str | None = None) -> str:
    """The same condition on integers, which spares DuckDB its calendar arithmetic."""
    condition = workload.on if on is None else on
    if workload.window_seconds is None:
        return condition
    window_us = round(workload.window_seconds * SECOND_US)
    times = [f"epoch_us({name}.ts)" for name in workload.stream_names]
    if len(times) == 2:
        return f"{condition} AND {times[0]} - {times[1]} BETWEEN -{window_us} AND {window_us}"
    return f"{condition} AND greatest({', '.join(times)}) - least({', '.join(times)}) <= {window_us}"


def connect(threads: int, *, order: Literal["kept", "free"]) -> duckdb.DuckDBPyConnection:
    """A database in memory. DuckDB keeps the order of its input unless told otherwise; a free order is faster."""
    return duckdb.connect(config={"threads": threads, "preserve_insertion_order": order == "kept"})


def join_query(workload: Workload, condition: str, data: Path, batches: int, first: int = 0) -> str:
    """The join of the first batches, or of those from `first` on, all at once."""
    sources = [f"read_parquet({batch_files(data, name, batches)[first:]}) {name}" for name in workload.stream_names]
    return f"SELECT {', '.join(workload.select)} FROM {', '.join(sources)} WHERE {condition}"


def expected_answer(workload: Workload, data: Path, batches: int, threads: int) -> Answer:
    """The answer over the first batches of a workload, added up over slices of event time.

    Without an equality DuckDB compares all rows of a range, whatever their time: in slices its work stays linear.
    """
    condition = integer_condition(workload, workload.expected_on)
    answers = []
    with connect(threads, order="free") as connection:
        for start, end in _slices(workload, batches):
            query = join_query(workload, _from_batch(workload, condition, start), data, end, _reach(workload, start))
            if workload.cells is not None:
                query = _by_cells(workload, query, *workload.cells)
            answers.append(answer_of(connection, f"({query})", workload.output_names))
    return Answer(sum(one.rows for one in answers), str(sum(int(one.checksum) for one in answers)))


def _slices(workload: Workload, batches: int) -> list[tuple[int, int]]:
    """The batches, cut so that a slice has many windows; the history is one slice."""
    if workload.window_seconds is None:
        return [(0, batches)]
    length = math.ceil(SLICE_WINDOWS * workload.window_seconds / workload.seconds_per_batch)
    return [(start, min(start + length, batches)) for start in range(0, batches, length)]


def _from_batch(workload: Workload, condition: str, start: int) -> str:
    """A slice has the results whose newest row is of its own batches; the last one of an earlier slice is not."""
    if start == 0:
        return condition
    times = ", ".join(f"epoch_us({name}.ts)" for name in workload.stream_names)
    begin_us = FIRST_SECOND * SECOND_US + round(start * workload.seconds_per_batch * SECOND_US)
    return f"{condition} AND greatest({times}) >= {begin_us}"


def _reach(workload: Workload, start: int) -> int:
    """The first batch with rows that a slice may need."""
    if workload.window_seconds is None:
        return 0
    return max(0, start - math.ceil(workload.window_seconds / workload.seconds_per_batch) - 1)


def _by_cells(workload: Workload, query: str, columns: tuple[str, ...], width: float) -> str:
    """The query with an equality: the second stream's rows stand in every neighbouring cell, and one of them fits."""
    one, other = workload.stream_names
    shifts = [f"(SELECT unnest([-1, 0, 1]) AS shift_{column}) AS shifts_{column}" for column in columns]
    equal = [
        f"floor({one}.{column} / {width}) = floor({other}.{column} / {width}) + shift_{column}" for column in columns
    ]
    return query.replace(" WHERE ", f", {', '.join(shifts)} WHERE {' AND '.join(equal)} AND ", 1)


def answer_of_files(files: Sequence[str], names: Sequence[str], threads: int) -> Answer:
    """The answer a sink holds."""
    if not files:
        return Answer(0, "0")
    with connect(threads, order="free") as connection:
        return answer_of(connection, f"read_parquet({list(files)})", names)


def answer_of(connection: duckdb.DuckDBPyConnection, relation: str, names: Sequence[str]) -> Answer:
    """The answer in a table or subquery with the selected columns."""
    query = f"SELECT count(*), coalesce(sum(hash({', '.join(names)})), 0)::VARCHAR FROM {relation}"
    found = connection.execute(query).fetchone()
    if found is None:
        raise AssertionError(f"An aggregate without groups returned no row: {query}")
    return Answer(int(found[0]), str(found[1]))
