"""What a join must return: its number of rows and a checksum of them, by DuckDB.

The checksum adds up a hash of each row, so it sees lost, repeated and altered rows and does not depend on their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from benchmarks.workload import SECOND_US, STREAMS, Workload, batch_files

SELECTED = ("r.id AS r_id", "s.id AS s_id", "r.v AS r_v", "s.v AS s_v")


@dataclass(frozen=True)
class Answer:
    """A join's result in brief; equal answers are equal multisets of rows."""

    rows: int
    checksum: str


def interval_condition(workload: Workload) -> str:
    """The join's condition as SQL says it."""
    bound = f"INTERVAL {workload.window_seconds} SECONDS"
    return f"r.k = s.k AND r.ts BETWEEN s.ts - {bound} AND s.ts + {bound}"


def integer_condition(workload: Workload) -> str:
    """The same condition on integers, which spares DuckDB its calendar arithmetic."""
    window_us = workload.window_seconds * SECOND_US
    return f"r.k = s.k AND epoch_us(r.ts) - epoch_us(s.ts) BETWEEN -{window_us} AND {window_us}"


def connect(threads: int, *, order: Literal["kept", "free"]) -> duckdb.DuckDBPyConnection:
    """A database in memory. DuckDB keeps the order of its input unless told otherwise; a free order is faster."""
    return duckdb.connect(config={"threads": threads, "preserve_insertion_order": order == "kept"})


def join_query(condition: str, data: Path, batches: int) -> str:
    """The join of the first batches, all at once."""
    r, s = (f"read_parquet({batch_files(data, stream, batches)})" for stream in STREAMS)
    return f"SELECT {', '.join(SELECTED)} FROM {r} r JOIN {s} s ON {condition}"


def expected_answer(workload: Workload, data: Path, batches: int, threads: int) -> Answer:
    """The answer over the first batches of a workload."""
    with connect(threads, order="free") as connection:
        return answer_of(connection, f"({join_query(interval_condition(workload), data, batches)})")


def answer_of_files(files: list[str], threads: int) -> Answer:
    """The answer a sink holds."""
    if not files:
        return Answer(0, "0")
    with connect(threads, order="free") as connection:
        return answer_of(connection, f"read_parquet({files})")


def answer_of(connection: duckdb.DuckDBPyConnection, relation: str) -> Answer:
    """The answer in a table or subquery with the selected columns."""
    query = f"SELECT count(*), coalesce(sum(hash(r_id, s_id, r_v, s_v)), 0)::VARCHAR FROM {relation}"
    found = connection.execute(query).fetchone()
    if found is None:
        raise AssertionError(f"An aggregate without groups returned no row: {query}")
    return Answer(int(found[0]), str(found[1]))
