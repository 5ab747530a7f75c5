"""Values as Spark has them: static inputs, types, collations, time zones, ANSI mode, decimals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import braid
from braid import errors
from tests.oracle.answer import answers, difference
from tests.oracle.feeds import Feed, Place, at
from tests.spark.semantics.pairs import ROW, equal_keys, pair, rows_of


def test_static_and_streaming_inputs_do_not_mix(two: tuple[Feed, Feed]) -> None:
    with pytest.raises(errors.StreamError, match="static here: q"):
        pair(two[0].stream, two[1].static)
    with pytest.raises(errors.QueryError, match="static"):
        _ = pair(two[0].static, two[1].static).writeStream
    with pytest.raises(errors.QueryError, match="streaming"):
        equal_keys(two).batch()


def test_a_static_join_leaves_out_only_rows_without_a_time(feed: Callable[..., Feed]) -> None:
    orders = feed("o").add((1, at(100), 1), (2, at(0), 1), (3, None, 1))
    quotes = feed("q").add((1, at(100), 1), (2, at(0), 1))
    assert rows_of(pair(orders.static, quotes.static).on("o.k = q.k").batch()) == [(1, 1), (2, 2)]


def test_event_times_without_a_zone(feed: Callable[..., Feed], place: Place) -> None:
    ddl = "id bigint, ts timestamp_ntz, k int"
    zoneless = [at(second).replace(tzinfo=None) for second in (0, 10, 10.000001, 60, 20)]
    orders = feed("o", ddl).add((1, zoneless[0], 1)).add((2, zoneless[3], 1)).add((3, zoneless[4], 1))
    quotes = feed("q", ddl).add((1, zoneless[1], 1), (2, zoneless[2], 1))
    query = pair(orders.stream, quotes.stream).on("o.k = q.k").select("o.id AS o", "q.id AS q", "result_time")
    run = place.run(query)
    assert place.rows() == [(1, 1, zoneless[1])]
    assert run.late_rows().count() == 1


WIDE = {
    "id": "1L",
    "ts": "TIMESTAMP'2024-01-01 00:00:00.123456Z'",
    "tiny": "-1Y",
    "exact": "12345678901234567890.123456789012345678BD",
    "bin": "X'00FF'",
    "lookup": "map('k', array(1, NULL))",
    "day": "DATE'0001-01-01'",
    "local": "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    "single": "CAST('NaN' AS FLOAT)",
    "nested": "named_struct('a', 1, 'b', named_struct('c', '😀', 'd', array(named_struct('e', -0.0D))))",
    "period": "INTERVAL '1 02:03:04.000005' DAY TO SECOND",
    "flag": "true",
    "nothing": "NULL",
    "short": "CAST('vc' AS VARCHAR(5))",
    "odd `na.me": "'odd'",
}


def test_wide_types_pass_through_the_default_selection(spark: SparkSession) -> None:
    full = spark.sql(f"SELECT {', '.join(f'{sql} AS {quoted(name)}' for name, sql in WIDE.items())}")
    types = {field.name: field.dataType.simpleString() for field in full.schema}
    empty = [f"CAST(NULL AS {types[name]}) AS {quoted(name)}" for name in list(WIDE)[2:]]
    frame = full.unionAll(full.selectExpr("2L AS id", "ts", *empty)).coalesce(1)
    streams = (braid.stream(name, frame, time="ts", window="1 second") for name in ("o", "q"))
    found = braid.join(*streams).on("o.id = q.id").batch()
    expected = frame.selectExpr("struct(*) AS o", "struct(*) AS q", "ts AS result_time")
    assert found.columns == ["o", "q", "result_time"]
    assert found.schema.simpleString() == expected.schema.simpleString()
    assert not difference(*answers([expected, found]))


def test_a_type_that_cannot_be_kept_is_refused_by_name(spark: SparkSession) -> None:
    frame = spark.sql("SELECT TIMESTAMP'2024-01-01 00:00:00Z' AS ts, INTERVAL '1-2' YEAR TO MONTH AS term")
    with pytest.raises(errors.StreamError, match=r"'o' cannot have the column 'term'.*interval year to month"):
        braid.stream("o", frame, time="ts", window="1 second")
    streams = (braid.stream(name, frame.select("ts"), time="ts", window="1 second") for name in ("o", "q"))
    with pytest.raises(errors.QueryError, match=r"'none'.*array<void>"):
        braid.join(*streams).select("array() AS none").batch()


def quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def test_collations_are_spark_s(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT id, TIMESTAMP'2024-01-01 00:00:00Z' AS ts, name COLLATE UTF8_LCASE AS name "
        "FROM VALUES (1L, 'Straße'), (2L, 'STRASSE'), (3L, 'straße') AS t(id, name)"
    )
    assert rows_of(pair(frame, frame).on("o.name = q.name").batch()) == [(1, 1), (1, 3), (2, 2), (3, 1), (3, 3)]


@pytest.mark.parametrize(
    "predicate",
    [
        "q.ts = o.ts + INTERVAL 1 DAY",
        "q.ts BETWEEN o.ts AND o.ts + INTERVAL 1 DAY",
        "q.ts <= o.ts + INTERVAL 24 HOURS AND q.ts >= o.ts",
        "date_trunc('DAY', o.ts) = date_trunc('DAY', q.ts)",
        "CAST(o.ts AS DATE) = date_sub(CAST(q.ts AS DATE), 1)",
        "q.ts - o.ts <= INTERVAL 1 DAY AND o.ts <= q.ts",
        "hour(o.ts) = hour(q.ts)",
    ],
)
def test_a_zone_with_changes_of_its_clocks(
    spark: SparkSession, settings: Callable[[str, str], None], predicate: str
) -> None:
    """Times around both changes of a year, to and from summer time."""
    settings("spark.sql.session.timeZone", "America/New_York")
    times = []
    for start in (datetime(2024, 3, 10, tzinfo=UTC), datetime(2024, 11, 3, tzinfo=UTC)):
        times += [start + timedelta(hours=3 * number - 30, seconds=number % 2) for number in range(24)]
        times += [start + timedelta(minutes=30 * number) for number in range(16)]
    frame = spark.createDataFrame(list(enumerate(times)), "id bigint, ts timestamp").coalesce(1)
    found = pair(frame, frame, braid.unbounded).on(predicate).batch()
    frame.createOrReplaceTempView("events")
    expected = spark.sql(f"SELECT o.id AS o, q.id AS q FROM events AS o, events AS q WHERE {predicate}")
    assert not difference(*answers([expected, found]))


def test_an_automatic_window_of_a_day_has_25_hours_where_days_differ(
    spark: SparkSession, feed: Callable[..., Feed], settings: Callable[[str, str], None]
) -> None:
    """From noon to noon over the end of summer time: 25 hours, which a window of 24 would cut off."""
    settings("spark.sql.session.timeZone", "America/New_York")
    noon = datetime(2024, 11, 2, 16, tzinfo=UTC)
    orders, quotes = feed("o").add((1, noon, 1)).static, feed("q").add((1, noon + timedelta(hours=25), 1)).static
    day = "q.ts BETWEEN o.ts - INTERVAL 1 DAY AND o.ts + INTERVAL 1 DAY"
    assert rows_of(pair(orders, quotes, "auto").on(day).batch()) == [(1, 1)]
    assert rows_of(pair(orders, quotes, "auto").on(day.replace("1 DAY", "23 HOURS")).batch()) == []


def test_a_day_of_25_hours_is_kept_whole(
    feed: Callable[..., Feed], place: Place, settings: Callable[[str, str], None]
) -> None:
    """In New York 3 November 2024 has 25 hours: a bound of one day must not be taken for 24 hours of state."""
    settings("spark.sql.session.timeZone", "America/New_York")
    noon = datetime(2024, 11, 2, 16, tzinfo=UTC)
    orders = feed("o").add((1, noon, 1)).add((2, noon + timedelta(hours=24, minutes=20), 1))
    quotes = feed("q").add((9, noon + timedelta(hours=24, minutes=20), 1))
    quotes.add((10, noon + timedelta(hours=24, minutes=30), 1)).add((11, noon + timedelta(hours=24, minutes=40), 1))
    orders.add((3, noon + timedelta(hours=24, minutes=30), 1))
    query = pair(orders.stream, quotes.stream, "25 hours").on("q.ts BETWEEN o.ts AND o.ts + INTERVAL 1 DAY")
    place.run(query)
    assert place.rows() == [(1, 9), (1, 10), (1, 11), (2, 9), (2, 10), (2, 11), (3, 10), (3, 11)]


@pytest.mark.parametrize(
    "predicate",
    [
        "o.k + q.k < 0",
        "o.k / q.k IS NULL",
        "o.k % q.k IS NULL AND o.k > 0",
        "abs(o.k) < 0",
        "o.k - q.k > 2147483000",
        "CAST(o.k AS smallint) = q.k",
        "CAST(q.word AS int) IS NULL",
        "o.word = q.k",
        "o.k BETWEEN q.k - 1 AND q.k + 1",
        "o.k * q.k = 0",
        "-o.k = q.k",
    ],
)
def test_ansi_off(spark: SparkSession, settings: Callable[[str, str], None], predicate: str) -> None:
    settings("spark.sql.ansi.enabled", "false")
    values = [2**31 - 1, -(2**31), 0, 1, -1, 65_536, 40_000, None]
    rows = [
        (number, at(0), k, word)
        for number, (k, word) in enumerate(zip(values, ["1", "x", "", "0", None, "-1", "65536", "1.5"], strict=True))
    ]
    frame = spark.createDataFrame(rows, "id bigint, ts timestamp, k int, word string").coalesce(1)
    found = pair(frame, frame).on(predicate).batch()
    frame.createOrReplaceTempView("events")
    expected = spark.sql(f"SELECT o.id AS o, q.id AS q FROM events AS o, events AS q WHERE {predicate}")
    assert not difference(*answers([expected, found]))


def test_decimals_and_doubles_compare_as_spark_does(spark: SparkSession) -> None:
    left = spark.createDataFrame(
        [(1, at(0), Decimal("0.10")), (2, at(0), Decimal("0.30"))], "id bigint, ts timestamp, p decimal(10,2)"
    )
    right = spark.createDataFrame([(1, at(0), 0.1), (2, at(0), 0.1 + 0.2)], "id bigint, ts timestamp, p double")
    assert rows_of(pair(left, right).on("o.p = q.p").batch()) == [(1, 1)]
    assert rows_of(pair(left, right).on("abs(o.p - q.p) <= 0.2D").batch()) == rows_of(
        left.alias("o").crossJoin(right.alias("q")).where("abs(o.p - q.p) <= 0.2D").selectExpr("o.id", "q.id")
    )


def test_selected_decimals_are_sparks(spark: SparkSession) -> None:
    ddl = f"{ROW}, d decimal(9,2)"
    rows = [(n, at(n), n, None if n == 3 else Decimal(f"{n - 2}.5{n}")) for n in range(6)]
    left, right = spark.createDataFrame(rows, ddl), spark.createDataFrame(rows, ddl)
    chosen = (
        "o.id AS o",
        "CAST(NULL AS DECIMAL(4,1)) AS nothing",
        "CAST(-7.25 AS DECIMAL(6,2)) AS literal",
        "CASE WHEN o.k > 1 THEN o.d END AS maybe",
        "coalesce(o.d, q.d) AS first",
        "CAST(o.k AS DECIMAL(12,3)) AS widened",
    )
    found = pair(left, right).on("o.k = q.k").select(*chosen).batch()
    expected = left.alias("o").join(right.alias("q"), sf.expr("o.k = q.k")).selectExpr(*chosen)
    assert found.sort("o").collect() == expected.sort("o").collect()
