"""What Adaptive buffers, and the delays it decides by, on numbers worked out by hand."""

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
    lookup_delay,
    modelled_delay,
    nothing_buffered,
)
from braid.state.order_state import Buffered, OrderState, Pace

ADAPTIVE = Ordering("adaptive", 0.3)


def pace(seconds: float, rows: tuple[float, ...], delays: tuple[float, ...], compared: float = 0.0) -> Pace:
    """As one slot reports it."""
    return Pace(seconds, rows, delays, delays, compared, 0.0)


def waiting(holds: Buffered, delay: float) -> OrderState:
    """An order state after ten seconds in which lookups would delay the faster stream's rows by so much of their wait.

    A row that waits for a turn's end waits for half of the turn.
    """
    return replace(nothing_buffered(2), buffered_kind=holds, pace=pace(10.0, (10.0, 100.0), (9.0, 10 * delay / 2)))


def test_the_slower_of_two_streams_does_not_wait_so_its_lookups_do_not_count() -> None:
    assert lookup_delay(pace(10.0, (10.0, 100.0), (2.0, 1.5))) == pytest.approx(0.3)
    assert lookup_delay(pace(10.0, (100.0, 10.0), (2.0, 1.5))) == pytest.approx(0.4)


def test_of_three_streams_all_but_the_slowest_wait() -> None:
    assert lookup_delay(pace(20.0, (50.0, 5.0, 500.0), (1.0, 4.0, 3.0))) == pytest.approx(8 / 20)


def test_what_all_slots_did_together_does_not_count() -> None:
    assert lookup_delay(Pace(10.0, (10.0, 100.0), (40.0, 60.0), (2.0, 1.5), 0.0, 0.0)) == pytest.approx(0.3)


def test_there_is_no_delay_before_enough_was_seen() -> None:
    assert lookup_delay(pace(0.4, (1.0, 9.0), (0.1, 0.3))) is None
    early = replace(waiting("results", 0.0), pace=pace(0.4, (1, 9), (0, 0)))
    assert choose_buffered(ADAPTIVE, early) == ("results", ())


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3, 0.9])
@pytest.mark.parametrize("lookups", [0.02, 0.1, 0.2, 0.3, 0.6, 1.0, 1.7])
def test_where_steps_emit_at_their_end_adaptive_keeps_within_alpha_of_the_better_policy(
    alpha: float, lookups: float
) -> None:
    """A row of the slower stream every four seconds ends the wait of a hundred rows, whose lookups take so long.

    Looked up while they wait, all are emitted when it ends; looked up then, all are emitted after the lookups.
    """
    turn, rows = 4.0, 100
    waits = [turn * (rows - number) / rows for number in range(rows)]
    filter_order = sum(waits) / rows
    sync_filter = sum(wait + lookups for wait in waits) / rows
    state = nothing_buffered(2)
    for _ in range(20):
        delays = (lookups, lookups)
        seen = blend(state.pace, seconds=turn, rows=(1, rows), busy=delays, delays=delays, compared=0, moved=True)
        state = replace(state, pace=seen)
    buffered, _ = choose_buffered(Ordering("adaptive", alpha), state)
    if buffered == "rows":
        assert sync_filter <= (1 + alpha) * filter_order
    else:
        assert 1 - filter_order / sync_filter >= 0.98 * alpha / (1 + alpha)


def test_the_modelled_delay_is_cost_window_and_both_rates() -> None:
    seen = pace(10.0, (10.0, 100.0), (0.2, 0.3), compared=1000.0)  # c = 0.5 ms, rates 1 and 10: a share of 0.3
    assert modelled_delay(seen, 60_000_000, slots=1) == pytest.approx(0.6)
    assert modelled_delay(seen, 60_000_000, slots=2) == pytest.approx(0.3)


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
def test_the_modelled_delay_needs_two_streams_a_window_and_pairs(seen: Pace, window: int | None) -> None:
    assert modelled_delay(seen, window, slots=1) is None


@pytest.mark.parametrize("holds", ["rows", "results"])
@pytest.mark.parametrize("delay", [0.0, 0.9])
def test_fixed_policies_buffer_what_they_say(holds: Buffered, delay: float) -> None:
    assert choose_buffered(Ordering("sync-filter", 0.3), waiting(holds, delay)) == ("rows", ())
    assert choose_buffered(Ordering("filter-order", 0.3), waiting(holds, delay)) == ("results", ())


