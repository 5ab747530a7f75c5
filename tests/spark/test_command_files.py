"""Commands in files on Spark: tasks of every kind of job find their parts, and the files end with their jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import braid
from braid.engine.sending import command_files
from tests.oracle.feeds import Feed, at

WORDS = ("Robert", "Rupert", "Ashcraft")


def test_tasks_read_their_parts_of_commands_in_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ordered query with a predicate for the JVM has jobs of several functions and of several kinds."""
    monkeypatch.setattr(command_files, "INLINE_BYTES", 0)
    feed = Feed(spark, tmp_path / "in", "id bigint, ts timestamp, s string")
    feed.add(*((n, at(n), WORDS[n % 3]) for n in range(20)))
    streams = (braid.stream(name, feed.stream, time="ts", window="3 seconds") for name in ("o", "q"))
    joined = braid.join(*streams).on("o.id < q.id AND soundex(o.s) <= soundex(q.s)").select("o.id AS a", "q.id AS b")
    writer = joined.ordered().writeStream.format("parquet").option("path", str(tmp_path / "out"))
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).option("endOfInput", "flush")
    writer.trigger(availableNow=True).start().awaitTermination()
    found = {(row.a, row.b) for row in spark.read.parquet(str(tmp_path / "out")).collect()}
    sounds = ("R163", "R163", "A261")
    assert found == {(a, b) for a in range(20) for b in range(a + 1, min(a + 4, 20)) if sounds[a % 3] <= sounds[b % 3]}
    assert list((tmp_path / "checkpoint" / "commands").iterdir()) == []
