"""Functions that workers evaluate, against Spark: the same bits and the same NULLs for every value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from braid.analysis import AnalyzedStream, Analyzer
from braid.errors import PredicateError
from braid.kernels.expressions.evaluate import evaluate, to_vector
from braid.plan.expressions import columns_of
from braid.plan.predicate import Output
from tests.spark.analysis.doubles import hard_doubles

SEED = 20_262

OF_ONE = (
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "radians", "degrees", "cbrt", "exp", "expm1", "ln", "log", "log2",
    "log10", "log1p", "sign", "signum", "rint", "sqrt", "abs",
)  # fmt: skip
OF_TWO = ("atan2", "power", "pow", "hypot", "log", "greatest", "least")
OF_DOUBLES = [
    *(f"{name}(o.x)" for name in OF_ONE),
    *(f"{name}(o.x, q.x)" for name in OF_TWO),
    "pow(o.x, 2)",
    "pow(o.x, 0.5D)",
    "pow(o.x, -1)",
    "pow(2, q.x)",
    "pow(o.x, 3.0D)",
    "log(10, o.x)",
    "greatest(o.x, q.x, 0)",
    "least(1, o.x, NULL, q.x)",
    "o.x % 2.5D",
    "sign(o.f)",
    "exp(o.f)",
    "power(o.f, q.i)",
    "hypot(o.i, q.i)",
    "least(o.f, q.f)",
    "o.i & q.i",
    "o.i | 5",
    "o.i ^ q.i",
    "~o.i",
    "greatest(o.i, q.i)",
    "round(o.i)",
    "bround(o.i, 2)",
    "floor(o.i)",
    "ceil(if(abs(o.f) < 1e9, o.f, 7.5f))",
    "floor(if(abs(o.x) < 1e18, o.x, 0.5))",
    "ceil(if(abs(o.x) < 1e18, o.x, -0.5))",
    "exp(-pow(o.x - q.x, 2) / 2)",
    "log(greatest(o.x, q.x) / 3)",
]


def analyzer_of(spark: SparkSession, ddl: str) -> Analyzer:
    return Analyzer(spark, [AnalyzedStream(name, StructType.fromDDL(ddl), "ts") for name in ("o", "q")])


def spark_values(spark: SparkSession, table: pa.Table, outputs: Sequence[Output]) -> list[pa.Array]:
    frame = spark.createDataFrame(table, schema_of(table))
    found = frame.selectExpr(*(f"{output.sql} AS c{n}" for n, output in enumerate(outputs)))
    return [column.combine_chunks() for column in found.toArrow().columns]


def schema_of(table: pa.Table) -> StructType:
    fields = [StructField(field.name, from_arrow_type(field.type, prefer_timestamp_ntz=True)) for field in table.schema]
    return StructType(fields)


def braid_values(table: pa.Table, output: Output) -> tuple[Any, np.ndarray]:
    """The values and where they are not NULL, for every row."""
    assert output.expression is not None, output.sql
    columns = {c.name: to_vector(table[c.name], c.type) for c in columns_of(output.expression)}
    vector = evaluate(output.expression, columns.__getitem__)
    valid = np.broadcast_to(True if vector.valid is None else vector.valid, (table.num_rows,))
    if isinstance(vector.values, pa.Array | pa.Scalar):
        return vector.values, valid
    return np.broadcast_to(vector.values, (table.num_rows,)), valid


def wrong_rows(table: pa.Table, output: Output, theirs: pa.Array) -> list[dict[str, Any]]:
    """Rows where the values differ in a bit, apart from those of NaN, or only one is NULL."""
    ours, valid = braid_values(table, output)
    known = theirs.is_valid().to_numpy(zero_copy_only=False)
    if isinstance(ours, pa.Array | pa.Scalar):
        same = np.array([mine == their for mine, their in zip(ours.to_pylist(), theirs.to_pylist(), strict=True)])
    else:
        expected = to_vector(theirs, output_type(output)).values
        assert ours.dtype == expected.dtype, (output.sql, ours.dtype, expected.dtype)
        width = np.dtype(f"i{ours.dtype.itemsize}")
        same = np.ascontiguousarray(ours).view(width) == np.ascontiguousarray(expected).view(width)
        if ours.dtype.kind == "f":
            same |= np.isnan(ours) & np.isnan(expected)
    bad = np.flatnonzero((known != valid) | (known & ~same))
    shown = table.take(bad[:3])
    values = [dict(zip(table.column_names, row, strict=True)) for row in zip(*map(plain, shown.columns), strict=True)]
    return [
        {**row, "braid": ours[int(n)], "spark": plain(theirs)[int(n)]} for row, n in zip(values, bad[:3], strict=True)
    ]


def plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values as Python's, times of any year as numbers."""
    width = {pa.date32(): pa.int32()}.get(column.type, pa.int64())
    return list((column.cast(width) if pa.types.is_temporal(column.type) else column).to_pylist())


