"""Every mistake of the contract's section on bad input, made as a user would, through `braid.join` or a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid import errors

SCHEMA = "id bigint, ts timestamp, v bigint, d bigint, s string"
TYPES = pa.schema(
    [("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("v", pa.int64()), ("d", pa.int64()), ("s", pa.string())]
)
START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = {
    "o": [[(0, 0, 8, 4, "1"), (1, 1, 3, 2, "2")], [(2, 2, 6, 2, "3"), (3, 3, 9, 9, "4")]],
    "q": [[(10, 0, 1, 2, "5"), (11, 1, 2, 1, "6")], [(12, 2, 2, 0, "7"), (13, 3, 3, 3, "x")]],
}
"""By stream and batch: id, second, v, d, s. The second batch of q brings the zero and the text that is no number."""


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], SCHEMA)


def two(frame: DataFrame, **changes: Any) -> braid.Join:
    settings: dict[str, Any] = {"time": "ts", "window": "1 minute", **changes}
    return braid.join(braid.stream("o", frame, **settings), braid.stream("q", frame, **settings))


Build = Callable[[DataFrame], Any]
MISTAKES: dict[str, tuple[Build, type[errors.BraidError], list[str]]] = {
    "unknown column": (
        lambda df: two(df).on("o.w = q.v"),
        errors.UnknownColumnError,
        ["o.w", "id, ts, v, d, s"],
    ),
    "unknown column in a selection": (
        lambda df: two(df).select("o.id", "q.nothing AS n"),
        errors.UnknownColumnError,
        ["q.nothing", "id, ts, v, d, s"],
    ),
    "unknown stream": (lambda df: two(df).on("z.v = q.v"), errors.UnknownStreamError, ["z", "Streams: o, q"]),
    "ambiguous column": (lambda df: two(df).on("v > 1"), errors.AmbiguousColumnError, ["v", "o.v or q.v"]),
    "syntax": (lambda df: two(df).on("o.v = = 1"), errors.SyntaxProblem, ["o.v = = 1\n      ^", "near '='"]),
    "syntax in a selection": (lambda df: two(df).select("o.v +"), errors.SyntaxProblem, ["o.v +"]),
    "not a boolean": (lambda df: two(df).on("o.v + q.v"), errors.PredicateTypeError, ["bigint, not boolean"]),
    "not text": (lambda df: two(df).on(True), errors.QueryError, ["got bool", '.on("o.id = q.id")']),
    "nondeterministic": (lambda df: two(df).on("rand() < 0.5"), errors.NondeterministicError, ["rand()"]),
    "nondeterministic selection": (lambda df: two(df).select("uuid() AS u"), errors.NondeterministicError, ["uuid()"]),
    "subquery": (lambda df: two(df).on("o.v IN (SELECT 1)"), errors.UnsupportedExpressionError, ["a subquery"]),
    "aggregate": (lambda df: two(df).on("max(o.v) > 1"), errors.UnsupportedExpressionError, ["an aggregate"]),
    "duplicate names": (
        lambda df: braid.join(*(braid.stream(n, df, time="ts", window="1 minute") for n in ("o", "O"))),
        errors.StreamError,
        ["distinct names", "'O', 'o'"],
    ),
    "one stream": (
        lambda df: braid.join(braid.stream("o", df, time="ts", window="1 minute")),
        errors.QueryError,
        ["at least two streams, but got 1"],
    ),
    "a bare frame": (lambda df: braid.join(df, df), errors.QueryError, ["got DataFrame", "braid.stream("]),
    "bad name": (lambda df: braid.stream("o.x", df, time="ts", window="1 s"), errors.StreamError, ["'o.x' cannot be"]),
    "bad window": (
        lambda df: two(df, window="ten minutes"),
        errors.DurationError,
        ["The window of stream 'o' must be a duration, but is 'ten minutes'", '"10 minutes"'],
    ),
    "window of another kind": (lambda df: two(df, window=10), errors.WindowError, ["cannot be 10", "braid.unbounded"]),
    "negative window": (lambda df: two(df, window=timedelta(seconds=-1)), errors.DurationError, ["not be negative"]),
    "bad lateness": (lambda df: two(df, lateness="-5 s"), errors.DurationError, ["The lateness of stream 'o'"]),
    "bad idleness": (lambda df: two(df, idle_after="soon"), errors.DurationError, ["idle_after of stream 'o'"]),
    "auto without a bound": (
        lambda df: two(df, window="auto").on("o.v = q.v").plan(),
        errors.WindowError,
        ["auto", "o"],
    ),
    "no time column": (lambda df: two(df, time="when"), errors.StreamError, ["no column 'when'", "id, ts, v, d, s"]),
    "wrong time type": (
        lambda df: two(df, time="v"),
        errors.StreamError,
        ["o.v has type bigint", "timestamp or timestamp_ntz"],
    ),
    "times of two types": (
        lambda df: braid.join(
            braid.stream("o", df, time="ts", window="1 s"),
            braid.stream("q", df.selectExpr("CAST(ts AS timestamp_ntz) ts"), time="ts", window="1 s"),
        ),
        errors.StreamError,
        ["one type", "q.ts timestamp_ntz"],
    ),
    "a static stream written": (lambda df: two(df).writeStream, errors.QueryError, ["static", "Use .batch()"]),
    "a strategy that cannot": (
        lambda df: two(df).on("o.v < q.v").using(braid.Partitioned()).batch(),
        errors.StrategyError,
        ["Partitioned cannot run this join", "braid.Biclique()"],
    ),
    "a udf without columns": (lambda df: two(df).on(braid.udf(len)), errors.QueryError, ["needs the columns"]),
    "a udf of an unknown column": (
        lambda df: two(df).on(braid.udf(len, "o.w")),
        errors.UnknownColumnError,
        ["no column w"],
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_met_while_the_query_is_built(frame: DataFrame, case: str) -> None:
    build, kind, fragments = MISTAKES[case]
    with pytest.raises(kind) as caught:
        build(frame)
    message = str(caught.value)
    assert isinstance(caught.value, braid.BraidError)
    assert all(fragment in message for fragment in fragments), message


def test_streaming_and_static_do_not_mix(spark: SparkSession, frame: DataFrame) -> None:
    live = spark.readStream.format("rate").load()
    streams = [
        braid.stream("o", live, time="timestamp", window="1 s"),
        braid.stream("q", frame, time="ts", window="1 s"),
    ]
    with pytest.raises(errors.StreamError, match="not both; static here: q"):
        braid.join(*streams)
    with pytest.raises(errors.QueryError, match="needs static DataFrames"):
        braid.join(streams[0], braid.stream("p", live, time="timestamp", window="1 s")).batch()


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda writer: writer.format("parquet"), "needs a checkpointLocation"),
        (lambda writer: writer.option("checkpointLocation", "c"), "needs a path for its files"),
        (lambda writer: writer.format("memory"), "needs a name for its table"),
        (lambda writer: writer.outputMode("complete"), "does not fit a join"),
        (lambda writer: writer.options(checkpointLocation="c", path="p", compression="zip"), "'zip' is not known"),
    ],
)
def test_mistakes_of_writers(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any], fragment: str
) -> None:
    monkeypatch.chdir(tmp_path)
    live = spark.readStream.format("rate").load()
    writer = two(live, time="timestamp").writeStream
    with pytest.raises(errors.SinkError, match=fragment):
        change(writer).start()
    assert os.listdir(tmp_path) == []


class Table:
    """A query over two batches of files, in one directory, run again and again."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self._spark = spark
        self._place = place
        for name, batches in ROWS.items():
            (place / name).mkdir()
            for number, rows in enumerate(batches):
                columns = list(zip(*rows, strict=True))
                columns[1] = [START + timedelta(seconds=second) for second in columns[1]]
                path = place / name / f"{number}.parquet"
                arrays = [pa.array(column, field.type) for column, field in zip(columns, TYPES, strict=True)]
                pq.write_table(pa.table(arrays, TYPES), path)
                os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))

    def run(self, *predicates: Any, select: tuple[str, ...] = ()) -> braid.Run:
        streams = []
        for name in ROWS:
            reader = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            streams.append(braid.stream(name, reader.parquet(str(self._place / name)), time="ts", window="1 minute"))
        query = braid.join(*streams)
        for predicate in predicates:
            query = query.on(predicate)
        writer = query.select("o.id AS o", "q.id AS q", *select).writeStream.trigger(availableNow=True)
        options = {"checkpointLocation": str(self._place / "checkpoint"), "path": str(self._place / "output")}
        run = writer.options(**options).start()
        run.awaitTermination()
        return run

    def results(self) -> list[tuple[int, int]]:
        files = sorted((self._place / "output").glob("part-*.parquet"))
        tables = [pq.read_table(path) for path in files]
        return sorted(p for t in tables for p in zip(t["o"].to_pylist(), t["q"].to_pylist(), strict=True))


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    return Table(spark, tmp_path)


