"""How many tasks of a running query's jobs have finished."""

from __future__ import annotations

from pyspark.sql import SparkSession


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
