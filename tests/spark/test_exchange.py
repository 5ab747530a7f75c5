"""The exchange by Spark's shuffle gives the same results, and keeps the same late rows, as the exchange by files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import braid
from braid.engine.commands import Command
from braid.errors import BraidError, SinkError
from braid.optimizer.exchange import ChosenExchange
from braid.spark import batch
from braid.spark.cluster import SparkCluster
from braid.state.checkpoint import Checkpoint
from braid.state.files import locate
from braid.state.manifest import Manifest
from tests.recovery.job import Job, build, join, start
from tests.recovery.scenario import BAND, JVM_CHAIN, KEYED, Inputs, check_answer, expected, make_inputs

FILES = 3


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("inputs"), 23, FILES, rows=40)


def make_job(inputs: Inputs, place: Path, streams: str = "ab", on: list[str] = BAND, **settings: Any) -> Job:
    return Job(streams, on, str(inputs.place), str(place), exchange="shuffle", **settings)


def committed(job: Job) -> Manifest:
    manifest = Checkpoint(*locate(job.checkpoint)).last_manifest()
    assert manifest is not None
    return manifest


@pytest.mark.parametrize(
    ("streams", "on", "settings"),
    [
        ("ab", BAND, {}),
        ("ab", KEYED, {"strategy": "Partitioned", "strategy_settings": {"units": 5}}),
        ("ab", BAND, {"strategy": "Matrix"}),
        ("abc", JVM_CHAIN, {}),
    ],
    ids=["band", "equality", "matrix", "three streams"],
)
def test_results_and_late_rows_are_complete(
    spark: SparkSession, inputs: Inputs, tmp_path: Path, streams: str, on: list[str], settings: dict[str, Any]
) -> None:
    job = make_job(inputs, tmp_path, streams, on, **settings)
    run = start(spark, job)
    run.awaitTermination()
    check_answer(inputs, job)
    assert run.lastProgress["batchId"] == FILES - 1
    assert all(block.units is not None for block in committed(job).blocks), "each block has the rows of one slot"


def test_a_restart_may_choose_the_other_exchange_for_a_step_that_is_read(
    spark: SparkSession, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run ends when its second batch is recorded; the second run looks up what the first has shuffled."""
    job = make_job(inputs, tmp_path)
    plain_run = SparkCluster.run

    def dying(cluster: SparkCluster, command: Command[Any]) -> list[Any]:
        if command.step == 1:
            raise BraidError("the end")
        return plain_run(cluster, command)

    with monkeypatch.context() as patch:
        patch.setattr(SparkCluster, "run", dying)
        with pytest.raises(BraidError, match="the end"):
            start(spark, job).awaitTermination()
    delta = Checkpoint(*locate(job.checkpoint)).read_delta(committed(job))
    assert delta is not None
    assert all(block.units is not None for block in delta.blocks)
    start(spark, replace(job, exchange="files")).awaitTermination()
    check_answer(inputs, job)


def test_ordered_results_and_aggregates_are_the_same(spark: SparkSession, inputs: Inputs, tmp_path: Path) -> None:
    job = make_job(inputs, tmp_path, on=KEYED)
    right = expected(inputs, job)
    ordered = build(spark, replace(job, place=str(tmp_path / "ordered"))).ordered()
    assert Counter(run_and_read(spark, ordered, tmp_path / "ordered", "a", "b")) == Counter(right)
    counted = join(spark, job).groupBy("a.k").agg("count(*) AS n")
    rows = run_and_read(spark, counted, tmp_path / "counted", "k", "n", "_step")
    newest = {key: n for key, n, _ in sorted(rows, key=lambda row: row[2])}
    keys = dict(zip(inputs.streams["a"]["id"], inputs.streams["a"]["k"], strict=True))
    assert newest == Counter(keys[a] for a, _ in right)


def run_and_read(spark: SparkSession, query: braid.Join, place: Path, *columns: str) -> list[tuple[Any, ...]]:
    writer = query.writeStream.option("path", str(place / "out")).option("checkpointLocation", str(place / "state"))
    writer = writer.option("exchange", "shuffle").option("endOfInput", "flush").trigger(availableNow=True)
    writer.start().awaitTermination()
    return [tuple(row) for row in spark.read.parquet(str(place / "out")).select(*columns).collect()]


def test_static_inputs_pass_through_a_shuffle_too(
    spark: SparkSession, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adaptive execution is on for them."""
    monkeypatch.setattr(batch, "choose_exchange", lambda *_: ChosenExchange("shuffle", "as on an object store"))
    rows = [spark.read.parquet(f"{inputs.place}/{name}") for name in "ab"]
    a, b = (braid.stream(name, frame, time="ts", window="15 seconds") for name, frame in zip("ab", rows, strict=True))
    found = braid.join(a, b).on("a.k = b.k").select("a.id AS a", "b.id AS b").batch()
    near = "abs(unix_micros(l.ts) - unix_micros(r.ts)) <= 15000000"
    right = rows[0].alias("l").join(rows[1].alias("r"), sf.expr(f"l.k = r.k AND {near}")).selectExpr("l.id", "r.id")
    assert Counter(map(tuple, found.collect())) == Counter(map(tuple, right.collect()))


def test_a_run_explains_its_exchange(
    spark: SparkSession, inputs: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for exchange, said in (
        ("shuffle", "exchange of new rows: shuffle (as the option exchange says)"),
        ("auto", "exchange of new rows: files (auto: the checkpoint is on a filesystem"),
    ):
        run = start(spark, replace(make_job(inputs, tmp_path), exchange=exchange))
        run.explain("layout")
        run.awaitTermination()
        assert said in capsys.readouterr().out


def test_an_unknown_exchange_is_refused_before_anything_is_written(
    spark: SparkSession, inputs: Inputs, tmp_path: Path
) -> None:
    job = replace(make_job(inputs, tmp_path / "new"), exchange="fast")
    with pytest.raises(SinkError, match="The option exchange is 'auto', 'files' or 'shuffle', but got 'fast'"):
        start(spark, job)
    assert not (tmp_path / "new").exists()
