"""Streaming queries whose checkpoint and results lie on an S3 object store, written and read by Spark's workers.

Hadoop's S3 client is no part of PySpark. So the JVM finds the bucket's paths in a local directory, where it keeps
its own log of the query, and that log is brought to the bucket before a query is started again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
from pyspark.sql import SparkSession

from braid.engine.commands import Command
from braid.engine.sinks import STAGING
from braid.errors import BraidError, CorruptStateError, RecoveryError, StorageError
from braid.spark.cluster import SparkCluster
from braid.spark.storage import prove_shared
from braid.state.checkpoint import Checkpoint
from braid.state.files import locate
from tests.recovery.job import Job, start
from tests.recovery.object_store import BUCKET, ObjectStore, key_of, names_below, read_parquet
from tests.recovery.scenario import BAND, JVM_CHAIN, KEYED, Inputs, expected, make_inputs

FILES = 3
FILE_SYSTEM = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("inputs"), 17, FILES, rows=30)


@pytest.fixture(scope="module")
def jvm_directory(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the JVM finds the paths of the bucket."""
    directory = tmp_path_factory.mktemp("jvm")
    settings = {
        "fs.s3.impl": FILE_SYSTEM,
        f"fs.viewfs.mounttable.{BUCKET}.linkMergeSlash": f"file://{directory}",
    }
    configuration = spark._jsc.hadoopConfiguration()
    for name, value in settings.items():
        configuration.set(name, value)
    yield directory
    for name in settings:
        configuration.unset(name)


@pytest.fixture(scope="module")
def store(spark: SparkSession, jvm_directory: Path) -> Iterator[ObjectStore]:
    """A server that the driver finds by its environment, and workers by theirs, as `spark.executorEnv` would set it."""
    with ObjectStore() as store, pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
            patch.setitem(spark.sparkContext.environment, name, value)
        yield store


def make_job(inputs: Inputs, name: str, streams: str = "ab", on: list[str] = BAND) -> Job:
    return Job(streams, on, str(inputs.place), f"s3://{BUCKET}/team/{name}")


def start_again(spark: SparkSession, job: Job, jvm_directory: Path) -> Any:
    """Start where an earlier run stopped, with Spark's log where Hadoop's S3 client would have written it."""
    log = f"{key_of(job.checkpoint)}/spark"
    pafs.copy_files(f"file://{jvm_directory}/{log}", f"s3://{BUCKET}/{log}")
    return start(spark, job)


def check_answer(inputs: Inputs, job: Job, store: ObjectStore) -> None:
    """Each result and each late row is there once, all state is there, and nothing is staged any more."""
    table = read_parquet(job.output)
    rows = Counter(zip(*(table[name].to_pylist() for name in job.streams), strict=True))
    assert rows == Counter(expected(inputs, job))
    late = [row["id"] for row in read_parquet(f"{job.checkpoint}/late")["row"].to_pylist()]
    assert sorted(late) == sorted(set().union(*(inputs.late(name) for name in job.streams))) != []
    manifest = Checkpoint(*locate(job.checkpoint)).last_manifest()
    assert manifest is not None
    assert {block.file for block in manifest.blocks} <= set(names_below(store, f"{job.checkpoint}/blocks"))
    assert names_below(store, f"{job.output}/{STAGING}") == names_below(store, f"{job.checkpoint}/staging") == []


@pytest.mark.parametrize(
    ("streams", "on", "exchange"),
    [("abc", JVM_CHAIN, "auto"), ("ab", KEYED, "files")],
    ids=["by a shuffle", "by files"],
)
def test_a_query_runs_there(
    spark: SparkSession,
    inputs: Inputs,
    store: ObjectStore,
    jvm_directory: Path,
    capsys: pytest.CaptureFixture[str],
    streams: str,
    on: list[str],
    exchange: str,
) -> None:
    job = replace(make_job(inputs, f"whole-{streams}-{exchange}", streams, on), exchange=exchange)
    run = start(spark, job)
    run.awaitTermination()
    run.explain("layout")
    shuffled = "exchange of new rows: shuffle (auto: on s3 a slot then reads 1 block of a step instead of 2)"
    assert (shuffled in capsys.readouterr().out) == (exchange == "auto")
    check_answer(inputs, job, store)
    place = jvm_directory / key_of(job.place)
    written = {path.relative_to(place).parts[:2] for path in place.rglob("*") if path.is_file()}
    assert written == {("checkpoint", "spark")}, "the JVM wrote its own log only"

    with pytest.raises(
        RecoveryError,
        match=f"Spark has committed its batch -1, and Braid's newest step contains Spark batch {FILES - 1}",
    ):
        start(spark, job)
    start_again(spark, job, jvm_directory).awaitTermination()
    check_answer(inputs, job, store)


