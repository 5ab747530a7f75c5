"""Python functions registered with Spark, in predicates and selections: they see the rows of the join alone."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import braid


def streams(spark: SparkSession) -> list[braid.Stream]:
    times = "timestamp_seconds(id) AS ts"
    left = spark.range(6).selectExpr("id", times)
    right = spark.range(6).selectExpr("id * 2 AS id", times)
    return [
        braid.stream("a", left, time="ts", window="100 seconds"),
        braid.stream("b", right, time="ts", window="100 seconds"),
    ]


def larger(left: int, right: int) -> bool:
    return left + 1 > right  # raises for NULLs, as most functions do


def label(left: int, right: int) -> str:
    return f"{left + 0}-{right + 0}"


def test_a_function_that_cannot_take_nulls_sees_none(spark: SparkSession, tmp_path: Path) -> None:
    spark.udf.register("larger", larger, "boolean")
    spark.udf.register("label", label, "string")
    query = braid.join(*streams(spark)).on("larger(a.id, b.id)").select("label(a.id, b.id) AS pair")
    expected = {f"{a}-{b}" for a in range(6) for b in range(0, 12, 2) if a + 1 > b}
    assert {row["pair"] for row in query.batch().collect()} == expected


def test_a_function_that_finds_nothing_still_ends_the_step(spark: SparkSession) -> None:
    """Then no row reaches the last function of the task."""
    spark.udf.register("larger", larger, "boolean")
    assert braid.join(*streams(spark)).on("larger(a.id, b.id + 1000)").batch().collect() == []
    assert (
        braid.join(*streams(spark))
        .on(
            "larger(a.id, b.id)",
        )
        .on("a.id = b.id + 1")
        .batch()
        .count()
        == 3
    )
