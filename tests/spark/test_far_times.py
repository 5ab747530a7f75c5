"""Event times far from now through real runs: year 1, year 57,970 and the ends of TIMESTAMP."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid import errors
from braid.plan.instants import EARLIEST_US, LATEST_US
from tests.oracle.feeds import FIRST_MTIME, Place

MINUTE_US = 60_000_000
YEAR_1 = -62_135_596_800_000_000
YEAR_57970 = 1_767_200_000_000_000_000
NOW = int(time.time()) * 1_000_000


class Instants:
    """A directory of Parquet files with event times in microseconds, one file a trigger."""

    def __init__(self, spark: SparkSession, directory: Path, zone: str | None = "UTC") -> None:
        self._spark = spark
        self._directory = directory
        self._zone = zone
        self._rows = 0
        directory.mkdir(parents=True)

    def add(self, *times: int | None) -> Instants:
        number = len(list(self._directory.glob("*.parquet")))
        ids = range(self._rows, self._rows + len(times))
        self._rows += len(times)
        path = self._directory / f"{number:04d}.parquet"
        pq.write_table(
            pa.table({"id": pa.array(ids, pa.int64()), "ts": pa.array(times, pa.timestamp("us", self._zone))}), path
        )
        os.utime(path, (FIRST_MTIME + number,) * 2)
        return self

    @property
    def stream(self) -> DataFrame:
        kind = "timestamp_ntz" if self._zone is None else "timestamp"
        reader = self._spark.readStream.schema(f"id bigint, ts {kind}").option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._directory))

    @property
    def static(self) -> DataFrame:
        return self._spark.read.parquet(str(self._directory))


@pytest.fixture
def instants(spark: SparkSession, tmp_path: Path) -> Callable[[str], Instants]:
    return lambda name: Instants(spark, tmp_path / "input" / name)


def joined(left: DataFrame, right: DataFrame, **options: Any) -> braid.Join:
    return braid.join(
        braid.stream("a", left, time="ts", window="1 minute", **options),
        braid.stream("b", right, time="ts", window="1 minute", lateness="1 hour"),
    ).select("a.id AS a", "b.id AS b", "unix_micros(result_time) AS at")


def late_rows(run: braid.Run) -> list[tuple[str, int, str]]:
    found = run.late_rows().selectExpr("stream", "get_json_object(row, '$.id') AS id", "reason").collect()
    return sorted((row["stream"], int(row["id"]), row["reason"]) for row in found)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_run_outlives_rows_of_any_year(instants: Callable[[str], Instants], place: Place, ordered: bool) -> None:
    """Without a limit the stream's later rows are late; the run goes on, restarts, and all others are joined."""
    a = instants("a").add(YEAR_1, NOW).add(NOW + 1, YEAR_57970).add(NOW + 2)
    b = instants("b").add(YEAR_1 + MINUTE_US).add(NOW, NOW + 1).add(NOW + 2)
    query = joined(a.stream, b.stream, lateness="1 hour")
    query = query.ordered() if ordered else query
    run = place.run(query)
    assert run.lastProgress is not None
    assert run.lastProgress["watermarks"]["a"].startswith("+57970-")
    a.add(YEAR_57970 + MINUTE_US, LATEST_US)
    b.add(NOW + 3, YEAR_57970)
    run = place.run(query, endOfInput="flush")
    assert json.loads(json.dumps(run.recentProgress))
    near = {(x, y, max(NOW + x - 1, NOW + y - 1)) for x, y in product((1, 2), (1, 2, 3, 4))}
    far = {(3, 5, YEAR_57970), (5, 5, YEAR_57970 + MINUTE_US)}
    assert set(place.rows()) == {(0, 0, YEAR_1 + MINUTE_US), *near, *far}
    assert late_rows(run) == [("a", 4, "below the watermark")]
    assert [row["watermark"].year for row in run.late_rows().collect()] == [9999]


def test_rows_ahead_of_the_clock_are_late_and_hurt_no_other(instants: Callable[[str], Instants], place: Place) -> None:
    a = instants("a").add(NOW, YEAR_57970, None, LATEST_US).add(NOW + 1, NOW - 1)
    b = instants("b").add(NOW).add(NOW + 1)
    query = joined(a.stream, b.stream, lateness="1 hour", max_ahead="1 hour")
    run = place.run(query)
    assert {row[:2] for row in place.rows()} == set(product((0, 4, 5), (0, 1)))
    ahead = "ahead of the clock"
    assert late_rows(run) == [("a", 1, ahead), ("a", 2, "no event time"), ("a", 3, ahead)]
    changed = joined(a.stream, b.stream, lateness="1 hour", max_ahead="2 hours")
    with pytest.raises(errors.RestartError, match="max_ahead"):
        place.start(changed)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("on", [None, "b.ts BETWEEN a.ts - INTERVAL 30 SECONDS AND a.ts + INTERVAL 1 SECOND"])
def test_static_inputs_are_joined_up_to_the_ends_of_timestamp(
    instants: Callable[[str], Instants], ordered: bool, on: str | None
) -> None:
    edges = (EARLIEST_US, YEAR_1, NOW, YEAR_57970, LATEST_US)
    spread = (0, 1, 1_000_000, 30 * 1_000_000 + 1, MINUTE_US, MINUTE_US + 1)
    times = [t for edge in edges for s in spread for t in (edge - s, edge + s) if EARLIEST_US <= t <= LATEST_US]
    a, b = instants("a").add(*times, None), instants("b").add(*times)
    query = joined(a.static, b.static, max_ahead="1 hour")
    query = query if on is None else query.on(on)
    query = query.ordered() if ordered else query
    found = [tuple(row) for row in query.batch().collect()]
    wanted = {
        (x, y, max(mine, theirs))
        for (x, mine), (y, theirs) in product(enumerate(times), repeat=2)
        if abs(mine - theirs) <= MINUTE_US and (on is None or mine - 30_000_000 <= theirs <= mine + 1_000_000)
    }
    assert set(found) == wanted
    assert len(found) == len(wanted)
    assert not ordered or [at for *_, at in found] == sorted(at for *_, at in found)


def test_late_rows_without_a_zone_can_be_collected(spark: SparkSession, tmp_path: Path, place: Place) -> None:
    """In a zone in which the last instant of the range has no time of the clock."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        a = Instants(spark, tmp_path / "a", None).add(NOW, LATEST_US).add(NOW + 1)
        b = Instants(spark, tmp_path / "b", None).add(NOW, EARLIEST_US).add(NOW + 1)
        query = joined(a.stream, b.stream).select("a.id AS a", "b.id AS b")
        run = place.run(query)
        assert place.rows() == [(0, 0), (0, 2)]
        found = run.late_rows().collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert [(row["stream"], row["reason"], row["watermark"].year) for row in found] == [
        ("a", "below the watermark", 9999)
    ]


def test_a_limit_that_is_no_duration_is_refused(instants: Callable[[str], Instants]) -> None:
    with pytest.raises(errors.DurationError, match="max_ahead of stream 'a' cannot be 5"):
        joined(instants("a").add(NOW).static, instants("b").add(NOW).static, max_ahead=5)
