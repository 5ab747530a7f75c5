"""The experiments' runs on Spark, tiny: they find what DuckDB finds, and say how fast, and how late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.workloads.tpch import generator
from experiments.bistream import SIZES
from experiments.bistream.aggregation import variants
from experiments.bistream.latency import FIVE, lateness_of
from experiments.bistream.timing import paced_task, rates_of, recorded, sustained_task
from experiments.side_by_side import Stage, Variant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = SIZES["quick"]
pytestmark = pytest.mark.skipif(generator() is None, reason="TPC-H's rows need tpchgen-cli, from the extra bench")


def test_settings_are_timed_and_their_results_counted(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark, tmp_path)
    found = stage.run(Variant(sustained_task(SIZE, "q5", "JB16-CR4")))
    assert found.details["results"] > 1_000
    assert len(found.seconds) == len(found.rows) == SIZE.timed_batches
    assert rates_of([recorded(found, SIZE.timed_warm_up)])[0] > 0
    ways = variants(SIZE, "band", "JB16-CR4")
    summed, discarded = stage.run(ways["immediate"]), stage.run(ways["none"])
    assert summed.rows == discarded.rows
    assert discarded.details["results"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_paced_runs_say_how_late_results_are(spark: SparkSession, tmp_path: Path) -> None:
    task = paced_task(SIZE, "band", "JM16")
    late = lateness_of(Stage(spark, tmp_path).run(Variant(task)))
    assert late["p0"] > 0
    assert [late[name] for name in FIVE] == sorted(late[name] for name in FIVE)
    assert late["rate"] == task.rows_per_second
