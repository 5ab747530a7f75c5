"""Writers: what cannot start says so before anything is written, and every legal name of a location works."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import braid
from braid import errors
from tests.oracle.feeds import Feed, at

# Together every character that some reader of paths takes for something else.
NAMES = ["a b%20c#d+e&f é🙂:g ", "x*[y]{z,w}\\v?k=v '\"\n"]


@pytest.fixture(scope="module")
def feed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Feed:
    found = Feed(spark, tmp_path_factory.mktemp("writing") / "in", "id bigint, ts timestamp")
    for number in range(3):
        found.add((number, at(number)), (number, None))
    return found


def query(feed: Feed) -> braid.Join:
    streams = [braid.stream(name, feed.stream, time="ts", window="1 minute") for name in ("o", "q")]
    return braid.join(*streams).on("o.id = q.id").select("o.id")


Change = Callable[[Any, Path], Any]
MISTAKES: dict[str, tuple[Change, str]] = {
    "no format": (lambda writer, _: writer.format(None), "A format is a name, but got None"),
    "a number as format": (lambda writer, _: writer.format(123), "A format is a name, but got 123"),
    "an option without a name": (lambda writer, _: writer.option(None, "x"), "name of an option is text, but got None"),
    "an option without a value": (lambda writer, _: writer.option("path", None), "path has the value None"),
    "a list as a value": (lambda writer, _: writer.option("path", ["a"]), r"path has the value \['a'\]"),
    "no name": (lambda writer, _: writer.queryName(7), "A query name is text, but got 7"),
    "an empty name": (lambda writer, _: writer.queryName(" "), "A query name is text"),
    "no mode": (lambda writer, _: writer.outputMode(None), "The output mode None does not fit a join"),
    "an empty path": (lambda writer, _: writer.option("path", " "), "The option path is empty"),
    "an empty checkpoint": (lambda writer, _: writer.option("checkpointLocation", ""), "checkpointLocation is empty"),
    "a misspelt option": (lambda writer, _: writer.option("compresion", "gzip"), "Did you mean 'compression'"),
    "rows shown": (lambda writer, _: writer.format("console").option("numRows", "abc"), "numRows is a whole number"),
    "width shown": (lambda writer, _: writer.format("console").option("truncate", "x"), "truncate is true, false or"),
    "a table of two words": (lambda writer, _: writer.format("memory").queryName("a b"), "cannot be that of a table"),
    "a table in a database": (lambda writer, _: writer.format("memory").queryName("a.b"), "cannot be that of a table"),
    "one place for both": (lambda writer, at: writer.option("checkpointLocation", at / "out"), "overlap"),
    "one place, otherwise": (lambda writer, at: writer.option("path", f"{at}/x/../checkpoint/"), "overlap"),
    "one place, as a URI": (lambda writer, at: writer.option("path", f"file://{at}/checkpoint"), "overlap"),
    "state among results": (lambda writer, at: writer.option("path", at), "overlap"),
    "results among state": (lambda writer, at: writer.option("path", at / "checkpoint/out"), "overlap"),
    "no path of Hadoop's": (lambda writer, _: writer.option("path", "a:b"), "not one that Spark can read"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_met_before_anything_is_written(feed: Feed, tmp_path: Path, case: str) -> None:
    change, fragment = MISTAKES[case]
    options = {"checkpointLocation": str(tmp_path / "checkpoint"), "path": str(tmp_path / "out")}
    with pytest.raises((errors.SinkError, errors.StorageError), match=fragment):
        change(query(feed).writeStream.options(**options), tmp_path).start()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("where", ["", "/below", "/../in"])
@pytest.mark.parametrize("option", ["path", "checkpointLocation"])
def test_an_input_is_no_place_to_write(feed: Feed, tmp_path: Path, option: str, where: str) -> None:
    source = str(feed._directory) + where
    options = {"checkpointLocation": str(tmp_path / "checkpoint"), "path": str(tmp_path / "out"), option: source}
    with pytest.raises(errors.SinkError, match=rf"The {option} .* and the input .* overlap"):
        query(feed).writeStream.options(**options).start()


@pytest.mark.parametrize("name", NAMES)
def test_a_location_may_have_any_name(spark: SparkSession, feed: Feed, tmp_path: Path, name: str) -> None:
    options = {"checkpointLocation": f"{tmp_path}/{name}/.{name}", "path": f"file://{tmp_path}/{name}"}
    writer = query(feed).writeStream.options(**options).trigger(availableNow=True)
    writer.start().awaitTermination()
    run = writer.start()
    run.awaitTermination()
    assert os.listdir(tmp_path) == [name]
    found = spark.read.option("__globPaths__", "false").parquet(f"{tmp_path}/{name}")
    assert sorted(row["id"] for row in found.collect()) == [0, 1, 2]
    assert run.late_rows().count() == 6
    assert (tmp_path / name / f".{name}" / "spark" / "commits" / "2").exists()


def test_a_function_sees_each_row_once_under_a_name_that_is_a_pattern(feed: Feed, tmp_path: Path) -> None:
    seen: list[int] = []
    writer = query(feed).writeStream.foreachBatch(lambda rows, _: seen.extend(row["id"] for row in rows.collect()))
    writer.option("checkpointLocation", tmp_path / NAMES[1]).trigger(once=True).start().awaitTermination()
    assert sorted(seen) == [0, 1, 2]


def test_two_runs_of_one_name(feed: Feed, tmp_path: Path) -> None:
    writer = query(feed).writeStream.format("noop").queryName("named").trigger(processingTime="1 s")
    run = writer.start()
    try:
        with pytest.raises(errors.SinkError, match="A query named 'named' is running"):
            writer.start()
    finally:
        run.stop()
    writer.start().stop()


def test_damage_that_only_a_checksum_shows_is_named(feed: Feed, tmp_path: Path) -> None:
    options = {"checkpointLocation": str(tmp_path / "checkpoint"), "path": str(tmp_path / "out")}
    writer = query(feed).writeStream.options(**options).trigger(availableNow=True)
    writer.start().awaitTermination()
    for name in ("metadata", "offsets/2"):
        file = tmp_path / "checkpoint" / "spark" / name
        whole = file.read_bytes()
        file.write_bytes(whole + b" ")
        with pytest.raises(errors.CorruptStateError, match=f"{name} of Spark's own log .* checksum"):
            writer.start().awaitTermination()
        file.write_bytes(whole)
    writer.start().awaitTermination()