def every_pair(keep: Callable[[Any, Any], bool]) -> list[tuple[int, int]]:
    sides = [[row for batch in ROWS[name] for row in batch] for name in ("o", "q")]
    return sorted((o[0], q[0]) for o in sides[0] for q in sides[1] if keep(o, q))


@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        ("o.v / q.d > 2", "divided by zero"),
        ("bit_count(o.id) + o.v / q.d > 2 + bit_count(o.id)", "DIVIDE_BY_ZERO"),
    ],
    ids=["in Python", "in the JVM"],
)
def test_a_corrected_predicate_goes_on_with_the_failed_batch(table: Table, broken: str, cause: str) -> None:
    for _ in range(2):
        with pytest.raises(errors.PredicateError) as caught:
            table.run(broken)
        fragments = ["The join of o, q failed in step 1 (Spark batch 1)", cause, "Hint: "]
        assert all(fragment in str(caught.value) for fragment in fragments), caught.value
    before = table.results()
    assert before == every_pair(lambda o, q: o[0] < 2 and q[0] < 12 and o[2] / q[3] > 2)
    run = table.run("q.d <> 0 AND o.v / q.d > 2")
    assert [step["batchId"] for step in run.recentProgress] == [1]
    assert table.results() == every_pair(lambda o, q: q[3] != 0 and o[2] / q[3] > 2)


