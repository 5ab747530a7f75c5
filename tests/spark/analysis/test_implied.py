"""Windows derived from predicates that only the JVM evaluates: no match lies outside, in any time zone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

import braid
from braid.analysis import AnalyzedStream, Analyzer
from braid.optimizer.retention import derive_bounds
from braid.plan.expressions import Column

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
# Where clocks change by an hour, by half of one, once by a day, by two hours after a war, and never.
ZONES = ["America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Europe/Berlin", "+05:30"]
CHANGES = ["2024-03-10T07:00", "2023-11-05T06:00", "2011-12-30T10:00", "1945-05-24T00:00", "2024-04-06T15:00"]
INTERVALS = {
    "{n} SECONDS": 1_000_000,
    "{n} MINUTES": 60_000_000,
    "{n} HOURS": HOUR_US,
    "{n} DAYS": DAY_US,
    "{n} WEEKS": 7 * DAY_US,
    "{n} MONTHS": 31 * DAY_US,
}
# With what each bounds: how much newer a may be than b, and b than a.
FORMS = {
    "a.ts >= b.ts - INTERVAL {i}": (False, True),
    "a.ts < b.ts + INTERVAL {i}": (True, False),
    "b.ts + INTERVAL {i} >= a.ts": (True, False),
    "a.ts BETWEEN b.ts - INTERVAL {i} AND b.ts + INTERVAL {i}": (True, True),
    "a.ts = b.ts + INTERVAL {i}": (True, True),
    "a.ts + INTERVAL {i} > b.ts AND a.ts <= b.ts + INTERVAL {i} + INTERVAL 1 HOUR": (True, True),
}
# Not of months, which are no difference of times.
DIFFERENCES = {
    "abs(a.ts - b.ts) <= INTERVAL {i}": (True, True),
    "INTERVAL {i} > abs(b.ts - a.ts)": (True, True),
    "a.ts - b.ts <= INTERVAL {i}": (True, False),
    "a.ts - b.ts BETWEEN INTERVAL '0' SECOND AND INTERVAL {i}": (True, True),
    "(a.ts + INTERVAL 10 DAYS) - b.ts <= INTERVAL 10 DAYS AND b.ts - a.ts < INTERVAL {i}": (True, True),
}
COUNTED = {
    "abs(unix_micros(a.ts) - unix_micros(b.ts)) <= {us}": (True, True),
    "unix_seconds(a.ts) - unix_seconds(b.ts) < {s}": (True, False),
    "CAST(a.ts AS bigint) - CAST(b.ts AS bigint) BETWEEN -{s} AND {s}": (True, True),
    "unix_millis(a.ts) <= unix_millis(b.ts) + {s}000": (True, False),
    "timestampdiff(MINUTE, b.ts, a.ts) <= {s} / 60": (False, False),
    "timestampdiff(SECOND, b.ts, a.ts) <= {s}": (True, False),
    "abs(timestampdiff(HOUR, a.ts, b.ts)) < {h}": (True, True),
    "abs(datediff(a.ts, b.ts)) <= {d}": (True, True),
    "timestampadd(DAY, {d}, a.ts) >= b.ts": (False, True),
    "dateadd(HOUR, {h}, a.ts) >= b.ts AND a.ts <= timestampadd(MONTH, {d}, b.ts)": (True, True),
}
CASES_PER_ZONE = 18


@pytest.fixture
def in_zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


def predicates(chance: random.Random) -> Iterator[tuple[str, tuple[bool, bool], int]]:
    """Random predicates, with what they bound and about how far."""
    for number in range(CASES_PER_ZONE):
        unit = chance.choice(list(INTERVALS) if number % 3 == 0 else list(INTERVALS)[:-1])
        count = chance.randint(1, 3 if "MONTH" in unit else 40)
        text = unit.format(n=count)
        size = count * INTERVALS[unit]
        seconds = max(1, size // 1_000_000)
        form, bounded = chance.choice(list([FORMS, DIFFERENCES, COUNTED][number % 3].items()))
        numbers = {"us": size, "s": seconds, "h": seconds // 3600 + 1, "d": seconds // 86_400 + 1}
        longest = 31 * (seconds // 86_400 + 1) * DAY_US if "MONTH" in form else size
        yield form.format(i=text, **numbers), bounded, longest


def instants(chance: random.Random) -> list[datetime]:
    """Times around changes of clocks, close together and up to two months apart."""
    found = []
    for text in CHANGES:
        change = datetime.fromisoformat(text).replace(tzinfo=UTC)
        for spread in (2 * HOUR_US, 30 * HOUR_US, 50 * DAY_US):
            found += [change + timedelta(microseconds=chance.randint(-spread, spread)) for _ in range(6)]
        found += [change, change - timedelta(microseconds=1), change - timedelta(days=1), change + timedelta(days=1)]
    return found


@pytest.mark.parametrize("in_zone", ZONES, indirect=True)
def test_no_match_lies_outside_the_implied_bounds(spark: SparkSession, in_zone: str) -> None:
    seed = f"implied {in_zone}"
    chance = random.Random(seed)
    times = spark.createDataFrame([(time,) for time in instants(chance)], "ts timestamp")
    analyzer = Analyzer(spark, [AnalyzedStream(name, times.schema, "ts") for name in ("a", "b")])
    cases = list(predicates(chance))
    times.createOrReplaceTempView("implied_times")
    newer = "unix_micros(a.ts) - unix_micros(b.ts)"
    columns = [
        f"{which}(CASE WHEN {text} THEN {newer} END) AS {which}_{number}"
        for number, (text, _, _) in enumerate(cases)
        for which in ("min", "max")
    ]
    seen = spark.sql(f"SELECT {', '.join(columns)} FROM implied_times a CROSS JOIN implied_times b").collect()[0]
    matched = 0
    for number, (text, (bounds_a, bounds_b), size) in enumerate(cases):
        event_times = [Column(f"{name}.ts", place, "timestamp") for place, name in enumerate(("a", "b"))]
        (_, b_newer), (a_newer, _) = derive_bounds(event_times, [None, None], analyzer.predicate(text))
        about = f"{text} in {in_zone} (seed {seed!r}): {a_newer=} {b_newer=}"
        assert a_newer is not None or not bounds_a, about
        assert b_newer is not None or not bounds_b, about
        for bound in (a_newer, b_newer):
            assert bound is None or bound <= size + 3 * DAY_US, f"{about}: too wide"
        if seen[f"max_{number}"] is not None:
            matched += 1
            assert a_newer is None or seen[f"max_{number}"] <= a_newer, about
            assert b_newer is None or -seen[f"min_{number}"] <= b_newer, about
    assert matched > CASES_PER_ZONE // 2, "too few predicates match anything"


@pytest.mark.parametrize("in_zone", ["America/New_York"], indirect=True)
def test_an_automatic_window_gives_what_an_unbounded_one_gives(spark: SparkSession, in_zone: str) -> None:
    times = [(time,) for time in instants(random.Random(1))]
    frame = spark.createDataFrame(times, "ts timestamp").coalesce(1)

    def answer(window: Any) -> list[tuple[datetime, ...]]:
        streams = [braid.stream(name, frame, time="ts", window=window) for name in ("a", "b")]
        joined = braid.join(*streams).on("a.ts >= b.ts - INTERVAL 1 DAY AND abs(a.ts - b.ts) <= INTERVAL 30 HOURS")
        return sorted(tuple(row) for row in joined.select("a.ts AS x", "b.ts AS y").batch().collect())

    found = answer("auto")
    assert found == answer(braid.unbounded)
    assert len(found) > len(times)


@pytest.mark.parametrize("in_zone", ["America/New_York", "UTC"], indirect=True)
def test_a_day_is_at_most_25_hours_where_clocks_change_by_one(spark: SparkSession, in_zone: str) -> None:
    frame = spark.createDataFrame([], "ts timestamp, n int")

    def reaches(text: str) -> tuple[int | None, int | None]:
        streams = [braid.stream(name, frame, time="ts", window="auto") for name in ("a", "b")]
        plan = braid.join(*streams).on(text).plan()
        return plan.retention_us[0][1], plan.retention_us[1][0]

    day = DAY_US if in_zone == "UTC" else DAY_US + HOUR_US
    month = 31 * DAY_US + (0 if in_zone == "UTC" else HOUR_US)
    assert reaches("a.ts BETWEEN b.ts - INTERVAL 1 DAY AND b.ts") == (day, 0)
    assert reaches("a.ts BETWEEN b.ts - INTERVAL 1 MONTH AND b.ts") == (month, 0)
    assert reaches("abs(a.ts - b.ts) <= INTERVAL 1 DAY") == (day, day)
    for text in (
        "a.ts <= b.ts AND a.ts > b.ts - make_dt_interval(a.n)",
        "a.ts <= b.ts AND date_trunc('DAY', a.ts) >= b.ts",
    ):
        with pytest.raises(braid.BraidError, match=r"(?s)window=.auto.*Understood are"):
            reaches(text)
