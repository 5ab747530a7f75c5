"""What a join must return: its number of rows and a checksum of them, by DuckDB.

The checksum adds up a hash of each row, so it sees lost, repeated and altered rows and does not depend on their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.workload import SECOND_US, Workload, batch_files

SELECTED = ("r.id AS r_id", "s.id AS s_id", "r.v AS r_v", "s.v AS s_v")


@dataclass(frozen=True)
class Answer:
    """A join's result in brief; equal answers are equal multisets of rows."""

    rows: int
    checksum: str


def connect(threads: int) -> duckdb.DuckDBPyConnection:
    """A database in memory that need not keep the order of its input, which is the faster setting."""
    return duckdb.connect(config={"threads": threads, "preserve_insertion_order": False})


def join_query(workload: Workload, data: Path, batches: int) -> str:
    """The join of the first batches at once. Times are compared as integers: DuckDB's calendar arithmetic is slow."""
    r, s = (f"read_parquet({batch_files(data, stream, batches)})" for stream in ("r", "s"))
    window_us = workload.window_seconds * SECOND_US
    return (
        f"SELECT {', '.join(SELECTED)} FROM {r} r JOIN {s} s "
        f"ON r.k = s.k AND epoch_us(r.ts) - epoch_us(s.ts) BETWEEN -{window_us} AND {window_us}"
    )


def expected_answer(workload: Workload, data: Path, batches: int, threads: int) -> Answer:
    """The answer over the first batches of a workload."""
    with connect(threads) as connection:
        return answer_of(connection, f"({join_query(workload, data, batches)})")


def answer_of_files(files: list[str], threads: int) -> Answer:
    """The answer a sink holds."""
    if not files:
        return Answer(0, "0")
    with connect(threads) as connection:
        return answer_of(connection, f"read_parquet({files})")


def answer_of(connection: duckdb.DuckDBPyConnection, relation: str) -> Answer:
    """The answer in a table or subquery with the selected columns."""
    query = f"SELECT count(*), coalesce(sum(hash(r_id, s_id, r_v, s_v)), 0)::VARCHAR FROM {relation}"
    found = connection.execute(query).fetchone()
    if found is None:
        raise AssertionError(f"An aggregate without groups returned no row: {query}")
    return Answer(int(found[0]), str(found[1]))
