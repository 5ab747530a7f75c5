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


def adds(*values: int) -> bool:
    return sum(values) >= 0  # raises for NULLs


def divides(left: int, right: int) -> bool:
    return left // right >= 0  # raises for 0


def test_a_function_sees_only_rows_whose_streams_are_joined(spark: SparkSession) -> None:
    """In a join of three, rows of the other probe orders have no row of one of its streams yet."""
    spark.udf.register("adds", adds, "boolean")
    third = braid.stream("c", spark.range(3).selectExpr("id", "timestamp_seconds(id) AS ts"), time="ts", window="9 s")
    query = braid.join(*streams(spark), third).on("adds(a.id, b.id)").on("adds(b.id, c.id) AND a.id = c.id")
    rows = query.select("a.id AS a", "b.id AS b", "c.id AS c").batch().collect()
    assert {tuple(row) for row in rows} == {(a, b, a) for a in range(3) for b in range(0, 12, 2)}


def test_a_function_sees_only_rows_that_passed_the_conditions_before_it(spark: SparkSession) -> None:
    """Guards that only the JVM evaluates, and a function that guards another one."""
    spark.udf.register("divides", divides, "boolean")
    spark.udf.register("larger", larger, "boolean")
    query = braid.join(*streams(spark)).select("a.id AS a", "b.id AS b")
    for guard in ("bit_count(b.id) > 0", "url_decode(concat('', b.id)) <> '0'", "larger(b.id, 1)"):
        rows = query.on(f"{guard} AND divides(a.id, b.id)").batch().collect()
        assert {tuple(row) for row in rows} == {(a, b) for a in range(6) for b in range(2, 12, 2)}, guard
