"""Where a query stands between two steps: what waits, for whom, and how it is said."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from braid.engine.status import describe_status
from tests.unit.control.waiting_query import BEHIND_MS, WaitingQuery, logical_plan, rows


def test_rows_wait_for_the_stream_that_is_behind(tmp_path: Path) -> None:
    case = WaitingQuery(logical_plan(ordered=True), tmp_path)
    assert case.said() == "waiting for new rows"
    case.feed(f=rows(1, 2, 3))
    assert case.said() == "3 rows of f wait for w"
    case.feed(f=rows(*range(4, 1204)), w=rows(1, 2))
    assert case.standing.buffered_rows == (1201, 0)
    assert case.said() == "1,201 rows of f wait for w"
    assert case.said("stopped") == "stopped; 1,201 rows of f wait for w"
    case.feed(w=rows(2000))
    assert case.said() == "1 row of w waits for f"


def test_results_wait_where_they_are_buffered(tmp_path: Path) -> None:
    case = WaitingQuery(logical_plan(ordered=True), tmp_path, "filter-order").feed(f=rows(4, 5), w=rows(3))
    assert case.said() == "2 results wait for w"
    assert case.standing.buffered_rows == (0, 0)


def test_within_its_lateness_a_stream_waits_for_itself(tmp_path: Path) -> None:
    case = WaitingQuery(logical_plan(ordered=True, lateness_s=5), tmp_path).feed(f=rows(100), w=rows(1, 9, 10))
    assert case.said() == "1 row of f waits for w; 2 rows of w wait for newer rows of w"


def test_nothing_waits_for_a_stream_that_is_idle(tmp_path: Path) -> None:
    case = WaitingQuery(logical_plan(ordered=True, idle_after_ms=BEHIND_MS), tmp_path).feed(f=rows(4, 5), w=rows(3))
    assert case.said() == "2 rows of f wait for w"
    case.clock.advance(BEHIND_MS)
    case.query.steps.tick()
    assert case.said() == "waiting for new rows"
    assert describe_status(case.plan, case.standing, "waiting")["idle"] == ["w"]
    assert case.feed(f=rows(6), w=rows(6)).standing.idle == (False, False)


def test_state_is_kept_for_the_stream_that_is_behind(tmp_path: Path) -> None:
    case = WaitingQuery(logical_plan(ordered=False), tmp_path).feed(f=rows(1, 2, 3), w=rows(1))
    assert case.said() == "waiting for new rows"
    case.feed(f=rows(100)).feed(f=rows(101))
    assert case.said() == "3 rows of f are kept for w"
    case.feed(w=rows(102)).feed(w=rows(103))
    assert case.said() == "waiting for new rows"


def test_what_has_no_limit_waits_for_nobody(tmp_path: Path) -> None:
    case = WaitingQuery(logical_plan(ordered=False, lateness_s=None), tmp_path).feed(f=rows(1, 2, 3), w=rows(1))
    case.feed(f=rows(1000)).feed(f=rows(1001))
    assert case.said() == "waiting for new rows"


def test_late_rows_are_counted_over_restarts(tmp_path: Path) -> None:
    asked = logical_plan(ordered=False)
    WaitingQuery(asked, tmp_path).feed(f=rows(10), w=rows(10, None)).feed(f=rows(1, 2, 11), w=rows(3, 12))
    case = WaitingQuery(asked, tmp_path)
    assert case.standing.late_rows == (2, 2)
    assert case.feed(f=rows(5)).standing.late_rows == (3, 2)


@pytest.mark.parametrize("seed", range(12))
def test_what_waits_is_what_brute_force_finds(seed: int, tmp_path: Path) -> None:
    """Of rows that were not late, those beyond the lowest watermark wait."""
    chance = random.Random(seed)
    lateness = chance.choice((0, 3))
    case = WaitingQuery(logical_plan(ordered=True, lateness_s=lateness), tmp_path)
    taken: dict[str, list[float]] = {"f": [], "w": []}
    marks: dict[str, float] = {}
    for _ in range(6):
        base = chance.randint(0, 40)
        batch = {name: [base + chance.randint(0, 20) for _ in range(chance.choice((0, 2, 30)))] for name in "fw"}
        case.feed(**{name: rows(*times) for name, times in batch.items()})
        for name, times in batch.items():
            taken[name] += [time for time in times if time >= marks.get(name, time)]
            seen = [time - lateness for time in times] + ([marks[name]] if name in marks else [])
            if seen:
                marks[name] = max(seen)
        lowest = min(marks.values()) if len(marks) == 2 else None
        waiting = [sum(lowest is None or time > lowest for time in taken[name]) for name in "fw"]
        assert list(case.standing.buffered_rows) == waiting
        behind = {wait.streams for wait in case.standing.waits if wait.what == "rows"}
        expected = {tuple(n for n, name in enumerate("fw") if marks.get(name) == lowest)}
        assert behind == (expected if any(waiting) else set())
