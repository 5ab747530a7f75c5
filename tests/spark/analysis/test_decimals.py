"""Braid's decimals against Spark's: the same values and types, and errors where Spark raises, in every mode.

Every expression is a column of one select over rows at the ends of their types, so few jobs compare many expressions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from braid.analysis import AnalyzedStream, Analyzer
from braid.errors import PredicateError
from braid.kernels.expressions.decimals import to_arrow
from braid.kernels.expressions.evaluate import Vector, can_raise, evaluate, to_vector
from braid.plan.expressions import columns_of, decimal_digits
from braid.plan.predicate import Output
from tests.unit.kernels.expressions.decimal_oracle import some_values

SEED = 20_262
ROWS = 100
DECIMALS = {"a": (10, 2), "b": (12, 4), "d": (20, 2), "e": (38, 18), "f": (38, 0), "g": (5, 5)}
OTHERS = {"t": "tinyint", "i": "int", "l": "bigint", "x": "double", "y": "float"}
ARROW = {"tinyint": pa.int8(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "float": pa.float32()}
EDGES: dict[str, list[Any]] = {
    "tinyint": [0, 1, -1, 127, -128, 5, None],
    "int": [0, 1, -1, 2**31 - 1, -(2**31), 100, None],
    "bigint": [0, 1, -1, 2**63 - 1, -(2**63), 10**18, -(10**10), None],
    "double": [0.0, -0.0, 1.5, -2.25, 1e20, -1e38, 1e-5, float("nan"), float("inf"), 0.1, None],
    "float": [0.0, 1.5, 0.1, -1e30, 3e-5, float("nan"), None],
}
TARGETS = [
    "decimal(10,2)", "decimal(12,4)", "decimal(9,0)", "decimal(18,18)", "decimal(19,0)", "decimal(38,0)",
    "decimal(38,20)", "decimal(38,37)", "decimal(3,1)", "tinyint", "smallint", "int", "bigint", "float", "double",
]  # fmt: skip
MIXED = """
o.a + 1
o.a - 1000000000000L
o.a * 2
o.a / 3
o.a / 0.125
o.a % 0.3
o.d + 12345678901234567890.12BD
o.f + 99999999999999999999999999999999999999BD
o.a + 1e3BD
1e-3BD * q.b
-o.a - -0.5
abs(o.a - q.b) <= 0.05
abs(o.a - q.a) <= 0.055
abs(o.e - q.e) < 1
abs(o.a - q.a) <= q.b / 100
o.a BETWEEN q.b - 1 AND q.b + 1
o.a NOT BETWEEN q.d AND 10
o.a + o.i > q.l
o.a * o.l < q.d
o.b - q.i
o.l - q.b
o.t * q.a
o.a * q.a * q.t
o.a * q.b * q.a
o.a < q.x
o.e = q.x
o.a = q.y
o.d <=> q.y
o.a + q.x
o.f - q.y
o.a = '1.5'
o.a IN (1, 2.5, q.b)
o.a NOT IN (0, 99999999.99, NULL)
o.e IN (0, 1e-18BD, q.e)
o.a IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99999999.99)
o.a = q.b
o.e <=> q.e
o.f >= q.d
o.f = q.e
if(o.a > q.a, o.a, q.d)
coalesce(o.e, q.a, 0)
coalesce(o.d + q.d, q.f)
nullif(o.a, q.a)
greatest(o.a, q.e, q.f)
least(o.d, q.a)
CASE WHEN o.a > 0 THEN o.b WHEN q.a > 0 THEN q.b ELSE 0 END
q.a <> 0 AND o.a / q.a > 2
q.a = 0 OR o.a % q.a < 1
o.f + q.f IS NULL
o.a <=> q.i
o.e > NULL
""".strip().splitlines()
LEFT_TO_SPARK = ["o.e * q.e", "o.f + q.e", "o.e / q.e", "CAST(o.e AS int)", "round(o.a, -1)", "o.d % q.f"]


def expressions() -> list[str]:
    columns = list(DECIMALS)
    binary = [f"o.{x} {o} q.{y}" for x in columns for y in columns for o in "+-*/%<"]
    unary = ["-o.{}", "abs(q.{})", "round(o.{})", "round(q.{}, 1)", "bround(o.{}, 2)", "ceil(q.{})", "floor(o.{})",
             "ceil(o.{}, 1)", "floor(q.{}, 3)"]  # fmt: skip
    casts = [f"CAST(o.{x} AS {target})" for x in columns for target in TARGETS]
    casts += [f"CAST(o.{x} AS {target})" for x in ("t", "i", "l") for target in TARGETS[:9]]
    return [*MIXED, *binary, *(form.format(column) for form in unary for column in columns), *casts]


def rows() -> pa.Table:
    generator, columns = random.Random(SEED), {}
    for stream in "oq":
        for name, digits in DECIMALS.items():
            columns[f"{stream}.{name}"] = pa.array(some_values(generator, digits, ROWS), pa.decimal128(*digits))
        for name, type in OTHERS.items():
            values = [generator.choice(EDGES[type]) for _ in range(ROWS)]
            columns[f"{stream}.{name}"] = pa.array(values, ARROW[type])
    return pa.table(columns)


def types() -> dict[str, str]:
    return {**{name: f"decimal({p},{s})" for name, (p, s) in DECIMALS.items()}, **OTHERS}


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    fields = ", ".join(f"`{stream}.{name}` {type}" for stream in "oq" for name, type in types().items())
    masks = "".join(f", `{name}` boolean" for name in table.column_names if name.startswith("mask"))
    return spark.createDataFrame(table, StructType.fromDDL(fields + masks))


def analyzed(spark: SparkSession, texts: list[str]) -> list[Output]:
    schema = StructType.fromDDL("ts timestamp, " + ", ".join(f"{name} {type}" for name, type in types().items()))
    analyzer = Analyzer(spark, [AnalyzedStream(name, schema, "ts") for name in "oq"])
    return list(analyzer.selection([f"{text} AS x{number}" for number, text in enumerate(texts)]))


def listed(vector: Vector, type: str, length: int) -> list[Any]:
    """The values of a vector, floating numbers by their bits; None where NULL."""
    values = np.broadcast_to(vector.values, (length,))
    nulls = None if vector.valid is None else ~np.broadcast_to(vector.valid, (length,))
    digits = decimal_digits(type)
    if digits is not None:
        return list(to_arrow(values, nulls, pa.decimal128(*digits)).to_pylist())
    return bits(pa.array(values, mask=nulls))


def bits(column: pa.Array) -> list[Any]:
    if pa.types.is_floating(column.type):
        return [None if value is None else value.hex() for value in column.to_pylist()]
    return list(column.to_pylist())


def in_braid(output: Output, table: pa.Table) -> list[Any]:
    assert output.expression is not None
    columns = {c.name: to_vector(table[c.name], c.type) for c in columns_of(output.expression)}
    return listed(evaluate(output.expression, columns.__getitem__), output.expression.type, table.num_rows)


def in_spark(frame: DataFrame, sqls: list[str]) -> list[list[Any]]:
    found: list[list[Any]] = []
    for start in range(0, len(sqls), 150):
        chunk = sqls[start : start + 150]
        result = frame.selectExpr(*(f"{sql} AS c{number}" for number, sql in enumerate(chunk))).toArrow()
        found.extend(bits(column.combine_chunks()) for column in result.columns)
    return found


@contextmanager
def settings(spark: SparkSession, **changed: str) -> Iterator[None]:
    """Settings of Spark's SQL for a while, without code generation, which would take most of the time."""
    changed = {"codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN", **changed}
    names = {name: f"spark.sql.{name.replace('_', '.')}" for name in changed}
    for name, value in changed.items():
        spark.conf.set(names[name], value)
    try:
        yield
    finally:
        for name in names.values():
            spark.conf.unset(name)


