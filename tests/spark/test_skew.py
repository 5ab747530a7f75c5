"""A hot key through a real run: it is named, spread over units, and the plan says so while it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid.kernels.readable import MAX_TEXT
from tests.oracle.feeds import Feed, Place, at

ROW = "id bigint, ts timestamp, name string"
HOT, ROWS = "AAPL", 1200


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[[str], Feed]:
    return lambda name: Feed(spark, tmp_path / "input" / name, ROW)


def some(step: int, hot: float) -> list[tuple[object, ...]]:
    """Rows of which a share has one key, the others each its own; few pairs are within a window of no length."""
    names = [HOT if n % 100 < hot * 100 else f"s{step}-{n}" for n in range(ROWS)]
    return [(step * ROWS + n, at(step * 10 + n / 1000), name) for n, name in enumerate(names)]


def joined(left: DataFrame, right: DataFrame, on: str = "o.name = q.name") -> braid.Join:
    streams = [braid.stream(name, df, time="ts", window="0 seconds") for name, df in (("o", left), ("q", right))]
    return braid.join(*streams).on(on).select("o.id AS o", "q.id AS q")


def test_a_hot_key_is_named_and_spread(
    feed: Callable[[str], Feed], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    orders, quotes = feed("o"), feed("q")
    for step in range(3):
        orders.add(*some(step, 0.75))
        quotes.add(*some(step, 0.0 if step else 0.75))
    query = joined(orders.stream, quotes.stream)
    query.explain("layout")
    assert "hot keys: spread over fewer subgroups where the fullest unit would hold" in capsys.readouterr().out
    run = place.run(query)
    first, second, third = run.recentProgress
    assert first["adaptations"] == third["adaptations"] == []
    (said,) = second["adaptations"]
    assert said.startswith(f"spreads hot keys: 2 → 1 subgroups, key '{HOT}' has 75% of o, the fullest unit goes from")
    assert {"stream": "o", "key": HOT, "share": 0.75} in third["hotKeys"]
    run.explain()
    printed = capsys.readouterr().out
    assert "in force after step 2: units per stream 2, 2; random routing" in printed
    assert f"hot: key '{HOT}' has 75% of o" in printed
    assert "(seen: " in printed
    assert "guess" not in printed
    assert len(place.rows()) == ROWS + 2 * ROWS // 4
    restarted = place.run(joined(orders.add(*some(3, 0.75)).stream, quotes.stream))
    assert restarted.lastProgress is not None
    assert restarted.lastProgress["adaptations"] == []
    restarted.explain("layout")
    assert "random routing" in capsys.readouterr().out


def test_keys_are_named_by_their_value_even_where_only_the_jvm_knows_them(
    feed: Callable[[str], Feed], place: Place
) -> None:
    orders, quotes = feed("o"), feed("q")
    long = "x" * (MAX_TEXT + 9)
    orders.add(*((n, at(n), long) for n in range(ROWS)))
    quotes.add(*((n, at(n + 0.5), "y") for n in range(ROWS)))
    run = place.run(joined(orders.stream, quotes.stream, "upper(o.name) = lower(q.name)"))
    assert run.lastProgress is not None
    assert run.lastProgress["hotKeys"] == [
        {"stream": "o", "key": "x" * MAX_TEXT + "…", "share": 1.0},
        {"stream": "q", "key": "y", "share": 1.0},
    ]


def test_auto_is_elastic_for_equalities_too(feed: Callable[[str], Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    for step in range(4):
        orders.add(*some(step, 0.0))
        quotes.add(*some(step, 0.0))
    query = joined(orders.stream, quotes.stream)
    run = place.run(query.elastic(period="1 millisecond", patience=1, capacity="4k", max_units=2))
    assert any("adds" in text for record in run.recentProgress for text in record["adaptations"])
    assert len(place.rows()) == 4 * ROWS
