"""Random queries against Spark's own cross join, and DuckDB's where the expressions mean the same.

`make fuzz` runs any number of them, and shrinks what differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.budget import seeds
from tests.oracle.checks import check_recut, check_static, check_streaming

QUERIES_A_SEED = 9
STATIC, STREAMING, RECUT = seeds(1, 5), seeds(1, 7), seeds(1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", STATIC)
def test_static_joins_equal_the_cross_join(spark: SparkSession, seed: int) -> None:
    checked = check_static(spark, seed, QUERIES_A_SEED)
    assert checked.queries > QUERIES_A_SEED // 2, f"seed {seed}: the generator wrote too much that Spark refuses"


@pytest.mark.slow
@pytest.mark.parametrize("seed", STREAMING)
def test_streaming_joins_equal_the_cross_join(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_streaming(spark, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", RECUT)
def test_batches_may_be_cut_anywhere(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_recut(spark, seed, tmp_path)
