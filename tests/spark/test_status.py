"""What a run on Spark says of itself while it goes on."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import braid
from tests.oracle.feeds import Feed, Place, at

PATIENCE_SECONDS = 120


def await_message(run: braid.Run, message: str) -> None:
    """Wait until the run says so, with no step under way."""
    end = time.monotonic() + PATIENCE_SECONDS
    while run.status["message"] != message:
        assert time.monotonic() < end, f"{run.status} instead of {message}"
        time.sleep(0.05)


def test_the_status_follows_a_run(
    spark: SparkSession, place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feeds = {name: Feed(spark, tmp_path / "input" / name, "ts timestamp, k int") for name in "fw"}
    streams = [braid.stream(name, feed.stream, time="ts", window="1 minute") for name, feed in feeds.items()]
    query = braid.join(*streams).on("f.k = w.k").select("f.ts AS f", "w.ts AS w").ordered("sync-filter")
    feeds["f"].add((at(1), 1), (at(2), 1), (at(3), 1))
    writer = query.writeStream.option("path", str(place.output)).option("checkpointLocation", str(place.checkpoint))
    run = writer.trigger(processingTime="100 milliseconds").start()
    try:
        await_message(run, "3 rows of f wait for w")
        status = run.status
        assert json.loads(json.dumps(status)) == status
        assert isinstance(status["isDataAvailable"], bool)
        assert isinstance(status["isTriggerActive"], bool)
        assert status["watermarks"] == {"f": "2024-01-01T00:00:03.000Z", "w": None}
        run.explain("now")
        assert "w: newest row none yet, watermark none yet" in capsys.readouterr().out
        feeds["w"].add((at(3), 1))
        await_message(run, "waiting for new rows")
        assert run.status["emittedUntil"] == "2024-01-01T00:00:03.000Z"
    finally:
        run.stop()
    assert run.status["message"] == "stopped"
    assert len(place.rows()) == 3


def slow_pair(left: pa.Array, right: pa.Array) -> np.ndarray:
    """Keeps a task busy for a while: a millisecond a pair."""
    time.sleep(len(left) / 1000)
    return np.ones(len(left), bool)


def test_a_long_step_says_how_far_it_is(spark: SparkSession, place: Place, tmp_path: Path) -> None:
    """One slot has all 4,000 pairs: its only task says how many of them are done."""
    feeds = {name: Feed(spark, tmp_path / "input" / name, "ts timestamp, k int") for name in "fw"}
    feeds["f"].add(*((at(1), number) for number in range(40)))
    feeds["w"].add(*((at(1), number) for number in range(100)))
    streams = [braid.stream(name, feed.stream, time="ts", window="1 minute") for name, feed in feeds.items()]
    query = braid.join(*streams).on(braid.udf(slow_pair, "f.k", "w.k")).select("f.ts AS f", "w.ts AS w")
    query = query.using(braid.TimeSliced(1))
    writer = query.writeStream.option("path", str(place.output)).option("checkpointLocation", str(place.checkpoint))
    run = writer.trigger(availableNow=True).start()
    seen = []
    while run.isActive:
        seen.append(run.status)
        time.sleep(0.05)
    run.awaitTermination()
    probing = [s["running"] for s in seen if s["running"] is not None and s["running"]["phase"] == "probe"]
    assert max(job["seconds"] for job in probing) > 1
    assert any(job["tasks"] and job["tasksDone"] <= job["tasks"] for job in probing)
    assert any("running step 0 (probe" in status["message"] for status in seen)
    tasks = {job["tasks"] for job in probing if job["tasks"]}
    shares = [job["share"] * max(tasks) - job["tasksDone"] for job in probing if job["share"] is not None]
    assert len(set(shares)) > 1, "at least two notes in more than three seconds"
    assert all(later > earlier - 0.01 for earlier, later in pairwise(shares))
    assert 0 < shares[0] < shares[-1] < 1
    assert not list((place.checkpoint / "progress").iterdir())
    assert run.status["running"] is None
