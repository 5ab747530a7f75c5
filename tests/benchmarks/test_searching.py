"""The search for the highest rate with results in time, on systems that are functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from benchmarks.searching import BOUNDS, CLOSE, MOST_TRIES, Tried, best_rate, next_rate


def searched(late: Callable[[float], float | None], first: float) -> list[Tried]:
    tried: list[Tried] = []
    while (rate := next_rate(tried, first)) is not None:
        p99 = late(rate)
        tried.append(Tried(rate, p99, p99, "incomplete" if p99 is None else "right"))
    return tried


@pytest.mark.parametrize("first", [10.0, 100.0, 500.0])
def test_a_search_ends_between_what_holds_and_what_fails(first: float) -> None:
    tried = searched(lambda rate: 0.2 + rate / 200 if rate <= 1_500 else None, first)
    for bound in BOUNDS:
        most = min(1_500.0, (bound - 0.2) * 200)
        best = best_rate(tried, bound)
        assert best is not None
        assert best <= most
        failed = [one.rate for one in tried if one.rate > most]
        assert len(tried) == MOST_TRIES or min(failed) <= best * CLOSE
    assert len(tried) <= MOST_TRIES


@pytest.mark.parametrize("paused", range(MOST_TRIES))
def test_a_pause_fails_no_rate_that_a_system_holds(paused: int) -> None:
    """In one of the tries everything stands still for some seconds."""
    tries = count()
    tried = searched(lambda rate: 20.0 if next(tries) == paused or rate > 1_500 else 0.5, 1_000.0)
    best = best_rate(tried, BOUNDS[0])
    assert best is not None
    assert 1_500 / CLOSE <= best <= 1_500
    offered = [one.rate for one in tried]
    assert offered.count(min(rate for rate in offered if rate > best)) == 2


def test_a_system_that_is_always_late_holds_no_rate() -> None:
    tried = searched(lambda _: 7.0, 1_000.0)
    assert best_rate(tried, 5.0) is None
    assert min(one.rate for one in tried) <= 1_000 / 4
    assert len(tried) <= MOST_TRIES


def test_a_rate_with_a_wrong_answer_or_an_error_holds_nothing() -> None:
    assert Tried(100.0, 0.1, 0.1, "right").keeps(1.0)
    assert not Tried(100.0, 0.1, 1.1, "right").keeps(1.0)
    assert not Tried(100.0, 0.1, 0.1, "wrong").keeps(1.0)
    assert not Tried(100.0, 0.1, 0.1, "incomplete").keeps(1.0)
    assert not Tried(100.0, 0.1, 0.1, "right", "refused").keeps(1.0)
    assert not Tried(100.0).keeps(5.0)
