"""Joins of two streams o and q by their ids, and their rows."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

import braid
from tests.oracle.feeds import Feed

ROW = "id bigint, ts timestamp, k int"


def pair(left: DataFrame, right: DataFrame, window: Any = "10 seconds", **options: Any) -> braid.Join:
    streams = (braid.stream(name, df, time="ts", window=window, **options) for name, df in (("o", left), ("q", right)))
    return braid.join(*streams).select("o.id AS o", "q.id AS q")


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


ALL_OF_TWO = [(1, 1), (1, 2), (2, 1), (2, 2)]


def equal_keys(feeds: tuple[Feed, Feed]) -> braid.Join:
    return pair(feeds[0].stream, feeds[1].stream).on("o.k = q.k")
