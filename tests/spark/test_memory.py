"""Limits on Spark: the same rows under a memory limit, which progress reports, and a checkpoint that may not grow."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import braid
from braid import errors
from braid.plan.memory import FLOOR_BYTES
from tests.oracle.feeds import Feed, Place, at

STEPS, ROWS = 3, 200
STRATEGIES = (braid.Partitioned(units=2), braid.Biclique(units=1), braid.TimeSliced(units=2))


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> braid.Join:
    frames = []
    for name in "oq":
        feed = Feed(spark, tmp_path / "input" / name, "id bigint, ts timestamp, k int")
        for step in range(STEPS):
            feed.add(*((ROWS * step + n, at(step), n) for n in range(ROWS)))
        frames.append(feed.stream)
    streams = [braid.stream(name, df, time="ts", window="1 hour") for name, df in zip("oq", frames, strict=True)]
    return braid.join(*streams).on("o.k = q.k").select("o.id AS o", "q.id AS q")


def expected() -> list[tuple[int, ...]]:
    ids = [[ROWS * step + n for step in range(STEPS)] for n in range(ROWS)]
    return sorted(pair for own in ids for pair in itertools.product(own, own))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_a_limit_changes_no_rows_and_progress_reports_what_workers_use(
    query: braid.Join, place: Place, strategy: braid.Partitioned
) -> None:
    run = place.run(query.using(strategy).memory(limit=FLOOR_BYTES, disk_limit="1g"))
    assert place.rows() == expected()
    for record in run.recentProgress:
        memory = record["memory"]
        assert 0 <= memory["resident"] <= memory["peak"]
        assert memory["executors"] == 1
        assert memory["workers"] >= 1
        assert 0 < memory["diskBytes"] < memory["diskLimit"] == 1 << 30


def test_deferred_results_come_at_the_end_of_the_input_each_once(query: braid.Join, place: Place) -> None:
    """The limit is far above the state, so units push groups at a small share of it."""
    partitioned = query.using(braid.Partitioned(units=2, groups=16))
    run = place.run(partitioned.memory(limit=FLOOR_BYTES, overflow="lazy-disk", spill_at=0.0001, balance=0.01))
    progress = run.recentProgress
    assert any("spills" in text for record in progress for text in record["adaptations"])
    assert any(record["deferred"] for record in progress)
    assert (progress[-1]["deferred"], progress[-1]["sparkBatchId"]) == ({}, None)
    assert progress[-1]["numOutputRows"] > 0
    assert place.rows() == expected()


def test_a_limit_below_the_floor_is_refused_at_start(query: braid.Join, place: Place) -> None:
    with pytest.raises(errors.StrategyError, match="is below the 24m"):
        place.run(query.using(braid.Partitioned(units=2)).memory(limit="1m"))


def test_a_run_that_reaches_its_disk_limit_stops_and_a_larger_one_continues(query: braid.Join, place: Place) -> None:
    with pytest.raises(errors.StorageError, match="disk_limit"):
        place.run(query.memory(disk_limit="1k"))
    place.run(query.memory(disk_limit="1g"))
    assert place.rows() == expected()
