"""Formats, triggers and progress of a run."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid import errors
from tests.oracle.feeds import Feed, Place, at
from tests.spark.semantics.pairs import ALL_OF_TWO, equal_keys, pair, rows_of

PROGRESS_KEYS = {
    "batchId", "sparkBatchId", "timestamp", "numInputRows", "inputRows", "numOutputRows", "lateRows", "watermarks",
    "durationMs", "processedRowsPerSecond", "strategy", "units", "stateRows", "stateBytes", "bytesMoved", "held",
    "adaptations", "bytesModelled", "storeReads", "storeWrites", "segmentReads", "cpuSeconds", "taskSeconds",
    "ingestCpuSeconds", "openingCpuSeconds", "copies", "routing",
}  # fmt: skip


def test_foreach_batch_sees_growing_ids_and_the_same_rows_again(two: tuple[Feed, Feed], tmp_path: Path) -> None:
    seen: list[tuple[int, list[tuple[Any, ...]]]] = []

    def take(frame: DataFrame, batch: int) -> None:
        seen.append((batch, rows_of(frame)))
        if len(seen) == 2:
            raise ConnectionError("the target is away")

    writer = equal_keys(two).writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(errors.BraidError, match="the target is away"):
        writer.trigger(availableNow=True).start().awaitTermination()
    writer.trigger(availableNow=True).start().awaitTermination()
    assert [batch for batch, _ in seen] == [0, 1, 1]
    assert seen[1] == seen[2]
    assert sorted(seen[0][1] + seen[2][1]) == ALL_OF_TWO


def test_every_format_runs(
    spark: SparkSession, two: tuple[Feed, Feed], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, **options: str) -> braid.Run:
        writer = equal_keys(two).writeStream.format(name).options(**options).queryName(f"as_{name}")
        started = writer.trigger(availableNow=True).start()
        started.awaitTermination()
        return started

    assert run("memory").name == "as_memory"
    assert rows_of(spark.table("as_memory")) == ALL_OF_TWO
    run("console")
    printed = capfd.readouterr().out
    assert "Step: 0" in printed
    assert "|  o|  q|" in printed
    assert sum(record["numOutputRows"] for record in run("noop").recentProgress) == 4
    path = str(tmp_path / "json")
    run("json", path=path, checkpointLocation=str(tmp_path / "checkpoint"))
    assert rows_of(spark.read.schema("o bigint, q bigint").json(path)) == ALL_OF_TWO


def test_a_checkpoint_is_required_where_results_last(two: tuple[Feed, Feed], tmp_path: Path) -> None:
    with pytest.raises(errors.SinkError, match="checkpointLocation"):
        equal_keys(two).writeStream.format("parquet").start(str(tmp_path / "out"))
    with pytest.raises(errors.SinkError, match="checkpointLocation"):
        equal_keys(two).writeStream.foreachBatch(lambda *_: None).start()


def test_a_periodic_run_takes_new_rows_until_it_is_stopped_and_continues(two: tuple[Feed, Feed], place: Place) -> None:
    writer = equal_keys(two).writeStream.option("checkpointLocation", str(place.checkpoint))
    writer = writer.trigger(processingTime="100 milliseconds")
    run = writer.start(str(place.output))
    wait_for_results(place, 4)
    assert run.isActive
    assert not run.awaitTermination(0.01)
    run.stop()
    assert not run.isActive
    assert run.exception() is None
    two[0].add((3, at(2), 1))
    again = writer.start(str(place.output))
    wait_for_results(place, 6)
    again.stop()
    assert place.rows() == [*ALL_OF_TWO, (3, 1), (3, 2)]
    assert again.id == run.id
    assert again.runId != run.runId


def wait_for_results(place: Place, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(place.rows()) < count:
        assert time.monotonic() < deadline, f"only {place.rows()} after two minutes"
        time.sleep(0.2)


def test_a_single_trigger_takes_all_there_is(two: tuple[Feed, Feed], place: Place) -> None:
    writer = equal_keys(two).writeStream.option("checkpointLocation", str(place.checkpoint)).trigger(once=True)
    writer.start(str(place.output)).awaitTermination()
    found = place.rows()
    assert found
    assert set(found) <= set(ALL_OF_TWO)


def test_progress_is_plain_data_with_every_key(two: tuple[Feed, Feed], place: Place) -> None:
    run = place.run(equal_keys(two))
    records = json.loads(json.dumps(run.recentProgress))
    assert [(record["batchId"], record["sparkBatchId"]) for record in records] == [(0, 0), (1, 1)]
    for record in records:
        assert set(record) >= PROGRESS_KEYS
        assert set(record["durationMs"]) >= {"ingest", "probe", "sink", "commit", "trigger"}
        assert record["numInputRows"] == 2
        assert record["inputRows"] == {"o": 1, "q": 1}
        assert set(record["ingestCpuSeconds"]) == {"o", "q"}
        assert min(*record["ingestCpuSeconds"].values(), *record["cpuSeconds"].values()) > 0
        assert min(record["storeReads"], record["storeWrites"], record["segmentReads"]["largestSlot"]) > 0
        assert record["units"]
        assert {"rowsStored", "bytes", "rowsProbed", "pairsCompared", "results", "cpuSeconds"} <= set(
            record["units"][0]
        )
    assert [record["numOutputRows"] for record in records] == [1, 3]
    assert records[-1]["stateRows"] == 4
    assert records[-1]["stateBytes"] > 0
    assert sum(unit["results"] for unit in records[-1]["units"]) == 3


def test_the_output_has_the_selected_columns_and_no_others(
    spark: SparkSession, two: tuple[Feed, Feed], place: Place
) -> None:
    query = equal_keys(two).select("q.k + o.k AS total", "result_time", "named_struct('n', o.id) AS s", "o.ts")
    place.run(query)
    frame = spark.read.parquet(str(place.output))
    assert frame.columns == ["total", "result_time", "s", "ts"]
    assert frame.schema.simpleString() == query.schema.simpleString()
    assert frame.schema.simpleString() == "struct<total:int,result_time:timestamp,s:struct<n:bigint>,ts:timestamp>"
    assert frame.count() == 4


def test_an_empty_result_can_be_read(spark: SparkSession, two: tuple[Feed, Feed], place: Place) -> None:
    query = equal_keys(two).on("o.k > 100")
    place.run(query)
    frame = spark.read.parquet(str(place.output))
    assert frame.columns == ["o", "q"]
    assert frame.count() == 0
    static = pair(two[0].static, two[1].static).on("o.k > 100").batch()
    assert (static.columns, static.count()) == (["o", "q"], 0)
