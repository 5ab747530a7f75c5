"""How long rows are kept: windows, comparisons of event times, and chains of both."""

from __future__ import annotations

import random
from itertools import product

import pytest

from braid.errors import WindowError
from braid.optimizer.build import build_plan
from braid.optimizer.retention import check_auto_windows, derive_bounds
from braid.plan.durations import LONGEST_US
from braid.plan.logical import LogicalPlan
from braid.testing import Draft, add, both, constant, equal, less, less_or_equal, subtract


def bounds(logical_plan: LogicalPlan) -> tuple[tuple[int | None, ...], ...]:
    streams = logical_plan.streams
    return derive_bounds([s.time_column for s in streams], [s.window_us for s in streams], logical_plan.conjuncts)


def draft_of(*windows_us: int | None) -> Draft:
    draft = Draft()
    for number, window in enumerate(windows_us):
        draft.stream(f"s{number}", {"u": "timestamp"}, window_us=window)
    return draft


def test_a_window_bounds_how_much_newer_a_partner_may_be() -> None:
    assert bounds(draft_of(10, 20).logical_plan()) == ((0, 10), (20, 0))
    assert bounds(draft_of(None, 20).logical_plan()) == ((0, None), (20, 0))


def test_an_interval_tightens_both_directions() -> None:
    draft = draft_of(None, 100)
    a, b = (stream["ts"] for stream in draft.streams)
    early, late = subtract(a, constant(5, "interval")), add(a, constant(1, "interval"))
    draft.on(both(less_or_equal(early, b), less_or_equal(b, late)))
    assert bounds(draft.logical_plan()) == ((0, 1), (5, 0))


def test_a_strict_comparison_an_equality_and_a_difference_bound_too() -> None:
    draft = draft_of(None, None)
    a, b = (stream["ts"] for stream in draft.streams)
    assert bounds(draft.on(less(b, add(a, constant(7, "interval")))).logical_plan()) == ((0, 7), (None, 0))
    assert bounds(draft.on(less_or_equal(subtract(a, b), constant(3, "interval"))).logical_plan()) == ((0, 7), (3, 0))
    assert bounds(draft.on(equal(a, b)).logical_plan()) == ((0, 0), (0, 0))


def test_other_columns_bound_nothing() -> None:
    draft = draft_of(None, None)
    one, two = draft.streams
    draft.on(less_or_equal(two["u"], add(one["u"], constant(7, "interval"))))
    draft.on(less_or_equal(two["ts"], add(one["u"], constant(7, "interval"))))
    assert bounds(draft.logical_plan()) == ((0, None), (None, 0))


def test_a_partner_that_must_be_older_is_a_negative_bound() -> None:
    draft = draft_of(None, None)
    a, b = (stream["ts"] for stream in draft.streams)
    draft.on(less_or_equal(add(b, constant(4, "interval")), a))
    assert bounds(draft.logical_plan()) == ((0, -4), (None, 0))


def test_bounds_follow_chains() -> None:
    draft = draft_of(None, None, 10)
    a, b, c = (stream["ts"] for stream in draft.streams)
    draft.on(less_or_equal(b, add(a, constant(5, "interval"))))
    draft.on(less_or_equal(c, add(b, constant(3, "interval"))))
    assert bounds(draft.logical_plan()) == ((0, 5, 8), (10 + 3, 0, 3), (10, 10, 0))


@pytest.mark.parametrize("seed", range(20))
def test_no_combination_in_the_windows_exceeds_the_bounds(seed: int) -> None:
    """Brute force over small times: what windows and comparisons allow stays within what was derived."""
    chance = random.Random(seed)
    windows = [chance.choice((None, 0, 2, 5)) for _ in range(3)]
    draft = draft_of(*windows)
    limits = []
    for _ in range(chance.randint(0, 3)):
        one, two = chance.sample(range(3), 2)
        offset = chance.randint(-2, 4)
        limits.append((one, two, offset))
        first, second = draft.streams[one]["ts"], draft.streams[two]["ts"]
        draft.on(less_or_equal(second, add(first, constant(offset, "interval"))))
    reaches = bounds(draft.logical_plan())
    for times in product(range(9), repeat=3):
        newest = max(times)
        allowed = all(w is None or newest - t <= w for w, t in zip(windows, times, strict=True))
        if allowed and all(times[two] <= times[one] + offset for one, two, offset in limits):
            for i, j in product(range(3), repeat=2):
                reach = reaches[i][j]
                assert reach is None or times[j] - times[i] <= reach


def test_an_automatic_window_without_a_bound_names_the_side() -> None:
    with pytest.raises(WindowError, match=r"'b' has window=\"auto\".*a row of 'a' may be"):
        check_auto_windows(["a", "b"], [False, True], ((0, 5), (None, 0)))
    check_auto_windows(["a", "b"], [False, True], ((0, None), (5, 0)))


def test_long_windows_are_kept_to_the_microsecond() -> None:
    """Doubles do not hold every microsecond of such a window, nor of a chain of them."""
    window = LONGEST_US - 1
    draft = Draft()
    for name in "abc":
        draft.stream(name, {}, window_us=window)
    plan = build_plan(draft.logical_plan())
    assert plan.retention_us[0] == (0, window, window)
    assert window != int(float(window))
