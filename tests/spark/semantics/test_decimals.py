"""Joins on decimals: found by band in the workers, with the rows of Spark's own join."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from braid.errors import PredicateError
from tests.oracle.feeds import at
from tests.spark.semantics.pairs import pair, rows_of

DDL = "id bigint, ts timestamp, m decimal(10,2), w decimal(38,18)"
SEED = 20_263


def some_rows(spark: SparkSession, seed: int) -> DataFrame:
    chance = random.Random(seed)
    rows = [
        (number, at(0), Decimal(chance.randint(-300, 300)).scaleb(-2), Decimal(chance.randint(-40, 40)).scaleb(-1))
        for number in range(80)
    ]
    return spark.createDataFrame([*rows, (98, at(0), None, None), (99, at(0), Decimal(1), Decimal(10**19))], DDL)


@pytest.mark.parametrize(
    ("predicate", "access"),
    [
        ("abs(o.m - q.m) <= 0.05", "band"),
        ("abs(o.m - q.m) <= 0.055 AND o.m * 2 > q.m / 3", "band"),
        ("o.w BETWEEN q.w - 0.25 AND q.w + q.m % 1", "band"),
        ("o.w = q.w AND round(o.m, 1) <= q.m", "equality"),
    ],
)
def test_a_join_on_decimals_has_sparks_rows_and_needs_no_jvm(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], predicate: str, access: str
) -> None:
    left, right = some_rows(spark, SEED), some_rows(spark, SEED + 1)
    query = pair(left, right).on(predicate)
    query.explain("physical")
    text = capsys.readouterr().out
    assert f"by {access}" in text
    assert "JVM" not in text
    joined = left.alias("o").join(right.alias("q"), on=None, how="cross").where(predicate)
    expected = rows_of(joined.selectExpr("o.id", "q.id"))
    assert expected
    assert rows_of(query.batch()) == expected


def test_an_overflow_of_long_decimals_ends_the_run_and_explain_names_what_the_jvm_computes(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    large = spark.createDataFrame([(1, at(0), Decimal(10**38 - 1))], "id bigint, ts timestamp, z decimal(38,0)")
    with pytest.raises(PredicateError, match=r"o.z \+ q.z <= 5.*did not fit"):
        pair(large, large).on("o.z + q.z <= 5").batch().collect()
    pair(large, large).on("o.z * q.z <= 5").explain("physical")
    assert "then in the JVM (no exact multiply of decimal(38,0) and decimal(38,0) in Python)" in capsys.readouterr().out
