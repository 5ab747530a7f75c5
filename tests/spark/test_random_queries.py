"""Random queries against Spark's own cross join, and DuckDB's where the expressions mean the same.

The number in brackets is the seed. `BRAID_SEED=1000 pytest tests/spark/test_random_queries.py` runs the seeds from
1000 on; `make fuzz` runs any number of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.oracle.checks import check_recut, check_static, check_streaming

FIRST = int(os.environ.get("BRAID_SEED", "1"))
QUERIES_A_SEED = 9
STATIC_SEEDS = range(FIRST, FIRST + 12)
STREAMING_SEEDS = range(FIRST, FIRST + 15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", STATIC_SEEDS)
def test_static_joins_equal_the_cross_join(spark: SparkSession, seed: int) -> None:
    checked = check_static(spark, seed, QUERIES_A_SEED)
    assert checked.queries > QUERIES_A_SEED // 2, f"seed {seed}: the generator wrote too much that Spark refuses"


@pytest.mark.slow
@pytest.mark.parametrize("seed", STREAMING_SEEDS)
def test_streaming_joins_equal_the_cross_join(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_streaming(spark, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", STREAMING_SEEDS[:5])
def test_batches_may_be_cut_anywhere(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_recut(spark, seed, tmp_path)
