"""The oracle, by hand: results, late rows, idle streams."""

from __future__ import annotations

from braid.testing import (
    Condition,
    OracleStream,
    answer,
    on_time_rows,
)


def row(ts: int | None, k: int | None) -> dict[str, int | None]:
    return {"ts": ts, "k": k}


def test_the_oracle_by_hand() -> None:
    streams = (OracleStream("a", 2), OracleStream("b", None))
    rows = {"a": [row(0, 1), row(5, 1), row(5, None)], "b": [row(2, 1), row(3, 1), row(3, 1)]}
    same = Condition(("a", "b"), lambda a, b: None if None in (a["k"], b["k"]) else a["k"] == b["k"])
    assert answer(streams, rows, [same]) == {(0, 1, 2, 1, 2): 1, (5, 1, 2, 1, 5): 1, (5, 1, 3, 1, 5): 2}


def test_the_oracle_knows_late_rows() -> None:
    streams = (OracleStream("a", None, lateness_us=3), OracleStream("b", None, lateness_us=None))
    batches = [{"a": [row(10, 0), row(1, 1)]}, {"a": [row(6, 2), row(7, 3), row(None, 4)], "b": [row(0, 5)]}]
    kept = on_time_rows(streams, batches)
    assert [entry["k"] for entry in kept["a"]] == [0, 1, 3]
    assert [entry["k"] for entry in kept["b"]] == [5]


def test_the_oracle_knows_idle_streams() -> None:
    streams = (OracleStream("a", None, 0, idle_after_ms=10), OracleStream("b", None, 0, idle_after_ms=10))
    batches = [{"a": [row(1, 0)], "b": [row(50, 1)]}, {"b": [row(60, 2)]}, {"a": [row(49, 3), row(60, 4)]}]

    def kept(clock: list[int], started: list[int] | None = None) -> list[int]:
        return [entry["k"] for entry in on_time_rows(streams, batches, clock, started)["a"]]

    assert kept([0, 10, 10]) == [0, 4]
    assert kept([0, 9, 9]) == [0, 3, 4]
    assert kept([0, 9, 20]) == [0, 3, 4]  # whoever brings rows is not idle
    assert kept([0, 10, 10], started=[0, 1, 1]) == [0, 3, 4]
