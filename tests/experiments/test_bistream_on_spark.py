"""The experiments' runs on Spark, tiny: they find what DuckDB finds, and say how fast, and how late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.workloads.tpch import generator
from experiments.bistream import SIZES
from experiments.bistream.aggregation import SUMS
from experiments.bistream.timing import lateness_of, paced_task, rate_of, sustained_task
from experiments.side_by_side import Stage, Summing, Variant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = SIZES["quick"]
pytestmark = pytest.mark.skipif(generator() is None, reason="TPC-H's rows need tpchgen-cli, from the extra bench")


def test_settings_are_timed_and_their_results_counted(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark, tmp_path)
    task = sustained_task(SIZE, "q5", "JB16-CR4")
    found = stage.run(Variant(task))
    assert found.details["results"] > 10_000
    assert len(found.seconds) == len(found.rows) == SIZE.timed_batches
    assert rate_of(SIZE, found) > 0
    groups, aggregates = SUMS["q5"]
    summed = stage.run(Variant(task, Summing(groups, aggregates, "immediate")))
    assert summed.rows == found.rows
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_paced_runs_say_how_late_results_are(spark: SparkSession, tmp_path: Path) -> None:
    task = paced_task(SIZE, "band", "JM16")
    late = lateness_of(Stage(spark, tmp_path).run(Variant(task)))
    assert 0 < late["p50"] <= late["p99"]
    assert late["rate"] == task.rows_per_second
