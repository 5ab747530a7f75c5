"""DuckDB's opinion, for queries made of comparisons that mean the same there."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa

from tests.oracle.cases import Case, Query, duration_us

Ids = Counter[tuple[int, ...]]


def duck_ids(case: Case, query: Query, rows: dict[str, pa.Table]) -> Ids:
    """How often each combination of row ids is in the answer."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in rows.items():
            connection.register(name, table)
        names = [entry.name for entry in case.inputs]
        latest = f"greatest({', '.join(f'{entry.name}.{entry.time}' for entry in case.inputs)})"
        terms = [f"({condition.sql})" for condition in query.conditions]
        terms += [
            f"epoch_us({latest}) - epoch_us({entry.name}.{entry.time}) <= {duration_us(window)}"
            for entry, window in zip(case.inputs, query.windows, strict=True)
            if window != "unbounded"
        ]
        ids = ", ".join(f"{name}.id" for name in names)
        return Counter(connection.sql(f"SELECT {ids} FROM {', '.join(names)} WHERE {' AND '.join(terms)}").fetchall())
