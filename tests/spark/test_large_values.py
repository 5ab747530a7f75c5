"""Values of 100 KB, in numbers whose bytes no Arrow array could hold together."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import braid


@pytest.mark.slow
def test_pairs_of_large_values(spark: SparkSession, tmp_path: Path) -> None:
    """160 x 160 pairs of 100 KB each way: 5 GB that pass a predicate on them, of which a few bytes are kept."""
    rows = spark.range(160).selectExpr(
        "id", "timestamp_seconds(1704067200 + id) ts", "repeat(char(97 + id % 26), 100000) v"
    )
    sides = [braid.stream(name, rows, time="ts", window="1 hour") for name in ("a", "b")]
    query = braid.join(*sides).on("a.v <= b.v AND length(b.v) = 100000")
    found = query.select("a.id AS a", "b.id AS b", "length(a.v) AS n").batch()
    expected = sum(a % 26 <= b % 26 for a in range(160) for b in range(160))
    assert found.selectExpr("count(*)", "min(n)").collect() == [(expected, 100_000)]
