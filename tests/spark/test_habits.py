"""What a user of Spark tries first: other names of methods, what a console shows, Ctrl-C."""

from __future__ import annotations

import pickle
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid import errors
from tests.oracle.feeds import Feed, at

SCRIPT = Path(__file__).parent / "interrupted.py"


@pytest.fixture(scope="module")
def live(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    feed = Feed(spark, tmp_path_factory.mktemp("habits") / "in", "id bigint, ts timestamp, s string, d date")
    return feed.add((1, at(1), "2024-01-01", None)).stream


def two(frame: DataFrame) -> braid.Join:
    return braid.join(*(braid.stream(name, frame, time="ts", window="90 seconds") for name in ("o", "q")))


def test_where_and_filter_are_on(live: DataFrame) -> None:
    predicate = "o.id = q.id"
    assert (
        two(live).where(predicate).conjuncts
        == two(live).filter(predicate).conjuncts
        == two(live).on(predicate).conjuncts
    )


def test_what_a_console_shows_is_short(live: DataFrame) -> None:
    joined = two(live).on("o.id = q.id AND o.s <> q.s")
    long = joined.on(" AND ".join(f"o.id > {number}" for number in range(50)))
    shown = [
        (repr(joined.streams[0]), "Stream('o', time ts, window 90 seconds)"),
        (repr(joined), "Join(o, q on o.id = q.id AND o.s <> q.s)"),
        (repr(two(live)), "Join(o, q)"),
        (repr(joined.groupBy("o.id")), "Grouped(Join(o, q on o.id = q.id AND o.s <> q.s) by o.id)"),
        (repr(joined.writeStream.format("noop").option("retention", "1 day")), "Writer(noop, retention=1 day)"),
    ]
    assert [found for found, _ in shown] == [expected for _, expected in shown]
    assert len(repr(long)) < 120
    run = joined.writeStream.format("noop").queryName("shown").trigger(availableNow=True).start()
    run.awaitTermination()
    assert re.fullmatch(r"Run\('shown', id [0-9a-f]{8}, ended\)", repr(run))


TRIED: dict[str, tuple[Callable[[braid.Join], Any], str]] = {
    "join(how)": (lambda join: braid.join(*join.streams, how="left"), "inner joins"),
    "join(on)": (lambda join: braid.join(*join.streams, on="o.id = q.id"), ".on: braid.join(a, b).on("),
    "on(how)": (lambda join: join.on("o.id = q.id", how="outer"), "inner joins"),
    "join.join": (lambda join: join.join(join), "braid.join(a, b, c)"),
    "crossJoin": (lambda join: join.crossJoin(join), "every pair in the windows"),
    "join.withWatermark": (lambda join: join.withWatermark("ts", "1 s"), "lateness="),
    "stream.withWatermark": (lambda join: join.streams[0].withWatermark("ts", "1 s"), "lateness="),
    "stream.join": (lambda join: join.streams[0].join(join.streams[1]), "braid.join(a, b)"),
    "orderBy": (lambda join: join.orderBy("ts"), ".ordered()"),
    "show": (lambda join: join.show(), ".batch()"),
    "grouped.count": (lambda join: join.groupBy("o.id").count(), "count(*) AS n"),
    "toTable": (lambda join: join.writeStream.toTable("t"), "saveAsTable"),
    "partitionBy": (lambda join: join.writeStream.partitionBy("d"), "partitionBy(...)"),
    "foreach": (lambda join: join.writeStream.foreach(print), ".foreachBatch"),
    "a misspelt method": (lambda join: join.writeStream.querryName("x"), "Did you mean .queryName?"),
}


@pytest.mark.parametrize("case", TRIED)
def test_what_spark_has_is_answered_with_a_hint(live: DataFrame, case: str) -> None:
    attempt, fragment = TRIED[case]
    with pytest.raises(errors.QueryError) as caught:
        attempt(two(live))
    assert fragment in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_other_missing_attributes_stay_missing(live: DataFrame) -> None:
    joined = two(live)
    assert not hasattr(joined, "__len__")
    assert not hasattr(joined, "_repr_html_")
    assert not hasattr(joined, "nothing")


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("s", "df.withColumn('s', to_timestamp('s'))"),
        ("d", "df.withColumn('d', to_timestamp('d'))"),
        ("id", "timestamp_seconds('id')), or timestamp_millis"),
    ],
)
def test_times_of_other_types_get_a_hint_how_to_become_timestamps(live: DataFrame, column: str, hint: str) -> None:
    with pytest.raises(errors.StreamError) as caught:
        braid.stream("o", live, time=column, window="1 s")
    assert hint in str(caught.value)


def test_a_watermark_of_sparks_is_warned_of(live: DataFrame) -> None:
    with pytest.warns(errors.WatermarkWarning, match="stream 'o' has withWatermark") as caught:
        braid.stream("o", live.withWatermark("ts", "1 second").filter("id > 0"), time="ts", window="1 s")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        braid.stream("o", live, time="ts", window="1 s")


def test_an_interrupt_ends_the_run_after_the_step_without_a_traceback(java: None, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in a step\n"
    process.send_signal(signal.SIGINT)
    (tmp_path / "go on").touch()
    said, errors_said = process.communicate(timeout=240)
    assert said == "ended True, active False, 1 steps\nthe script goes on\n"
    assert "Stopping after the step under way" in errors_said
    assert "Traceback" not in errors_said
    assert process.returncode == 0
    assert len(list((tmp_path / "checkpoint" / "manifests").glob("*.json"))) == 1, "the step was not committed"
