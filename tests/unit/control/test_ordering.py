"""What Adaptive holds, and the shares of time it decides by, on numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from braid.control.ordering import (
    MEMORY_MOVES,
    MEMORY_SECONDS,
    RETURN_FACTOR,
    Ordering,
    blend,
    choose_buffered,
    lookup_share,
    modelled_share,
    nothing_buffered,
)
from braid.state.order_state import Buffered, OrderState, Pace

ADAPTIVE = Ordering("adaptive", 0.3)


def pace(seconds: float, rows: tuple[float, ...], busy: tuple[float, ...], compared: float = 0.0) -> Pace:
    return Pace(seconds, rows, busy, compared, 0.0)


def waiting(holds: Buffered, share: float) -> OrderState:
    """A wait after ten seconds in which the faster stream's lookups took a share of one slot."""
    return replace(nothing_buffered(2), buffered_kind=holds, pace=pace(10.0, (10.0, 100.0), (9.0, 10 * share)))


def test_the_slower_of_two_streams_does_not_wait_so_its_lookups_do_not_count() -> None:
    assert lookup_share(pace(10.0, (10.0, 100.0), (4.0, 3.0)), slots=1) == pytest.approx(0.3)
    assert lookup_share(pace(10.0, (100.0, 10.0), (4.0, 3.0)), slots=1) == pytest.approx(0.4)


def test_of_three_streams_all_but_the_slowest_wait() -> None:
    assert lookup_share(pace(20.0, (50.0, 5.0, 500.0), (2.0, 8.0, 6.0)), slots=1) == pytest.approx(8 / 20)


def test_slots_share_the_lookups() -> None:
    assert lookup_share(pace(10.0, (10.0, 100.0), (4.0, 6.0)), slots=4) == pytest.approx(0.15)


def test_there_is_no_share_before_enough_was_seen() -> None:
    assert lookup_share(pace(0.4, (1.0, 9.0), (0.1, 0.3)), slots=1) is None
    assert choose_buffered(ADAPTIVE, replace(waiting("results", 0.0), pace=pace(0.4, (1, 9), (0, 0))), 1) == (
        "results",
        (),
    )


def test_the_modelled_share_is_cost_window_and_both_rates() -> None:
    seen = pace(10.0, (10.0, 100.0), (0.2, 0.3), compared=1000.0)  # c = 0.5 ms, rates 1 and 10
    assert modelled_share(seen, 60_000_000, slots=1) == pytest.approx(0.3)
    assert modelled_share(seen, 60_000_000, slots=2) == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("seen", "window"),
    [
        (pace(10.0, (10.0, 100.0), (0.2, 0.3), compared=1000.0), None),
        (pace(10.0, (10.0, 100.0), (0.0, 0.0)), 60_000_000),
        (pace(0.1, (10.0, 100.0), (0.2, 0.3), compared=1000.0), 60_000_000),
        (pace(10.0, (10.0, 100.0, 1.0), (0.2, 0.3, 0.1), compared=1000.0), 60_000_000),
    ],
    ids=["no window", "nothing compared", "too early", "three streams"],
)
def test_the_modelled_share_needs_two_streams_a_window_and_pairs(seen: Pace, window: int | None) -> None:
    assert modelled_share(seen, window, slots=1) is None


@pytest.mark.parametrize("holds", ["rows", "results"])
@pytest.mark.parametrize("share", [0.0, 0.9])
def test_fixed_policies_buffer_what_they_say(holds: Buffered, share: float) -> None:
    assert choose_buffered(Ordering("sync-filter", 0.3), waiting(holds, share), 1) == ("rows", ())
    assert choose_buffered(Ordering("filter-order", 0.3), waiting(holds, share), 1) == ("results", ())


def test_adaptive_buffers_results_from_alpha_on() -> None:
    assert choose_buffered(ADAPTIVE, waiting("rows", 0.29), 1) == ("rows", ())
    holds, said = choose_buffered(ADAPTIVE, waiting("rows", 0.3), 1)
    assert holds == "results"
    assert said == ("buffers results: lookups take 0.30 of the time, alpha is 0.3",)


