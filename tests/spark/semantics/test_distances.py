"""Joins by distances on the globe: workers exclude pairs, the JVM decides on the rest, and the answer is Spark's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pyspark.sql import SparkSession

import braid
from tests.oracle.feeds import Feed, Place, at
from tests.spark.semantics.pairs import rows_of

DISTANCE = """2 * 6371 * asin(sqrt(pow(sin(radians({b}lat - {a}lat) / 2), 2)
    + cos(radians({a}lat)) * cos(radians({b}lat)) * pow(sin(radians({b}lon - {a}lon) / 2), 2)))"""
KILOMETRES = DISTANCE.format(a="a.", b="b.")
COLUMNS = "id bigint, ts timestamp, lat double, lon double"


def rows(seed: int, count: int) -> list[tuple[object, ...]]:
    generator = np.random.default_rng(seed)
    places = np.round(generator.uniform((47.0, 15.0), (47.5, 15.7), (count, 2)), 3).tolist()
    unknown = [(count, at(1), None, 15.0), (count + 1, at(1), float("nan"), 15.0)]
    return [*((number, at(number % 5), *place) for number, place in enumerate(places)), *unknown]


def test_places_within_a_distance(
    spark: SparkSession, feed: Callable[..., Feed], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """The limits are distances of pairs, bit by bit: of these two pairs only that of the inclusive limit is found."""
    left, right = feed("a", COLUMNS), feed("b", COLUMNS)
    for part in range(2):
        left, right = left.add(*rows(1, 90)[part::2]), right.add(*rows(2, 90)[part::2])
    pairs = left.static.alias("a").crossJoin(right.static.alias("b"))
    known = sorted(row.km for row in pairs.selectExpr(f"{KILOMETRES} AS km").where("km < 30000").collect())
    condition = f"{KILOMETRES} <= {known[400]!r}D AND {KILOMETRES} > {known[3]!r}D"
    wanted = pairs.where(condition).selectExpr("a.id AS a", "b.id AS b")
    streams = (
        braid.stream(name, feed.stream, time="ts", window="10 seconds", lateness="10 seconds")
        for name, feed in (("a", left), ("b", right))
    )
    query = braid.join(*streams).on(condition).select("a.id AS a", "b.id AS b")
    query.explain("physical")
    explained = capsys.readouterr().out
    assert explained.count("then in Python (pairs that may match)") == 4
    assert explained.count("then in the JVM (its last bits depend on the JVM)") == 4
    place.run(query)
    assert place.rows() == rows_of(wanted)
    assert 390 < wanted.count() < 405
