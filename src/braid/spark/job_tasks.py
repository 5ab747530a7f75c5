"""How far a running query's job is: its finished tasks, and the notes of those that take long."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from braid.engine.metered_cluster import RunningJob
from braid.engine.status import describe_running
from braid.engine.tasks.worker.noting import noted_shares
from braid.state.checkpoint import Checkpoint


def how_far(spark: SparkSession, group: str, checkpoint: Checkpoint, job: RunningJob) -> dict[str, Any]:
    """The running job of a query whose jobs Spark runs in this group."""
    shares = noted_shares(checkpoint.files, checkpoint.path, job.run, job.step)
    return describe_running(job, count_tasks(spark, group), shares.values())


def count_tasks(spark: SparkSession, group: str) -> tuple[int, int] | None:
    """The finished and all tasks of the running jobs of a group; None if none is known to run.

    Spark runs the jobs of a streaming query in a group named by the run of that query.
    """
    tracker = spark.sparkContext.statusTracker()
    done = every = 0
    for number in tracker.getJobIdsForGroup(group):
        job = tracker.getJobInfo(number)
        if job is None or job.status != "RUNNING":
            continue
        for stage in map(tracker.getStageInfo, job.stageIds):
            if stage is not None:
                done, every = done + stage.numCompletedTasks, every + stage.numTasks
    return (done, every) if every else None
