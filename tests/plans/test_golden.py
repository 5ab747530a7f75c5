"""Plans as text, compared with what was accepted before. `BRAID_ACCEPT=1` writes what is printed now."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import braid

GOLDEN = Path(__file__).parent / "golden"
SLICED_WINDOWS = {"r": "10 seconds", "s": "20 seconds", "t": "30 seconds"}
SCHEMA = "id bigint, k int, big bigint, x double, name string, ts timestamp"


def near(left: object, right: object) -> object:
    raise AssertionError("plans are printed, not run")


def two(on: str | None, window: Any = "10 seconds") -> Callable[[SparkSession], braid.Join]:
    def build(spark: SparkSession) -> braid.Join:
        empty = spark.createDataFrame([], SCHEMA)
        streams = [braid.stream(name, empty, time="ts", window=window) for name in ("o", "q")]
        query = braid.join(*streams).select("o.id AS order", "q.id AS quote")
        return query if on is None else query.on(on)

    return build


def three(on: str) -> Callable[[SparkSession], braid.Join]:
    def build(spark: SparkSession) -> braid.Join:
        empty = spark.createDataFrame([], SCHEMA)
        streams = [braid.stream(name, empty, time="ts", window="1 minute", lateness="5 seconds") for name in "rst"]
        return braid.join(*streams).on(on)

    return build


def tree(on: str) -> Callable[[SparkSession], braid.Join]:
    return lambda spark: three(on)(spark).using(braid.Biclique(units=2, shape="tree"))


def with_function(spark: SparkSession) -> braid.Join:
    return two("o.k = q.k AND length(o.name) > 2")(spark).on(braid.udf(near, "o.x", "q.x"))


def in_time_slices(spark: SparkSession) -> braid.Join:
    empty = spark.createDataFrame([], SCHEMA)
    streams = [braid.stream(name, empty, time="ts", window=window) for name, window in SLICED_WINDOWS.items()]
    query = braid.join(*streams).using(braid.TimeSliced(units=4))
    for one, other, cost in (("r", "s", 1e-5), ("s", "t", 2e-4)):
        near_ = braid.udf(near, f"{one}.x", f"{other}.x", raises=False, selectivity=0.01, cost=cost)
        query = query.on(near_)
    return query


def at_sites(spark: SparkSession) -> braid.Join:
    empty = spark.createDataFrame([], SCHEMA)
    streams = [
        braid.stream(name, empty, time="ts", window="1 minute", site=site)
        for name, site in (("r", "eu"), ("s", "us"), ("t", "us"))
    ]
    plans = {
        "r": [("s", "SM-S2"), ("t", "SM-D1")],
        "s": [("t", "SP-D"), ("r", "SM-S1")],
        "t": [("s", "SP-D"), ("r", "SM-D2")],
    }
    return braid.join(*streams).on("r.k = s.k AND s.x > t.x").using(braid.Semijoin(plans=plans))


CASES: dict[str, Callable[[SparkSession], braid.Join]] = {
    "equality": two("o.k = q.k"),
    "equality_across_types_with_band": two("o.k = q.big AND abs(o.x - q.x) <= 0.5"),
    "equality_of_strings_null_safe": two("o.name = q.name AND o.k <=> q.k"),
    "equality_of_expressions": two("upper(o.name) = lower(q.name) AND o.k = 7"),
    "band": two("o.x BETWEEN q.x - 1 AND q.x + 2"),
    "inequality": two("o.x < q.x", braid.unbounded),
    "theta": two("(o.x - q.x) * (o.x - q.x) + o.k <= 10"),
    "in_the_jvm": two("o.name LIKE concat(q.name, '%') AND o.k / q.k > 2"),
    "interval": two("q.ts BETWEEN o.ts - INTERVAL 5 SECONDS AND o.ts + INTERVAL 1 SECOND", "auto"),
    "interval_of_months": two("q.ts BETWEEN o.ts - INTERVAL 1 MONTH AND o.ts + INTERVAL 25 HOURS", "auto"),
    "ordered": lambda spark: two("o.k = q.k")(spark).ordered(),
    "cross": two(None),
    "function": with_function,
    "time_slices": in_time_slices,
    "three_at_sites": at_sites,
    "three_star": three("r.k = s.k AND s.k = t.k"),
    "three_chain": three("r.k = s.k AND s.big = t.big AND r.x > t.x"),
    "three_tree": tree("r.k = s.k AND s.big = t.big AND r.x > t.x"),
    "three_tree_band": tree("abs(r.x - s.x) < 1 AND abs(s.x - t.x) < 1 AND length(s.name) > length(t.name)"),
    "three_aligned": lambda spark: three("length(r.name) > length(s.name) AND s.x * t.x > 1")(spark).using(
        braid.AlignedRouting("90 seconds", units=4, master="s")
    ),
    "three_coordinated": lambda spark: three("length(r.name) > length(s.name) AND s.x * t.x > 1")(spark).using(
        braid.CoordinatedRouting(3, units=8)
    ),
    "three_band": three("abs(r.x - s.x) < 1 AND abs(s.x - t.x) < 1"),
}


@pytest.mark.parametrize("name", CASES)
def test_plan_is_as_accepted(name: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    CASES[name](spark).explain()
    printed = capsys.readouterr().out
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("BRAID_ACCEPT"):
        path.write_text(printed)
    assert printed == path.read_text()


def test_one_stage_is_part_of_the_whole(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    query = two("o.k = q.k")(spark)
    query.explain()
    whole = capsys.readouterr().out
    for stage in ("logical", "physical", "layout"):
        query.explain(stage)
        assert capsys.readouterr().out.strip() in whole


def test_an_unknown_stage_is_refused(spark: SparkSession) -> None:
    with pytest.raises(braid.BraidError, match="no stage 'costs' to explain"):
        two("o.k = q.k")(spark).explain("costs")