def differences(outputs: list[Output], ours: list[list[Any]], theirs: list[list[Any]]) -> list[Any]:
    return [
        (output.sql, row, mine, other)
        for output, found, expected in zip(outputs, ours, theirs, strict=True)
        for row, (mine, other) in enumerate(zip(found, expected, strict=True))
        if mine != other
    ]


def compared(spark: SparkSession, texts: list[str]) -> list[tuple[Output, list[int]]]:
    """The outputs that Braid evaluates, each with the rows on which it raises; on all others Spark has its values."""
    table = rows()
    outputs = [output for output in analyzed(spark, texts) if output.expression is not None]
    ours, sqls, failing = [], [], []
    for number, output in enumerate(outputs):
        results = by_row(output, table) if can_raise(output.expression) else in_braid(output, table)
        failing.append([row for row, result in enumerate(results) if isinstance(result, PredicateError)])
        ours.append([None if isinstance(result, PredicateError) else result for result in results])
        if failing[-1]:
            mask = pa.array([row not in failing[-1] for row in range(ROWS)])
            table = table.append_column(f"mask{number}", mask)
        sqls.append(f"if(mask{number}, {output.sql}, NULL)" if failing[-1] else output.sql)
    wrong = differences(outputs, ours, in_spark(frame_of(spark, table), sqls))
    assert not wrong, f"seed {SEED}: {len(wrong)} {wrong[:10]}"
    return list(zip(outputs, failing, strict=True))


