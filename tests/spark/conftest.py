"""Fixtures of the tests that run queries on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.oracle.feeds import Place


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    """Where a run keeps its checkpoint and writes its results."""
    from tests.oracle.feeds import Place

    return Place(spark, tmp_path)
