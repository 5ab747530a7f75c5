"""Tasks that fail, run twice, or die with their executor: the same rows, on one machine or on a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from braid.errors import StorageError
from braid.spark import batch, storage
from braid.spark.cluster import SparkCluster
from tests.recovery.job import MARKER, MISCHIEF, Job, build, start
from tests.recovery.scenario import BAND, JVM_CHAIN, Child, Inputs, Reader, check_answer, make_inputs

CLUSTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("tasks"), 11, files=3, rows=30)


def make_jobs(inputs: Inputs, place: Path) -> list[Job]:
    return [
        Job("ab", BAND, str(inputs.place), str(place / "band")),
        Job("abc", JVM_CHAIN, str(inputs.place), str(place / "chain")),
    ]


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(java: None, inputs: Inputs, tmp_path: Path) -> None:
    jobs = [replace(job, mischief=True) for job in make_jobs(inputs, tmp_path)]
    marker = tmp_path / "died"
    child = Child(jobs, tmp_path / "child", None, "local[2,4]", {MARKER: str(marker), MISCHIEF: "die"})
    assert child.wait() == 0, child.log()
    assert marker.exists()
    for job in jobs:
        check_answer(inputs, job)


@pytest.mark.parametrize(("counts", "number"), [("the first", 0), ("the second", 1)])
def test_every_task_runs_twice(
    spark: SparkSession, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: str, number: int
) -> None:
    """As if each task had a speculative copy: both write all their files, the reports of one are used."""
    collect: Callable[..., Any] = SparkCluster._collect

    def twice(self: SparkCluster, *arguments: Any) -> Any:
        first, second = collect(self, *arguments), collect(self, *arguments)
        return first if counts == "the first" else second

    job = make_jobs(inputs, tmp_path)[number]
    with monkeypatch.context() as patch:
        patch.setattr(SparkCluster, "_collect", twice)
        start(spark, job).awaitTermination()
    check_answer(inputs, job)
    assert list(Path(job.output).glob("_braid_staging/*/*")), "the copies wrote nothing"
    start(spark, job).awaitTermination()
    assert not list(Path(job.output).glob("_braid_staging/*/*")), "the next start sweeps what no record names"


@pytest.mark.slow
def test_a_cluster_gives_the_same_rows_and_survives_an_executor(java: None, inputs: Inputs, tmp_path: Path) -> None:
    """The jobs unchanged on two executors, one of which is killed while its task sleeps in the first step."""
    jobs = make_jobs(inputs, tmp_path)
    jobs[0] = replace(jobs[0], mischief=True)
    marker = tmp_path / "asleep"
    child = Child(jobs, tmp_path / "child", None, CLUSTER, {MARKER: str(marker), MISCHIEF: "60"})
    killed: list[int] = []
    reader = Reader(jobs[0])

    def kill_executor() -> None:
        reader.look()
        if marker.exists() and not killed:
            executor = executor_of(child.process.pid, marker)
            killed.append(executor.pid)
            executor.kill()

    assert child.wait(180, kill_executor) == 0, child.log()
    assert killed, "no task reached its predicate"
    for job in jobs:
        check_answer(inputs, job)


def executor_of(driver: int, marker: Path) -> psutil.Process:
    """The executor whose worker holds the marker: the JVM above the process that created it."""
    owner = psutil.Process(int(marker.read_text() or wait_for_text(marker)))
    above = next(p for p in owner.parents() if "CoarseGrainedExecutorBackend" in " ".join(p.cmdline()))
    assert driver in [process.pid for process in above.parents()]
    return above


def wait_for_text(path: Path) -> str:
    while not (text := path.read_text()):
        time.sleep(0.01)
    return text


@pytest.mark.parametrize("place", ["path", "checkpointLocation"])
def test_a_local_path_is_refused_on_several_hosts(
    spark: SparkSession, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(storage, "is_one_host", lambda _: False)
    query = build(spark, make_jobs(inputs, tmp_path)[0])
    shared = f"file://{tmp_path}"
    places = {"path": f"{shared}/output", "checkpointLocation": f"{shared}/checkpoint"}
    places[place] = str(tmp_path / "bare")
    with pytest.raises(StorageError) as caught:
        query.writeStream.format("parquet").options(**places).start()
    message = str(caught.value)
    expected = f"The {place} {places[place]!r} is a path of this machine, but the session runs on local[2]"
    assert expected in message
    assert "Hint: Give a location that all hosts share: hdfs://" in message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("sink", ["memory", "noop", "console"])
def test_scratch_storage_is_refused_on_several_hosts(
    spark: SparkSession, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str
) -> None:
    monkeypatch.setattr(batch, "is_one_host", lambda _: False)
    writer = build(spark, make_jobs(inputs, tmp_path)[0]).writeStream.format(sink).queryName("refused")
    with pytest.raises(StorageError, match="needs storage that all hosts reach") as caught:
        writer.start()
    assert "Hint: Set the Spark configuration spark.braid.scratchLocation" in str(caught.value)