def test_values_are_sparks_and_null_where_they_overflow(spark: SparkSession) -> None:
    with settings(spark, ansi_enabled="false"):
        found = compared(spark, expressions())
        assert len(found) >= 250
        raising = [(output, failing) for output, failing in found if failing]
        assert {output.sql[0] for output, _ in raising} == {"-", "a"}, "only signs raise without ANSI mode"
        assert_raises(spark, *raising[0])


def test_values_without_loss_of_precision(spark: SparkSession) -> None:
    with settings(spark, ansi_enabled="false", decimalOperations_allowPrecisionLoss="false"):
        assert len(compared(spark, [f"o.{x} {o} q.{y}" for x in "def" for y in "ade" for o in "+*/"])) >= 7


def test_errors_are_raised_where_spark_raises(spark: SparkSession) -> None:
    """In ANSI mode: row by row the same values or an error, and Spark raises on a row that Braid raises on."""
    with settings(spark, ansi_enabled="true"):
        texts = [text for text in expressions() if "o.f" in text or "o.d" in text or text in MIXED]
        raising = [(output, failing) for output, failing in compared(spark, texts) if failing]
        assert len(raising) >= 15
        for output, failing in raising[::2]:
            assert_raises(spark, output, failing)


def assert_raises(spark: SparkSession, output: Output, failing: list[int]) -> None:
    with pytest.raises(PySparkException):
        frame_of(spark, rows().slice(failing[-1], 1)).selectExpr(output.sql).collect()


def by_row(output: Output, table: pa.Table) -> list[Any]:
    results: list[Any] = []
    for row in range(table.num_rows):
        try:
            results += in_braid(output, table.slice(row, 1))
        except PredicateError as error:
            results.append(error)
    return results


def test_what_is_not_proven_is_left_to_spark_with_its_reason(spark: SparkSession) -> None:
    assert [output.expression for output in analyzed(spark, LEFT_TO_SPARK)] == [None] * len(LEFT_TO_SPARK)
    schema = StructType.fromDDL("ts timestamp, " + ", ".join(f"{name} {type}" for name, type in types().items()))
    analyzer = Analyzer(spark, [AnalyzedStream(name, schema, "ts") for name in "oq"])
    (product,) = analyzer.predicate("o.e * q.e > 1")
    assert product.in_jvm
    assert product.jvm_reason == "no exact multiply of decimal(38,18) and decimal(38,18) in Python"
    (band,) = analyzer.predicate("abs(o.a - q.a) <= 0.05")
    assert not band.in_jvm
    assert not band.raises
