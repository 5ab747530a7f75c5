"""The right answers, by Spark's own static cross join of the on-time rows, and how answers are compared.

The window is written out in SQL on exact microseconds. An answer is a multiset of rows rendered as JSON, in which
NaN, -0.0, NULL, binary, arrays and structs all stay apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.oracle.cases import AUTO, Case, Condition, Input, Query, duration_us

Answer = Counter[str]
JSON = """map('ignoreNullFields', 'false', 'timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    'timestampNTZFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")"""


def oracle_frame(case: Case, query: Query, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The answer to a query over on-time rows, straight from Spark."""
    spark = next(iter(frames.values())).sparkSession
    for name, frame in frames.items():
        frame.createOrReplaceTempView(f"oracle_{name}")
    sources = ", ".join(f"oracle_{entry.name} AS {entry.name}" for entry in case.inputs)
    return spark.sql(f"SELECT {_selection(case.inputs, query)} FROM {sources} WHERE {_where(case.inputs, query)}")


def answers(frames: Sequence[DataFrame]) -> list[Answer]:
    """What each DataFrame holds, all of them in one job."""
    tagged = [rendered(frame).selectExpr(f"{number} AS number", "row") for number, frame in enumerate(frames)]
    found: list[Answer] = [Counter() for _ in frames]
    for number, row in reduce(DataFrame.unionAll, tagged).collect():
        found[number][row] += 1
    return found


def rendered(frame: DataFrame) -> DataFrame:
    """Every row as one JSON text."""
    names = ", ".join(f"`{name}`" for name in frame.columns)
    return frame.selectExpr(f"to_json(struct({names}), {JSON}) AS row")


def difference(expected: Answer, got: Answer, shown: int = 5) -> str:
    """What is missing and what is too much; empty when the answers are equal."""
    lines = []
    for title, rows in (("missing", expected - got), ("not expected", got - expected)):
        if rows:
            lines.append(f"{title}: {rows.total()} rows of {expected.total()}, for example")
            lines += [f"  {count} × {row}" for row, count in sorted(rows.items())[:shown]]
    return "\n".join(lines)


def to_frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows as a static DataFrame of one partition."""
    return spark.createDataFrame(rows).coalesce(1)


def _selection(inputs: Sequence[Input], query: Query) -> str:
    latest = _latest(inputs)
    if not query.selection:
        structs = [f"struct({entry.name}.*) AS {entry.name}" for entry in inputs]
        return ", ".join([*structs, f"{latest} AS result_time"])
    named = ["result_time AS result_time" if text == "result_time" else text for text in query.selection]
    return ", ".join(re.sub(r"\bresult_time\b(?!$)", latest, text) for text in named)


def _where(inputs: Sequence[Input], query: Query) -> str:
    """Windows first, then what never raises, then each condition that may, after the ones written before it."""
    calm = [f"({condition.sql})" for condition in query.conditions if not condition.raising]
    text = " AND ".join([*_window_terms(inputs, query), *calm]) or "true"
    raising = [condition for condition in query.conditions if condition.raising]
    return f"CASE WHEN {text} THEN {_nested(raising)} ELSE false END" if raising else text


def _nested(conditions: Sequence[Condition]) -> str:
    if not conditions:
        return "true"
    return f"CASE WHEN {conditions[0].sql} THEN {_nested(conditions[1:])} ELSE false END"


def _window_terms(inputs: Sequence[Input], query: Query) -> list[str]:
    latest = _latest(inputs)
    return [
        f"{_micros(latest)} - {_micros(f'{entry.name}.{entry.time}')} <= {duration_us(window)}"
        for entry, window in zip(inputs, query.windows, strict=True)
        if window not in ("unbounded", AUTO)
    ]


def _latest(inputs: Sequence[Input]) -> str:
    return f"greatest({', '.join(f'{entry.name}.{entry.time}' for entry in inputs)})"


def _micros(expression: str) -> str:
    """Sessions of random cases are in UTC, so the cast of a zoneless time shifts nothing."""
    return f"unix_micros(CAST({expression} AS TIMESTAMP))"