def test_adaptive_returns_only_clearly_below_alpha() -> None:
    assert choose_buffered(ADAPTIVE, waiting("results", 0.29), 1) == ("results", ())
    assert choose_buffered(ADAPTIVE, waiting("results", RETURN_FACTOR * 0.3 + 0.001), 1) == ("results", ())
    holds, said = choose_buffered(ADAPTIVE, waiting("results", 0.2), 1)
    assert holds == "rows"
    assert said == ("buffers rows: lookups take 0.20 of the time, less than 0.7 of alpha 0.3",)


def test_an_alpha_of_zero_never_buffers_rows_once_lookups_were_seen() -> None:
    eager = Ordering("adaptive", 0.0)
    assert choose_buffered(eager, waiting("rows", 0.0), 1)[0] == "results"
    assert choose_buffered(eager, waiting("results", 0.0), 1) == ("results", ())


def test_nothing_decays_while_the_frontier_stands() -> None:
    seen = pace(10.0, (10.0, 100.0), (1.0, 2.0), compared=50.0)
    after = blend(seen, seconds=3.0, rows=(0, 30), busy=(0.0, 0.5), compared=7, moved=False)
    assert after == Pace(13.0, (10.0, 130.0), (1.0, 2.5), 57.0, 3.0)


def test_the_past_decays_by_the_time_since_the_frontier_moved_last() -> None:
    seen = Pace(10.0, (10.0, 100.0), (1.0, 2.0), 50.0, 0.5)
    after = blend(seen, seconds=0.5, rows=(1, 5), busy=(0.1, 0.2), compared=7, moved=True)
    kept = math.exp(-1.0 / MEMORY_SECONDS)
    assert after.seconds == pytest.approx(10.5 * kept)
    assert after.rows == pytest.approx((11 * kept, 105 * kept))
    assert after.busy == pytest.approx((1.1 * kept, 2.2 * kept))
    assert after.compared == pytest.approx(57 * kept)
    assert after.unmoved_seconds == 0.0


def test_a_frontier_that_moves_seldom_makes_no_short_memory() -> None:
    seen = Pace(100.0, (1.0, 100.0), (1.0, 2.0), 50.0, 3600.0)
    after = blend(seen, seconds=1.0, rows=(1, 5), busy=(0.0, 0.0), compared=0, moved=True)
    assert after.seconds == pytest.approx(101 * math.exp(-1 / MEMORY_MOVES))


def test_bursts_of_lookups_are_spread_over_the_time_between_them() -> None:
    """A row of the slower stream every ten steps of a second lets two seconds of lookups begin: a share of 0.2."""
    state = nothing_buffered(2)
    for step in range(1, 101):
        burst = step % 10 == 0
        seen = blend(
            state.pace,
            seconds=1.0,
            rows=(int(burst), 100),
            busy=(0.0, 2.0 if burst else 0.0),
            compared=0,
            moved=burst,
        )
        state = replace(state, pace=seen)
        share = lookup_share(seen, slots=1)
        assert share is not None
        assert share == pytest.approx(0.2, abs=1e-9) if burst else share < 0.2
        assert choose_buffered(ADAPTIVE, state, 1) == ("rows", ())


def test_adaptive_follows_a_load_that_rises_and_falls() -> None:
    state, switched = nothing_buffered(2), []
    for second in range(120):
        busy = 0.6 if 40 <= second < 80 else 0.1
        seen = blend(state.pace, seconds=1.0, rows=(1, 10), busy=(busy, busy), compared=0, moved=True)
        holds, said = choose_buffered(ADAPTIVE, replace(state, pace=seen), 1)
        switched += [(second, holds)] if said else []
        state = replace(state, pace=seen, buffered_kind=holds)
    assert [holds for _, holds in switched] == ["results", "rows"]
    assert 40 <= switched[0][0] < 40 + MEMORY_SECONDS
    assert 80 <= switched[1][0] < 80 + 2 * MEMORY_SECONDS
