"""Which rows come out: windows, late rows, expiry."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

import braid
from braid import errors
from tests.oracle.answer import answers, difference
from tests.oracle.feeds import Feed, Place, at
from tests.spark.semantics.pairs import ROW, pair


def test_the_window_bound_is_inclusive_and_each_stream_has_its_own(
    spark: SparkSession, feed: Callable[..., Feed]
) -> None:
    orders = feed("o").add((1, at(0), 1), (2, at(30), 1))
    quotes = feed("q").add((1, at(10), 1), (2, at(10.000001), 1), (3, at(27), 1), (4, at(26.999999), 1))
    joined = (
        braid.join(
            braid.stream("o", orders.static, time="ts", window="10 seconds"),
            braid.stream("q", quotes.static, time="ts", window=timedelta(seconds=3)),
        )
        .on("o.k = q.k")
        .select("o.id AS o", "q.id AS q", "result_time")
        .batch()
    )
    expected = spark.createDataFrame([(1, 1, at(10)), (2, 3, at(30))], "o bigint, q bigint, result_time timestamp")
    assert joined.columns == ["o", "q", "result_time"]
    assert not difference(*answers([expected, joined]))


def test_a_late_row_is_strictly_older_than_the_watermark(feed: Callable[..., Feed], place: Place) -> None:
    orders = feed("o").add((1, at(100), 1)).add((2, at(95), 1), (3, at(94.999999), 1), (4, None, 1), (5, at(300), 1))
    quotes = feed("q", f"{ROW}, note string, tags array<int>").add((1, at(96), 1, "first", [1]))
    quotes.add((2, at(90), 1, "späť", [7, None]), (3, at(97), None, None, None))
    run = place.run(pair(orders.stream, quotes.stream, "1 hour", lateness="5 seconds").on("o.k = q.k"))

    assert place.rows() == [(1, 1), (2, 1), (5, 1)]
    first, second = run.recentProgress
    assert (first["lateRows"], second["lateRows"]) == ({"o": 0, "q": 0}, {"o": 2, "q": 1})
    assert first["watermarks"] == {"o": None, "q": None}
    assert second["watermarks"] == {"o": "2024-01-01T00:01:35.000Z", "q": "2024-01-01T00:01:31.000Z"}

    late = run.late_rows()
    assert late.columns == ["stream", "batch", "watermark", "row", "reason"]
    found = {
        (row["stream"], json.loads(row["row"])["id"]): row
        for row in late.selectExpr("stream", "batch", "unix_micros(watermark) AS mark", "row").collect()
    }
    assert set(found) == {("o", 3), ("o", 4), ("q", 2)}
    assert {row["batch"] for row in found.values()} == {1}
    assert found["o", 3]["mark"] == int(at(95).timestamp()) * 1_000_000
    whole = json.loads(found["q", 2]["row"])
    assert (whole["k"], whole["note"], whole["tags"]) == (1, "späť", [7, None])
    assert set(whole) == {"id", "ts", "k", "note", "tags"}
    assert json.loads(found["o", 4]["row"])["ts"] is None

    time.sleep(0.05)
    forgetful = place.run(
        pair(orders.stream, quotes.stream, "1 hour", lateness="5 seconds").on("o.k = q.k"), retention="1 ms"
    )
    assert forgetful.late_rows().count() == 0
    assert place.rows() == [(1, 1), (2, 1), (5, 1)]


@pytest.mark.parametrize(
    ("window", "lateness", "joined"),
    [(braid.unbounded, None, True), ("1 hour", None, False), ("1 hour", braid.unbounded, True)],
)
def test_lateness_defaults_to_no_limit_only_where_nothing_expires(
    feed: Callable[..., Feed], place: Place, window: Any, lateness: Any, joined: bool
) -> None:
    orders = feed("o").add((1, at(100), 1)).add((2, at(99), 1))
    quotes = feed("q").add((1, at(100), 1))
    run = place.run(pair(orders.stream, quotes.stream, window, lateness=lateness).on("o.k = q.k"))
    assert place.rows() == ([(1, 1), (2, 1)] if joined else [(1, 1)])
    assert sum(record["lateRows"]["o"] for record in run.recentProgress) == (0 if joined else 1)


def test_a_pushed_selection_does_not_change_what_is_late(feed: Callable[..., Feed], place: Place) -> None:
    orders = feed("o").add((1, at(10), 1), (2, at(500), -1)).add((3, at(20), 1), (4, at(500), 1))
    quotes = feed("q").add((1, at(10), 1))
    run = place.run(pair(orders.stream, quotes.stream, "1 hour").on("o.k > 0 AND o.k = q.k"))
    assert place.rows() == [(1, 1), (4, 1)]
    assert [record["lateRows"]["o"] for record in run.recentProgress] == [0, 1]


def test_state_expires_when_no_partner_can_come(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    for number in range(4):
        orders.add((number, at(100 * number), 1))
        quotes.add((number, at(100 * number), 1))
    run = place.run(pair(orders.stream, quotes.stream, "10 seconds").on("o.k = q.k"))
    assert place.rows() == [(number, number) for number in range(4)]
    assert run.lastProgress is not None
    assert run.lastProgress["stateRows"] <= 4


def test_a_row_of_a_self_join_pairs_with_itself(feed: Callable[..., Feed], place: Place) -> None:
    events = feed("e").add((1, at(0), 1)).add((2, at(1), 1), (3, at(1), 2))
    source = events.stream
    place.run(pair(source, source).on("o.k = q.k"))
    assert place.rows() == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3)]


def test_duplicates_count(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o").add((1, at(0), 1), (1, at(0), 1)), feed("q").add((1, at(0), 1)).add((1, at(0), 1))
    place.run(pair(orders.stream, quotes.stream).on("o.k = q.k"))
    assert place.rows() == [(1, 1)] * 4


def test_an_automatic_window_is_what_the_predicate_allows(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o").add((1, at(0), 1)), feed("q").add((1, at(0), 1))
    orders.add((2, at(6), 1)).add((3, at(100), 1))
    quotes.add((2, at(5), 1), (3, at(5.000001), 1)).add((4, at(99), 1), (5, at(98.999999), 1))
    query = pair(orders.stream, quotes.stream, "auto").on(
        "q.ts BETWEEN o.ts - INTERVAL 1 SECOND AND o.ts + INTERVAL 5 SECONDS"
    )
    run = place.run(query)
    assert place.rows() == [(1, 1), (1, 2), (2, 2), (2, 3), (3, 4)]
    assert run.lastProgress is not None
    assert run.lastProgress["stateRows"] < 8


def test_an_automatic_window_without_a_bound_names_the_unbounded_side(feed: Callable[..., Feed]) -> None:
    orders, quotes = feed("o").add((1, at(0), 1)), feed("q").add((1, at(0), 1))
    with pytest.raises(errors.WindowError, match="state of 'o' would be unbounded"):
        pair(orders.static, quotes.static, "auto").on("q.ts >= o.ts").batch()
