"""Braid's evaluator against Spark's own: the same truth values, the same errors, row by row."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from braid import errors
from braid.analysis import AnalyzedStream, Analyzer
from braid.errors import PredicateError
from braid.kernels.expressions.evaluate import Vector, evaluate, is_true, to_vector
from braid.plan.expressions import columns_of
from braid.plan.predicate import Conjunct
from tests.spark.analysis.expressions import HAND_WRITTEN, SEED, generated_expressions, listed_expressions

COLUMNS = """b tinyint, s smallint, i int, l bigint, f float, d double, bo boolean, str string, bin binary,
    ts timestamp, n timestamp_ntz, dt date, dec decimal(10,2), big decimal(25,3)"""
ROWS = 240


def analyzer_of(spark: SparkSession) -> Analyzer:
    schema = StructType.fromDDL(COLUMNS)
    return Analyzer(spark, [AnalyzedStream("o", schema, "ts"), AnalyzedStream("q", schema, "ts")])


def wild_values(type: str, generator: random.Random) -> list[Any]:
    """Extremes and ordinary values of a type."""
    if type in ("tinyint", "smallint", "int", "bigint"):
        top = 2 ** ({"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}[type] - 1)
        return [0, 1, -1, 2, 3, 7, -7, 100, top - 1, -top, top // 2, 11, -12]
    if type in ("float", "double"):
        largest, smallest = (
            (3.4028234663852886e38, 1.401298464324817e-45) if type == "float" else (1.7976931348623157e308, 5e-324)
        )
        special = [0.0, -0.0, 1.0, -1.0, 2.5, float("nan"), float("inf"), -float("inf"), 2.0, 3.0, 0.5, 100.0]
        return [*special, largest, -largest, smallest, float(np.float32(generator.gauss(0, 1)))]
    epoch = datetime.datetime(1970, 1, 1)
    return {
        "boolean": [True, False],
        "string": ["", "a", "A", "ß", "z", "é", "😀", "\uffee", "ab", "abc", "1", "a b"],
        "binary": [b"", b"\x00", b"\xff", b"a", b"ab"],
        "timestamp_ntz": (times := [epoch + datetime.timedelta(seconds=s, microseconds=m)
                                    for s in (0, 1, -1, 5, 86_400, 10**9, -(10**10)) for m in (0, 1, 999_999)]),
        "timestamp": [time.replace(tzinfo=datetime.UTC) for time in times],
        "date": [datetime.date(*day) for day in ((1970, 1, 1), (1970, 1, 2), (2001, 9, 9), (1583, 1, 1))],
        "decimal(10,2)": [Decimal(x) for x in ("0", "1", "-1", "2.50", "99999999.99", "-99999999.99", "0.01", "3")],
        "decimal(25,3)": [Decimal(x) for x in ("0.000", "1.000", "-1.000", "1e21", "2.500")],
    }[type]  # fmt: skip


ARROW_TYPES = {
    "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(),
    "double": pa.float64(), "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(25,3)": pa.decimal128(25, 3),
}  # fmt: skip


@cache
def random_rows() -> pa.Table:
    """Columns of two streams, full of extremes and NULLs."""
    generator, columns = random.Random(SEED), {}
    for name in ("o", "q"):
        for field in StructType.fromDDL(COLUMNS).fields:
            type = field.dataType.simpleString()
            pool = [*wild_values(type, generator), None]
            values = [generator.choice(pool) for _ in range(ROWS)]
            columns[f"{name}.{field.name}"] = pa.array(values, ARROW_TYPES[type])
    return pa.table(columns)


def column_lookup(table: pa.Table, conjunct: Conjunct) -> dict[str, Vector]:
    assert conjunct.expression is not None
    return {column.name: to_vector(table[column.name], column.type) for column in columns_of(conjunct.expression)}


def sliced(vector: Vector, row: int) -> Vector:
    valid = None if vector.valid is None else vector.valid[row : row + 1]
    return Vector(vector.values[row : row + 1], valid)


def three_valued(vector: Vector, rows: int) -> list[bool | None]:
    values = np.broadcast_to(np.asarray(vector.values), (rows,))
    valid = np.broadcast_to(True if vector.valid is None else vector.valid, (rows,))
    return [bool(value) if known else None for value, known in zip(values, valid, strict=True)]


@cache
def braid_by_row(conjunct: Conjunct) -> list[Any]:
    """The result of each random row alone: True, False, None, or the error."""
    columns, results = column_lookup(random_rows(), conjunct), []
    assert conjunct.expression is not None
    for row in range(ROWS):
        rows = {name: sliced(vector, row) for name, vector in columns.items()}
        try:
            results.extend(three_valued(evaluate(conjunct.expression, rows.__getitem__), 1))
        except PredicateError as error:
            results.append(error)
    return results


def braid_at_once(conjunct: Conjunct, table: pa.Table) -> list[bool | None] | None:
    columns = column_lookup(table, conjunct)
    assert conjunct.expression is not None
    try:
        return three_valued(evaluate(conjunct.expression, columns.__getitem__), table.num_rows)
    except PredicateError:
        return None


def in_spark(frame: DataFrame, expressions: Sequence[str]) -> list[list[bool | None]]:
    """The columns of many boolean expressions, in jobs of moderate size."""
    results: list[list[bool | None]] = []
    for start in range(0, len(expressions), 60):
        chunk = expressions[start : start + 60]
        rows = frame.selectExpr(*(f"({text}) AS c{index}" for index, text in enumerate(chunk))).toArrow()
        results.extend(column.to_pylist() for column in rows.columns)
    return results


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    fields = ", ".join(
        f"`{name}.{field.name}` {field.dataType.simpleString()}"
        for name in ("o", "q")
        for field in StructType.fromDDL(COLUMNS).fields
    )
    masks = "".join(f", `{name}` boolean" for name in table.column_names if name.startswith("mask"))
    return spark.createDataFrame(table, StructType.fromDDL(fields + masks))


@pytest.fixture(scope="module", params=["ansi", "legacy"])
def analyzed(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[list[Conjunct]]:
    """Conjuncts of every listed and generated expression, in both arithmetic modes."""
    spark.conf.set("spark.sql.ansi.enabled", str(request.param == "ansi").lower())
    analyzer = analyzer_of(spark)
    texts = [*listed_expressions(), *generated_expressions(60)] if request.param == "ansi" else HAND_WRITTEN
    found = [conjunct for text in texts for conjunct in analyzed_or_nothing(analyzer, text)]
    yield list({conjunct.sql: conjunct for conjunct in found}.values())
    spark.conf.unset("spark.sql.ansi.enabled")


def analyzed_or_nothing(analyzer: Analyzer, text: str) -> tuple[Conjunct, ...]:
    """The conjuncts, or none for a generated text whose types do not fit."""
    try:
        return analyzer.predicate(text)
    except errors.QueryError as error:
        if "type mismatch" in str(error):
            return ()
        raise


def test_braid_agrees_with_spark_and_raises_where_spark_does(spark: SparkSession, analyzed: list[Conjunct]) -> None:
    """Row by row: the same truth value, or an error in both; safe conjuncts never raise in Spark."""
    table = random_rows()
    ours = {c.sql: braid_by_row(c) for c in analyzed if c.expression is not None}
    safe = [c.sql for c in analyzed if not c.raises]
    raising = [sql for sql in ours if sql not in set(safe)]
    for index, sql in enumerate(raising):
        mask = pa.array([not isinstance(result, Exception) for result in ours[sql]])
        table = table.append_column(f"mask{index}", mask)
    guarded = [f"if(mask{index}, {sql}, NULL)" for index, sql in enumerate(raising)]
    theirs = dict(zip([*safe, *raising], in_spark(frame_of(spark, table), [*safe, *guarded]), strict=True))
    wrong = [
        (sql, row, result, theirs[sql][row])
        for sql, results in ours.items()
        for row, result in enumerate(results)
        if not isinstance(result, Exception) and result is not theirs[sql][row]
    ]
    assert not wrong, f"seed {SEED}: {wrong[:20]}"
    assert len(ours) >= 150


def test_where_braid_raises_spark_raises(spark: SparkSession, analyzed: list[Conjunct]) -> None:
    table, silent = random_rows(), []
    # Compiling hundreds of one-row plans would take most of the time.
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    for conjunct in analyzed:
        if conjunct.expression is None or not conjunct.raises:
            continue
        bad = [row for row, result in enumerate(braid_by_row(conjunct)) if isinstance(result, Exception)]
        if bad and not raises_in_spark(frame_of(spark, table.slice(bad[0], 1)), conjunct.sql):
            silent.append((conjunct.sql, bad[0]))
    spark.conf.unset("spark.sql.codegen.factoryMode")
    spark.conf.unset("spark.sql.codegen.wholeStage")
    assert not silent, f"seed {SEED}: {silent}"


def raises_in_spark(frame: DataFrame, sql: str) -> bool:
    try:
        frame.selectExpr(sql).collect()
    except PySparkException:
        return True
    return False


def test_all_rows_at_once_equal_each_row_alone(analyzed: list[Conjunct]) -> None:
    table = random_rows()
    for conjunct in analyzed:
        if conjunct.expression is None:
            continue
        alone, together = braid_by_row(conjunct), braid_at_once(conjunct, table)
        failed = any(isinstance(result, Exception) for result in alone)
        assert together == (None if failed else alone), conjunct.sql


def test_is_true_is_what_a_filter_keeps(spark: SparkSession, analyzed: list[Conjunct]) -> None:
    table = random_rows()
    conjunct = next(c for c in analyzed if c.sql == "`o.i` <= `q.i`" or c.sql == "abs(`o.d` - `q.d`) <= 0.05")
    assert conjunct.expression is not None
    kept = is_true(evaluate(conjunct.expression, column_lookup(table, conjunct).__getitem__))
    assert int(kept.sum()) == frame_of(spark, table).filter(conjunct.sql).count()


def test_intervals_under_a_day_ignore_clock_changes(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    try:
        (conjunct,) = analyzer_of(spark).predicate("o.ts + INTERVAL '23:30' HOUR TO MINUTE >= q.ts")
        start = datetime.datetime(2021, 10, 30, 22, tzinfo=datetime.UTC)
        times = [start + datetime.timedelta(minutes=30 * step) for step in range(100)]
        pairs = [(left, right) for left in times for right in times]
        table = pa.table({
            "o.ts": pa.array([left for left, _ in pairs], ARROW_TYPES["timestamp"]),
            "q.ts": pa.array([right for _, right in pairs], ARROW_TYPES["timestamp"]),
        })  # fmt: skip
        frame = spark.createDataFrame(table, StructType.fromDDL("`o.ts` timestamp, `q.ts` timestamp"))
        (theirs,) = in_spark(frame, [conjunct.sql])
        assert braid_at_once(conjunct, table) == theirs
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
