"""The settings Braid's own query is started with: chosen by the streams' columns, and gone afterwards."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from braid.spark.settings import (
    ADAPTIVE,
    BATCH_BYTES,
    BYTES,
    RECORDS,
    applied,
    quick_crossing,
    required_by,
)


@pytest.mark.parametrize(
    ("columns", "records"),
    [
        ("id long, ts timestamp", 50_000),
        ("id long, price decimal(38, 2), day date, seen boolean", 50_000),
        (", ".join(f"c{number} double" for number in range(1000)), BATCH_BYTES // 8000),
    ],
)
def test_rows_of_fixed_width_cross_by_number(spark: SparkSession, columns: str, records: int) -> None:
    chosen = quick_crossing([spark.createDataFrame([], columns)], "files")
    assert chosen == {RECORDS: str(records), BYTES: str(2**31 - 1)}


@pytest.mark.parametrize("column", ["name string", "raw binary", "tags array<long>", "place struct<x: double>"])
def test_rows_of_any_width_keep_sparks_limit(spark: SparkSession, column: str) -> None:
    narrow, wide = spark.createDataFrame([], "id long"), spark.createDataFrame([], f"id long, {column}")
    assert quick_crossing([narrow, wide], "files") == {}


def test_settings_last_as_long_as_the_start_and_yield_to_the_sessions(spark: SparkSession) -> None:
    spark.conf.set(RECORDS, "123")
    try:
        with applied(spark, {RECORDS: "50000", BYTES: "77"}, {}):
            assert spark.conf.get(RECORDS) == "123"
            assert spark.conf.get(BYTES) == "77"
        assert spark.conf.get(RECORDS) == "123"
        assert spark.conf.get(BYTES, None) is None
    finally:
        spark.conf.unset(RECORDS)


def test_required_settings_win_over_the_sessions_and_are_set_back(spark: SparkSession) -> None:
    spark.conf.set(RECORDS, "123")
    try:
        with applied(spark, {}, {RECORDS: "7", **required_by("shuffle")}):
            assert (spark.conf.get(RECORDS), spark.conf.get(ADAPTIVE)) == ("7", "false")
        assert (spark.conf.get(RECORDS), spark.conf.get(ADAPTIVE, None)) == ("123", None)
    finally:
        spark.conf.unset(RECORDS)
    assert required_by("files") == {}
