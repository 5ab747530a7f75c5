"""Expressions that would give another value after a restart are refused, wherever they stand; constants are not."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import braid
from braid import errors

CHANGING = {
    "o.ts > timestamp'now'": "timestamp'now'",
    "o.ts > timestamp ' NOW '": "timestamp ' NOW '",
    'o.ts > TIMESTAMP "Now"': 'TIMESTAMP "Now"',
    "o.d = date'today'": "date'today'",
    "o.ts > timestamp_ntz'tomorrow'": "timestamp_ntz'tomorrow'",
    "o.ts > timestamp_ltz 'yesterday UTC'": "timestamp_ltz 'yesterday UTC'",
    "o.s = 'é🙂' AND o.ts > timestamp'now' + INTERVAL 1 DAY": "timestamp'now'",
    "o.ts > CAST('now' AS timestamp)": "'now'",
    "o.ts > 'now'::timestamp": "'now'",
    "o.ts > 'now'": "'now'",
    "o.ts BETWEEN 'yesterday' AND 'tomorrow'": "'yesterday'",
    "o.d IN ('today', date'2024-01-01')": "'today'",
    "o.ts > to_timestamp('now')": "'now'",
    "o.ts > try_to_timestamp('now')": "'now'",
    "o.d = to_date('today')": "'today'",
    "o.ts > try_cast('now' AS timestamp)": "'now'",
    "o.ts > CAST(concat('no', 'w') AS timestamp)": "'now'",
    "o.ts > CAST(CAST('today' AS date) AS timestamp)": "'today'",
    "datediff('today', o.d) = 1": "'today'",
    "hour('now') = o.id": "'now'",
    "o.ts > now()": "now()",
    "o.ts > current_timestamp": "current_timestamp()",
    "o.d = curdate()": "current_date()",
    "o.ts > localtimestamp()": "localtimestamp()",
    "unix_timestamp() > o.id": "current_timestamp()",
    "o.s = current_timezone()": "current_timezone()",
    "o.s = user()": "user()",
    "o.s = current_database()": "current_schema()",
    "o.s = current_catalog()": "current_catalog()",
    "o.s = version()": "version()",
    "o.s = uuid()": "uuid()",
    "randn() < 1": "randn()",
    "monotonically_increasing_id() > o.id": "monotonically_increasing_id()",
    "o.s = input_file_name()": "input_file_name()",
    "spark_partition_id() = o.id": "SPARK_PARTITION_ID()",
}
CONSTANT = [
    "o.ts > timestamp'epoch'",
    "o.ts > CAST('epoch' AS timestamp)",
    "o.ts > timestamp'2024-01-01'",
    "o.s = 'now'",
    "o.s LIKE 'today%' OR o.s = concat('tomo', 'rrow')",
    "CAST(o.s AS timestamp) < q.ts",
    "o.ts > q.ts /* now */",
]


@pytest.fixture(scope="module")
def joined(spark: SparkSession) -> braid.Join:
    frame = spark.sql("SELECT timestamp'2024-01-01' ts, 1 id, 'a' s, date'2024-01-01' d")
    return braid.join(*(braid.stream(name, frame, time="ts", window="1 day") for name in ("o", "q")))


@pytest.mark.parametrize("predicate", CHANGING)
def test_what_changes_is_refused_in_predicates(joined: braid.Join, predicate: str) -> None:
    with pytest.raises(errors.NondeterministicError) as caught:
        joined.on(predicate)
    message = str(caught.value)
    assert f"contains {'' if CHANGING[predicate][0] != chr(39) else 'the text '}{CHANGING[predicate]}" in message, (
        message
    )


@pytest.mark.parametrize("text", ["timestamp'now'", "CAST('now' AS timestamp)", "now()", "current_user()", "uuid()"])
def test_what_changes_is_refused_in_selections_groups_and_aggregates(joined: braid.Join, text: str) -> None:
    for build in (
        lambda: joined.select("o.id", f"{text} AS x"),
        lambda: joined.groupBy(f"{text} AS x").agg("count(*) AS n"),
        lambda: joined.groupBy("o.id").agg(f"max({text}) AS x"),
    ):
        with pytest.raises(errors.NondeterministicError, match="may differ between evaluations"):
            build()


@pytest.mark.parametrize("predicate", CONSTANT)
def test_constants_are_not(joined: braid.Join, predicate: str) -> None:
    assert joined.on(predicate).conjuncts
