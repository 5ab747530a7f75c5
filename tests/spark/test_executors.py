"""An elastic query asks Spark for executors where their number may change, and runs on where it is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkConf
from pyspark.sql import SparkSession

import braid
from braid.control.executors import Allocation
from braid.spark import cluster as spark_cluster
from braid.spark import executors
from braid.spark.cluster import SparkCluster
from tests.oracle.feeds import Feed, Place, at

STEPS, ROWS = 5, 100


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> braid.Join:
    """A join whose sides soon ask for more units."""
    frames = []
    for name in "oq":
        feed = Feed(spark, tmp_path / "input" / name, "id bigint, ts timestamp, k int")
        for step in range(STEPS):
            feed.add(*((ROWS * step + n, at(step), n) for n in range(ROWS)))
        frames.append(feed.stream)
    streams = [braid.stream(name, df, time="ts", window="1 hour") for name, df in zip("oq", frames, strict=True)]
    joined = braid.join(*streams).on("o.k = q.k").select("o.id AS o", "q.id AS q")
    return joined.elastic(period="1 millisecond", patience=1, capacity="1k", max_units=3)


def settings(**given: str) -> SparkConf:
    conf = SparkConf(loadDefaults=False)
    for name, value in given.items():
        conf.set(f"spark.{name.replace('_', '.')}", value)
    return conf


def said(run: braid.Run) -> list[str]:
    return [text for record in run.recentProgress for text in record["adaptations"] if "executors" in text]


def test_bounds_are_read_from_the_configuration() -> None:
    assert executors.read_allocation(settings()) == Allocation(1, 0, None)
    given = settings(
        executor_cores="8", task_cpus="2", dynamicAllocation_minExecutors="3", dynamicAllocation_maxExecutors="9"
    )
    assert executors.read_allocation(given) == Allocation(4, 3, 9)


def test_executors_are_asked_for_with_every_new_layout(
    query: braid.Join, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    conf = settings(dynamicAllocation_enabled="true", executor_cores="2")

    def request(_: SparkSession, count: int) -> bool:
        asked.append(count)
        return True

    monkeypatch.setattr(executors, "request_total", request)
    monkeypatch.setattr("pyspark.SparkContext.getConf", lambda _: conf)
    run = place.run(query)
    layouts = [record for record in run.recentProgress if any("adds" in text for text in record["adaptations"])]
    assert len(asked) == 1 + len(layouts) >= 2
    assert asked[0] == 1
    assert asked[-1] == 3
    assert said(run)[-1] == "asks Spark for 3 executors, a core for each unit of the largest side"
    assert len(place.rows()) == ROWS * STEPS * STEPS


def refuse(_: SparkSession, __: int) -> bool:
    return False


def fail(_: SparkSession, __: int) -> bool:
    raise Py4JError("not today")


@pytest.mark.parametrize(("request_total", "reason"), [(refuse, "did not take the request"), (fail, "not today")])
def test_a_refusal_is_reported_and_stops_nothing(
    query: braid.Join,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    request_total: Callable[[SparkSession, int], bool],
    reason: str,
) -> None:
    conf = settings(dynamicAllocation_enabled="true")
    monkeypatch.setattr(executors, "request_total", request_total)
    monkeypatch.setattr("pyspark.SparkContext.getConf", lambda _: conf)
    run = place.run(query)
    assert said(run)[0].startswith("asked Spark for 2 executors without effect: ")
    assert reason in said(run)[0]
    assert reason in caplog.text
    assert len(place.rows()) == ROWS * STEPS * STEPS


def test_nothing_is_asked_where_the_number_is_fixed(query: braid.Join, place: Place) -> None:
    assert said(place.run(query)) == []


def test_slots_follow_the_cores_between_steps(query: braid.Join, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([3, 1, 1, 4, 2])
    anchored: list[int] = []
    anchor: Callable[..., None] = SparkCluster._anchor_to

    def remember(self: SparkCluster, slots: int) -> None:
        anchored.append(slots)
        anchor(self, slots)

    monkeypatch.setattr(SparkCluster, "_anchor_to", remember)
    monkeypatch.setattr(spark_cluster, "slot_count", lambda _: next(counts))
    place.run(query)
    assert anchored == [2, 3, 1, 4, 2]
    assert len(place.rows()) == ROWS * STEPS * STEPS