def test_a_guard_written_before_prevents_the_error(table: Table) -> None:
    table.run("q.d <> 0 AND o.v / q.d > 2")
    assert table.results() == every_pair(lambda o, q: q[3] != 0 and o[2] / q[3] > 2)


def raises_at_zero(v: pa.Array, d: pa.Array) -> Any:
    if 0 in d.to_pylist():
        raise ZeroDivisionError("a quote of nothing")
    return np.asarray(v) > 2 * np.asarray(d)


def too_short(v: pa.Array, d: pa.Array) -> Any:
    passed = np.asarray(v) > 2 * np.asarray(d)
    return passed[1:] if 0 in d.to_pylist() else passed


def numbers(v: pa.Array, d: pa.Array) -> Any:
    passed = np.asarray(v) > 2 * np.asarray(d)
    return pa.array(passed.astype(int)) if 0 in d.to_pylist() else passed


def a_list(v: pa.Array, d: pa.Array) -> Any:
    passed = np.asarray(v) > 2 * np.asarray(d)
    return passed.tolist() if 0 in d.to_pylist() else passed


def working(v: pa.Array, d: pa.Array) -> Any:
    return np.asarray(v) > 2 * np.asarray(d)


def renamed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function as it is after its body was corrected: under its old name."""

    def corrected(v: pa.Array, d: pa.Array) -> Any:
        return function(v, d)

    corrected.__name__ = name
    return corrected


@pytest.mark.parametrize(
    ("function", "fragments"),
    [
        (raises_at_zero, ["raised ZeroDivisionError: a quote of nothing", 'raise ZeroDivisionError("a quote']),
        (too_short, ["values for", "pairs", "one value for each candidate pair"]),
        (numbers, ["returned an Arrow array of type int64", "Return a boolean Arrow or NumPy array"]),
        (a_list, ["returned a list", "Return a boolean Arrow or NumPy array"]),
    ],
)
def test_a_python_predicate_that_misbehaves(table: Table, function: Callable[..., Any], fragments: list[str]) -> None:
    with pytest.raises(errors.PredicateError) as caught:
        table.run(braid.udf(function, "o.v", "q.d"))
    message = str(caught.value)
    named = [f"The join of o, q failed in step 1 (Spark batch 1): The Python predicate {function.__name__}", *fragments]
    assert all(fragment in message for fragment in named), message

    run = table.run(braid.udf(renamed(working, function.__name__), "o.v", "q.d"))
    assert [step["batchId"] for step in run.recentProgress] == [1]
    assert table.results() == every_pair(lambda o, q: o[2] > 2 * q[3])


def test_a_changed_query_is_refused(table: Table) -> None:
    table.run("o.v > q.v")
    with pytest.raises(errors.RestartError) as caught:
        table.run("o.v >= q.v")
    message = str(caught.value)
    assert "it differs from the one that wrote it" in message
    assert "o.v > q.v" in message
    assert "o.v >= q.v" in message
    with pytest.raises(errors.RestartError, match="selection x: is new"):
        table.run("o.v > q.v", select=("o.v AS x",))
