"""A query started twice on one checkpoint, and checkpoints put together from copies, on Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from braid.errors import RecoveryError, TakenOverError
from tests.recovery.job import Job, build, start
from tests.recovery.scenario import BAND, Inputs, check_answer, feed, make_inputs, read_results

FILES = 6


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return make_inputs(tmp_path / "all", 11, FILES, rows=30)


def run_on(spark: SparkSession, job: Job) -> Any:
    """A run that goes on until it is stopped."""
    writer = build(spark, job).writeStream.format("parquet").option("path", job.output)
    return writer.option("checkpointLocation", job.checkpoint).start()


def wait_for(run: Any, reached: Callable[[], bool]) -> None:
    while not reached():
        assert not run.awaitTermination(0.05), "the run ended before"


def steps_of(run: Any) -> int:
    return -1 if run.lastProgress is None else run.lastProgress["batchId"]


def test_a_query_started_again_in_the_same_session_takes_over(
    spark: SparkSession, inputs: Inputs, tmp_path: Path
) -> None:
    source = tmp_path / "input"
    feed(inputs, source, range(3))
    job = Job("ab", BAND, str(source), str(tmp_path / "job"))
    older = run_on(spark, job)
    wait_for(older, lambda: steps_of(older) >= 1)
    newer = run_on(spark, job)
    feed(inputs, source, range(3, FILES))
    with pytest.raises(TakenOverError, match="was taken over by a newer run") as caught:
        older.awaitTermination(60)
    assert newer.runId in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3
    assert caught.value.__cause__ is None
    assert not older.isActive
    wait_for(newer, lambda: steps_of(newer) >= FILES - 1)
    newer.stop()
    assert newer.exception() is None
    check_answer(inputs, job)


def test_a_batch_that_spark_planned_again_is_refused(spark: SparkSession, inputs: Inputs, tmp_path: Path) -> None:
    """Spark's part of the checkpoint is one batch older than Braid's, and other files have come since."""
    source = tmp_path / "input"
    feed(inputs, source, range(2))
    job = Job("ab", BAND, str(source), str(tmp_path / "job"))
    start(spark, job).awaitTermination()
    shutil.copytree(f"{job.checkpoint}/spark", tmp_path / "older")
    feed(inputs, source, range(2, 3))
    start(spark, job).awaitTermination()
    before = sorted(read_results(job))
    shutil.rmtree(f"{job.checkpoint}/spark")
    shutil.copytree(tmp_path / "older", f"{job.checkpoint}/spark")
    feed(inputs, source, range(3, FILES))
    with pytest.raises(
        RecoveryError, match="Braid read Spark batch 2 with other rows than Spark has planned"
    ) as caught:
        start(spark, job).awaitTermination()
    assert "Restore the whole checkpoint directory" in str(caught.value)
    assert sorted(read_results(job)) == before


def test_results_newer_than_a_restored_checkpoint_come_once(
    spark: SparkSession, inputs: Inputs, tmp_path: Path
) -> None:
    source = tmp_path / "input"
    feed(inputs, source, range(2))
    job = Job("ab", BAND, str(source), str(tmp_path / "job"))
    start(spark, job).awaitTermination()
    shutil.copytree(job.checkpoint, tmp_path / "copy")
    feed(inputs, source, range(2, 5))
    start(spark, job).awaitTermination()
    shutil.rmtree(job.checkpoint)
    shutil.copytree(tmp_path / "copy", job.checkpoint)
    feed(inputs, source, range(5, FILES))
    run = start(spark, job)
    run.awaitTermination()
    check_answer(inputs, job)
    said = [line for progress in run.recentProgress for line in progress["adaptations"]]
    assert any("output files of the steps 2 to 4" in line for line in said)
