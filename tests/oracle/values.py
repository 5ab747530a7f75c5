"""Random columns: every type a stream may have, with the values that break joins (NULL, NaN, -0.0, ties, extremes).

Pools are small, so that equal and near values meet often. Only `wide` holds extremes of its type: it is compared but
never added to, so that no random expression overflows.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

START = datetime(2024, 3, 10, 6, 59, 40)


@dataclass(frozen=True)
class Kind:
    """A type of column: as Spark writes it, as Arrow holds it, and the values it takes."""

    sql: str
    arrow: pa.DataType
    pool: tuple[Any, ...]


def moments(seconds: tuple[float, ...]) -> tuple[datetime, ...]:
    return tuple(START + timedelta(seconds=second) for second in seconds)


REALS = (math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 0.3, 1.0, 1.5, 2.0, -2.5, 1e300)
AMOUNTS = tuple(Decimal(text) for text in ("0.00", "0.10", "0.30", "1.00", "1.50", "-2.50"))
DAYS = (date(1969, 12, 31), date(2024, 3, 1), date(2024, 3, 9), date(2024, 3, 10), date(2024, 3, 11))
STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])
TIMES = moments((0, 1, 2, 2.000001, 5, 3600, 86_399.999999))
TEXTS = ("", "a", "A", "ab", "Ab%", "b_c", "ß", "É", "😀", " a ", "abc", "12", "-3", "x'y", "a\\b")
STRUCTS = ({"a": 1, "b": "x"}, {"a": 1, "b": None}, {"a": None, "b": None}, {"a": 2, "b": "😀"})

KINDS: dict[str, Kind] = {
    "long": Kind("bigint", pa.int64(), (-3, -1, 0, 1, 2, 3, 4, 7)),
    "wide": Kind("bigint", pa.int64(), (2**63 - 1, -(2**63), 2**53, 2**53 + 1, 0, 1, -1)),
    "whole": Kind("int", pa.int32(), (-2, -1, 0, 1, 2, 3, 5, 8)),
    "small": Kind("smallint", pa.int16(), (-2, 0, 1, 2, 3, 5)),
    "real": Kind("double", pa.float64(), REALS),
    "single": Kind("float", pa.float32(), (math.nan, math.inf, -0.0, 0.0, 0.5, 1.0, 1.5, 0.25, -2.0)),
    "money": Kind("decimal(10,2)", pa.decimal128(10, 2), AMOUNTS),
    "text": Kind("string", pa.string(), TEXTS),
    "flag": Kind("boolean", pa.bool_(), (True, False)),
    "day": Kind("date", pa.date32(), DAYS),
    "moment": Kind("timestamp", pa.timestamp("us", "UTC"), tuple(time.replace(tzinfo=UTC) for time in TIMES)),
    "local": Kind("timestamp_ntz", pa.timestamp("us"), TIMES),
    "bytes": Kind("binary", pa.binary(), (b"", b"\x00", b"\xff", b"a", b"ab")),
    "list": Kind("array<int>", pa.list_(pa.int32()), ([], [1], [1, 2], [None], [2, 1], [3, None, 1])),
    "pair": Kind("struct<a:int,b:string>", STRUCT, STRUCTS),
}  # fmt: skip
NULL_SHARE = 0.1


def random_values(random_: random.Random, kind: str, count: int) -> pa.Array:
    """A column of a kind, with NULLs in it."""
    pool = KINDS[kind].pool
    few = random_.sample(pool, min(len(pool), random_.choice((2, 4, 7))))
    values = [None if random_.random() < NULL_SHARE else random_.choice(few) for _ in range(count)]
    return pa.array(values, KINDS[kind].arrow)


def random_times(random_: random.Random, count: int, span_s: int, zoned: bool) -> pa.Array:
    """Event times on a grid of seconds, so that ties and exact bounds occur; some a microsecond off, a few null."""
    values: list[datetime | None] = []
    for _ in range(count):
        time = START + timedelta(
            seconds=random_.randrange(span_s), microseconds=random_.choice((0, 0, 0, 0, 1, 999_999))
        )
        values.append(None if random_.random() < 0.03 else time.replace(tzinfo=UTC) if zoned else time)
    return pa.array(values, pa.timestamp("us", "UTC" if zoned else None))
