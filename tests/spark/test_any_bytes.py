"""Strings that are no UTF-8, from files and from casts, through every way out: as Spark itself has them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from tests.properties.test_bytes import text

START_US = 1_704_067_200_000_000
# Beside each what Spark is asked: it finds nothing by such a literal in Parquet, to which it is pushed down as U+FFFD.
PREDICATES = {
    "a.k < b.k": "a.k < b.k",
    "a.k <=> b.k": "a.k <=> b.k",
    "a.k = cast(X'ff' AS string)": "hex(a.k) = 'FF'",
    "hex(a.k) = hex(b.k)": "hex(a.k) = hex(b.k)",
}


def write_inputs(place: Path) -> None:
    """Keys in Latin-1, bytes that no UTF-8 has; the last file of each stream brings a late row."""
    for name in ("a", "b"):
        (place / name).mkdir()
        keys = [key.encode("latin-1") for key in "éÿaéé" * 2 + "éé"]
        write(place / name / "0.parquet", [(number, number, key) for number, key in enumerate(keys)])
        write(place / name / "1.parquet", [(99, -1, b"\xe9")])
        os.utime(place / name / "0.parquet", (1_600_000_000, 1_600_000_000))


def write(path: Path, rows: list[tuple[int, int, bytes]]) -> None:
    numbers, seconds, keys = zip(*rows, strict=True)
    times = pa.array([START_US + 1_000_000 * second for second in seconds], pa.int64())
    columns = {"id": pa.array(numbers), "ts": times.cast(pa.timestamp("us", "UTC")), "k": text(list(keys))}
    pq.write_table(pa.table(columns), path)


def frame(spark: SparkSession, place: Path, name: str, live: bool) -> DataFrame:
    reader: Any = spark.readStream.option("maxFilesPerTrigger", 1) if live else spark.read
    found: DataFrame = reader.schema("id bigint, ts timestamp, k string").parquet(str(place / name))
    return found


def stream(spark: SparkSession, place: Path, name: str, live: bool = True) -> braid.Stream:
    return braid.stream(name, frame(spark, place, name, live), time="ts", window="1 hour")


def test_a_stream_of_any_bytes(spark: SparkSession, tmp_path: Path) -> None:
    write_inputs(tmp_path)
    query = braid.join(stream(spark, tmp_path, "a"), stream(spark, tmp_path, "b"))
    query = query.on("a.k = b.k AND a.k >= cast(X'e9' AS string)")
    query = query.select("a.id AS a", "b.id AS b", "a.k", "upper(b.k) u")
    options = {"checkpointLocation": str(tmp_path / "checkpoint"), "path": str(tmp_path / "output")}
    run = query.writeStream.options(**options).trigger(availableNow=True).start()
    run.awaitTermination()

    sides = [frame(spark, tmp_path, name, False).filter("id < 99") for name in ("a", "b")]
    sides = [side.selectExpr(f"id AS {name}", f"k AS {name}k") for side, name in zip(sides, ("a", "b"), strict=True)]
    own = sides[0].crossJoin(sides[1]).filter("ak = bk AND hex(ak) >= 'E9'")
    expected = own.selectExpr("a", "b", "hex(ak)", "hex(upper(bk))").collect()
    found = spark.read.parquet(str(tmp_path / "output")).selectExpr("a", "b", "hex(k)", "hex(u)").collect()
    assert sorted(map(tuple, found)) == sorted(map(tuple, expected))
    assert {row[2] for row in found} == {"E9", "FF"}

    late = run.late_rows().collect()
    assert [json.loads(row.row)["id"] for row in late] == [99, 99]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_predicates_on_any_bytes_are_sparks(spark: SparkSession, tmp_path: Path, predicate: str) -> None:
    write_inputs(tmp_path)
    sides = [stream(spark, tmp_path, name, live=False) for name in ("a", "b")]
    found = braid.join(*sides).on(predicate).select("a.id AS a", "b.id AS b").batch().collect()
    frames = [frame(spark, tmp_path, name, False).alias(name) for name in ("a", "b")]
    near = "abs(unix_micros(a.ts) - unix_micros(b.ts)) <= 3600000000"
    expected = (
        frames[0].crossJoin(frames[1]).filter(PREDICATES[predicate]).filter(near).selectExpr("a.id AS a", "b.id AS b")
    )
    assert sorted(map(tuple, found)) == sorted(map(tuple, expected.collect()))
    assert found