def test_a_missing_block_is_named_and_the_query_continues_when_it_is_back(
    spark: SparkSession, inputs: Inputs, store: ObjectStore, jvm_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run is cut short when its last batch is taken in; no worker has a copy of that batch's blocks."""
    job = make_job(inputs, "cut")
    with monkeypatch.context() as patch:
        patch.setattr(SparkCluster, "run", die_in_last_step(SparkCluster.run))
        with pytest.raises(BraidError, match="the end"):
            start(spark, job).awaitTermination()
    checkpoint = Checkpoint(*locate(job.checkpoint))
    delta = checkpoint.read_delta(checkpoint.last_manifest())
    assert delta is not None
    key = f"{key_of(job.checkpoint)}/blocks/{delta.blocks[0].file}"
    whole = store.read(key)
    store.replace(key, None)

    with pytest.raises(CorruptStateError) as caught:
        start_again(spark, job, jvm_directory).awaitTermination()
    assert f"The state block {BUCKET}/{key} is missing" in str(caught.value)
    assert "Hint: Restore the file from a copy of the checkpoint" in str(caught.value)

    store.replace(key, whole)
    start_again(spark, job, jvm_directory).awaitTermination()
    check_answer(inputs, job, store)


def die_in_last_step(run: Callable[..., Any]) -> Callable[..., Any]:
    def dying(self: SparkCluster, command: Command[Any]) -> Any:
        if command.step == FILES - 1:
            raise BraidError("the end")
        return run(self, command)

    return dying


def test_a_write_refused_to_workers_is_explained_and_loses_nothing(
    spark: SparkSession, inputs: Inputs, store: ObjectStore, jvm_directory: Path
) -> None:
    job = make_job(inputs, "refused")
    with store.denying("s3:PutObject", f"{key_of(job.output)}/{STAGING}/*"), pytest.raises(StorageError) as caught:
        start(spark, job).awaitTermination()
    message = str(caught.value)
    assert "The join of a, b failed in step 0 (Spark batch 0): The storage refused an operation" in message
    assert f"Could not write {BUCKET}/{key_of(job.output)}/{STAGING}/" in message
    assert "ACCESS_DENIED" in message
    assert "Hint: Free space on that storage or make it writable, then start the query again" in message

    start_again(spark, job, jvm_directory).awaitTermination()
    check_answer(inputs, job, store)


def test_a_missing_bucket_is_explained(spark: SparkSession, inputs: Inputs, store: ObjectStore) -> None:
    job = Job("ab", BAND, str(inputs.place), "s3://braid-nowhere/job")
    with pytest.raises(StorageError, match=r"Could not write braid-nowhere/job/.*NO_SUCH_BUCKET") as caught:
        start(spark, job)
    assert "Hint: Check that the storage is reachable and writable" in str(caught.value)


def test_shared_storage_is_proven_by_tasks(
    spark: SparkSession, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a cluster; then with workers that look for the bucket in another place."""
    monkeypatch.setattr(spark.sparkContext, "master", "spark://somewhere:7077")
    location = f"s3://{BUCKET}/shared"
    prove_shared(spark, location, "checkpointLocation")

    elsewhere = f"{store.environment['AWS_ENDPOINT_URL']}/elsewhere"
    monkeypatch.setitem(spark.sparkContext.environment, "AWS_ENDPOINT_URL", elsewhere)
    with pytest.raises(StorageError, match="is not the same storage for the driver and the executors") as caught:
        prove_shared(spark, location, "checkpointLocation")
    assert "A task could not use it: [Errno 2] Path does not exist" in str(caught.value)
    assert names_below(store, location) == []