def output_type(output: Output) -> str:
    assert output.expression is not None
    return output.expression.type


def compare(spark: SparkSession, ddl: str, texts: Sequence[str], table: pa.Table) -> None:
    outputs = analyzer_of(spark, ddl).selection([f"{text} AS c{n}" for n, text in enumerate(texts)])
    left_to_the_jvm = [text for text, output in zip(texts, outputs, strict=True) if output.expression is None]
    assert left_to_the_jvm == []
    theirs = spark_values(spark, table, outputs)
    wrong = {
        text: rows
        for text, output, column in zip(texts, outputs, theirs, strict=True)
        if (rows := wrong_rows(table, output, column))
    }
    assert wrong == {}, f"seed {SEED}"


def with_nulls(values: np.ndarray, generator: np.random.Generator, type: pa.DataType) -> pa.Array:
    return pa.array(values, type, mask=generator.random(len(values)) < 0.02)


def test_functions_of_numbers(spark: SparkSession) -> None:
    generator = np.random.default_rng(SEED)
    values = hard_doubles(3000, SEED)
    columns = {}
    with np.errstate(all="ignore"):
        for name in ("o", "q"):
            doubles = values if name == "o" else generator.permutation(values)
            columns[f"{name}.x"] = with_nulls(doubles, generator, pa.float64())
            columns[f"{name}.f"] = with_nulls(
                generator.permutation(doubles).astype(np.float32), generator, pa.float32()
            )
            whole = generator.choice([0, 1, -1, 2, 3, 63, -64, 2**31 - 1, -(2**31), 12345], len(values))
            columns[f"{name}.i"] = with_nulls(whole.astype(np.int32), generator, pa.int32())
    ddl = "x double, f float, i int, ts timestamp"
    compare(spark, ddl, OF_DOUBLES, pa.table(columns))


def raises_here(table: pa.Table, output: Output) -> bool:
    try:
        braid_values(table, output)
    except PredicateError:
        return True
    return False


def raises_in_spark(spark: SparkSession, table: pa.Table, output: Output) -> bool:
    try:
        spark_values(spark, table, [output])
    except ArithmeticException:
        return True
    return False


@pytest.mark.parametrize("ansi", [True, False])
def test_whole_numbers_beyond_64_bits(spark: SparkSession, ansi: bool) -> None:
    """In ANSI mode they raise where Spark does; otherwise they are the ends of the range."""
    limits = [2.0**63, np.nextafter(2.0**63, 0), -(2.0**63), np.nextafter(-(2.0**63), -np.inf), np.nan, np.inf, -np.inf]
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        table = pa.table({"o.x": limits, "q.x": limits})
        (output,) = analyzer_of(spark, "x double, ts timestamp").selection(["floor(o.x) AS c"])
        (conjunct,) = analyzer_of(spark, "x double, ts timestamp").predicate("ceil(o.x) > q.x")
        assert conjunct.raises is ansi
        if not ansi:
            assert wrong_rows(table, output, spark_values(spark, table, [output])[0]) == []
            return
        for row in range(len(limits)):
            one = table.slice(row, 1)
            assert raises_here(one, output) is raises_in_spark(spark, one, output), limits[row]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
