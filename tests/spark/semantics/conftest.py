"""Feeds, settings and two small streams for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.oracle.feeds import Feed, at
from tests.spark.semantics.pairs import ROW


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[..., Feed]:
    return lambda name, ddl=ROW: Feed(spark, tmp_path / "input" / name, ddl)


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Session settings that are put back afterwards."""
    before: dict[str, str] = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, str(spark.conf.get(name)))
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture
def two(feed: Callable[..., Feed]) -> tuple[Feed, Feed]:
    """Two batches a stream: (1, 1) is found in the first, the rest in the second."""
    orders, quotes = feed("o").add((1, at(0), 1)), feed("q").add((1, at(0), 1))
    return orders.add((2, at(1), 1)), quotes.add((2, at(1), 1))
