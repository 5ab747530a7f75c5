"""Functions of dates and times in workers, against Spark: every zone's clock changes, and the ends of the calendar."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.analysis.test_functions import SEED, analyzer_of, compare, with_nulls

DDL = "ts timestamp, n timestamp_ntz, day date, i int"
SECOND = 1_000_000
YEAR_1, YEAR_10000 = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND
OF_DATES = (
    "year", "month", "day", "dayofmonth", "quarter", "dayofyear", "dayofweek", "weekday", "weekofyear", "last_day",
)  # fmt: skip
PARTS = [
    *(f"{name}(o.{column})" for name in OF_DATES for column in ("ts", "n", "day")),
    *(f"{name}(o.{column})" for name in ("hour", "minute", "second") for column in ("ts", "n")),
    *(
        f"{name}(o.ts)"
        for name in ("unix_micros", "unix_millis", "unix_seconds", "unix_timestamp", "to_unix_timestamp")
    ),
    "extract(HOUR FROM o.ts)",
    "extract(SECOND FROM o.ts)",
    "extract(DOW FROM o.day)",
    "date_part('year', o.n)",
    "to_date(o.ts)",
    "CAST(o.ts AS date)",
    "CAST(o.n AS date)",
    "CAST(o.ts AS bigint)",
    "CAST(o.ts AS double)",
    "unix_date(o.day)",
    "datediff(o.day, q.day)",
    "datediff(o.ts, q.n)",
    "o.day + 1",
    "date_add(o.day, q.i)",
    "date_sub(o.day, 40)",
    *(f"trunc(o.day, '{unit}')" for unit in ("year", "YY", "quarter", "month", "MON", "week")),
    "date_trunc('second', o.ts)",
    "date_trunc('MILLISECOND', o.ts)",
    "hour(o.ts) = hour(q.ts) AND year(o.ts) < year(q.ts)",
]
UNITS = ("year", "yyyy", "quarter", "mon", "week", "day", "dd", "hour", "minute")
ZONES = {
    "UTC": True, "Europe/Vienna": False, "+05:30": True, "Australia/Lord_Howe": False, "Africa/Casablanca": False,
}  # fmt: skip
"""Zones, and whether their offset never changes."""


def instants(generator: np.random.Generator, changes: list[int]) -> np.ndarray:
    around = np.array(changes or [0], np.int64) * SECOND
    near = (around[:, None] + np.array([-3_600 * SECOND, -1, 0, 1, 1_800 * SECOND])).ravel()
    return np.concatenate([
        np.array([YEAR_1, YEAR_1 - 1, YEAR_10000 - 1, YEAR_10000, 0, -1, 1, -500_000, 951_782_400 * SECOND]),
        generator.integers(YEAR_1, YEAR_10000, 2000),
        generator.integers(-2 * 10**15, 4 * 10**15, 4000),
        generator.integers(-(2**62), 2**62, 200),
        generator.choice(near, 2000),
    ])  # fmt: skip


def table_of(generator: np.random.Generator, changes: list[int]) -> pa.Table:
    columns = {}
    for name in ("o", "q"):
        times = instants(generator, changes)
        days = np.concatenate([
            np.array([-719_162, 2_932_896, 0, -1, 59, 11_016, 11_017]),
            generator.integers(-(10**6), 4 * 10**6, len(times) - 7),
        ])  # fmt: skip
        columns[f"{name}.ts"] = with_nulls(generator.permutation(times), generator, pa.int64()).cast(
            pa.timestamp("us", "UTC")
        )
        columns[f"{name}.n"] = with_nulls(generator.permutation(times), generator, pa.int64()).cast(pa.timestamp("us"))
        columns[f"{name}.day"] = with_nulls(days.astype(np.int32), generator, pa.int32()).cast(pa.date32())
        columns[f"{name}.i"] = with_nulls(
            generator.integers(-9999, 9999, len(times)).astype(np.int32), generator, pa.int32()
        )
    return pa.table(columns)


@pytest.mark.parametrize("zone", ZONES)
def test_functions_of_times(spark: SparkSession, zone: str) -> None:
    generator = np.random.default_rng(SEED)
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rules = spark._jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(zone).getRules()  # type: ignore[union-attr, operator]
        changes = [int(change.toEpochSecond()) for change in rules.getTransitions()]
        changes += [
            int(rule.createTransition(y).toEpochSecond()) for rule in rules.getTransitionRules() for y in (2200, 8000)
        ]
        texts = [*PARTS, *(f"date_trunc('{unit}', o.ts)" for unit in UNITS if ZONES[zone])]
        compare(spark, DDL, texts if zone in ("UTC", "Europe/Vienna") else zoned(texts), table_of(generator, changes))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def zoned(texts: list[str]) -> list[str]:
    """The expressions that depend on the zone."""
    return [text for text in texts if "o.ts" in text and "unix" not in text]


def test_units_that_begin_with_clock_changes_stay_in_the_jvm(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    try:
        texts = [
            *(f"date_trunc('{unit}', o.ts)" for unit in UNITS),
            "date_trunc('century', o.ts)",
            "trunc(o.day, 'day')",
        ]
        outputs = analyzer_of(spark, DDL).selection([f"{text} AS c{n}" for n, text in enumerate(texts)])
        assert [output.expression for output in outputs] == [None] * len(texts)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
