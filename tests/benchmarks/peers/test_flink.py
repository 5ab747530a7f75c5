"""The text of the queries that Flink gets, without Flink."""

from __future__ import annotations

import pytest

from benchmarks.peers.flink import interval_join_query


def test_interval_join_has_a_window_for_flink_and_an_exact_one() -> None:
    query = interval_join_query("r.k = s.k", 10, ("r.id AS r_id", "s.id AS s_id"))
    assert query == (
        "SELECT r.id AS r_id, s.id AS s_id FROM r JOIN s ON (r.k = s.k) "
        "AND r.ts BETWEEN s.ts - INTERVAL '0 00:00:10.000' DAY TO SECOND(3) "
        "AND s.ts + INTERVAL '0 00:00:10.000' DAY TO SECOND(3) "
        "AND r.ts_us BETWEEN s.ts_us - 10000000 AND s.ts_us + 10000000"
    )


@pytest.mark.parametrize(
    ("seconds", "span", "microseconds"),
    [
        (0.5, "0 00:00:00.500", 500_000),
        (0.0012, "0 00:00:00.002", 1_200),
        (93_784, "1 02:03:04.000", 93_784_000_000),
    ],
)
def test_window_of_flink_is_never_shorter_than_the_exact_one(seconds: float, span: str, microseconds: int) -> None:
    query = interval_join_query("abs(r.x - s.x) <= 0.5", seconds, ("r.id",))
    assert f"INTERVAL '{span}' DAY TO SECOND(3)" in query
    assert f"s.ts_us + {microseconds}" in query


def test_alternatives_in_a_predicate_stay_together() -> None:
    assert "ON (r.a = s.a OR r.b = s.b) AND" in interval_join_query("r.a = s.a OR r.b = s.b", 1, ("r.id",))