def test_adaptive_buffers_results_from_alpha_on() -> None:
    assert choose_buffered(ADAPTIVE, waiting("rows", 0.29)) == ("rows", ())
    holds, said = choose_buffered(ADAPTIVE, waiting("rows", 0.3))
    assert holds == "results"
    assert said == ("buffers results: lookups would delay rows by 0.30 of their wait, alpha is 0.3",)


def test_adaptive_returns_only_clearly_below_alpha() -> None:
    assert choose_buffered(ADAPTIVE, waiting("results", 0.29)) == ("results", ())
    assert choose_buffered(ADAPTIVE, waiting("results", RETURN_FACTOR * 0.3 + 0.001)) == ("results", ())
    holds, said = choose_buffered(ADAPTIVE, waiting("results", 0.2))
    assert holds == "rows"
    assert said == ("buffers rows: lookups would delay rows by 0.20 of their wait, less than 0.7 of alpha 0.3",)


def test_an_alpha_of_zero_never_buffers_rows_once_lookups_were_seen() -> None:
    eager = Ordering("adaptive", 0.0)
    assert choose_buffered(eager, waiting("rows", 0.0))[0] == "results"
    assert choose_buffered(eager, waiting("results", 0.0)) == ("results", ())


def test_nothing_decays_while_the_frontier_stands() -> None:
    seen = pace(10.0, (10.0, 100.0), (1.0, 2.0), compared=50.0)
    after = blend(seen, seconds=3.0, rows=(0, 30), busy=(0.0, 0.5), delays=(0.0, 0.3), compared=7, moved=False)
    assert after == Pace(13.0, (10.0, 130.0), (1.0, 2.5), (1.0, 2.3), 57.0, 3.0)


def test_the_past_decays_by_the_time_since_the_frontier_moved_last() -> None:
    seen = Pace(10.0, (10.0, 100.0), (1.0, 2.0), (0.5, 1.0), 50.0, 0.5)
    after = blend(seen, seconds=0.5, rows=(1, 5), busy=(0.1, 0.2), delays=(0.1, 0.1), compared=7, moved=True)
    kept = math.exp(-1.0 / MEMORY_SECONDS)
    assert after.seconds == pytest.approx(10.5 * kept)
    assert after.rows == pytest.approx((11 * kept, 105 * kept))
    assert after.busy == pytest.approx((1.1 * kept, 2.2 * kept))
    assert after.delays == pytest.approx((0.6 * kept, 1.1 * kept))
    assert after.compared == pytest.approx(57 * kept)
    assert after.unmoved_seconds == 0.0


def test_a_frontier_that_moves_seldom_makes_no_short_memory() -> None:
    seen = Pace(100.0, (1.0, 100.0), (1.0, 2.0), (1.0, 2.0), 50.0, 3600.0)
    after = blend(seen, seconds=1.0, rows=(1, 5), busy=(0.0, 0.0), delays=(0.0, 0.0), compared=0, moved=True)
    assert after.seconds == pytest.approx(101 * math.exp(-1 / MEMORY_MOVES))


def test_bursts_of_lookups_are_spread_over_the_time_between_them() -> None:
    """A row of the slower stream every ten steps of a second lets a second of lookups begin: 0.2 of a wait of five."""
    state = nothing_buffered(2)
    for step in range(1, 101):
        burst = step % 10 == 0
        seen = blend(
            state.pace,
            seconds=1.0,
            rows=(int(burst), 100),
            busy=(0.0, 2.0 if burst else 0.0),
            delays=(0.0, 1.0 if burst else 0.0),
            compared=0,
            moved=burst,
        )
        state = replace(state, pace=seen)
        delay = lookup_delay(seen)
        assert delay is not None
        assert delay == pytest.approx(0.2, abs=1e-9) if burst else delay < 0.2
        assert choose_buffered(ADAPTIVE, state) == ("rows", ())


def test_adaptive_follows_a_load_that_rises_and_falls() -> None:
    state, switched = nothing_buffered(2), []
    for second in range(120):
        both = (0.3, 0.3) if 40 <= second < 80 else (0.05, 0.05)
        seen = blend(state.pace, seconds=1.0, rows=(1, 10), busy=both, delays=both, compared=0, moved=True)
        holds, said = choose_buffered(ADAPTIVE, replace(state, pace=seen))
        switched += [(second, holds)] if said else []
        state = replace(state, pace=seen, buffered_kind=holds)
    assert [holds for _, holds in switched] == ["results", "rows"]
    assert 40 <= switched[0][0] < 40 + MEMORY_SECONDS
    assert 80 <= switched[1][0] < 80 + 2 * MEMORY_SECONDS
