"""How long rows waited, on numbers worked out by hand."""

from __future__ import annotations

from braid.control.responses import MAX_ARRIVALS, describe_waits, remember, respond, thinned
from braid.state.order_state import Arrival


def test_rows_are_emitted_up_to_a_time_and_the_others_stay() -> None:
    arrivals = (Arrival(1000, 8, (10, 20, 30, 40)), Arrival(2000, 3, (50, 60, 70)), Arrival(500, 2, (5, 6)))
    staying, waits = respond(arrivals, until_us=20, now_ms=3000)
    assert waits == [(2000, 4.0), (2500, 2.0)]
    assert staying == (Arrival(1000, 4, (30, 40)), Arrival(2000, 3, (50, 60, 70)))


def test_what_stays_of_a_sample_is_at_least_a_row() -> None:
    staying, waits = respond((Arrival(0, 1, (1, 2)),), until_us=1, now_ms=10)
    assert waits == [(10, 0.5)]
    assert staying == (Arrival(0, 1, (2,)),)


def test_a_clock_that_went_back_makes_no_negative_wait() -> None:
    assert respond((Arrival(100, 1, (1,)),), until_us=1, now_ms=40) == ((), [(0, 1.0)])


def test_average_and_percentiles_weigh_rows() -> None:
    waits = [(300.0, 1.0), (100.0, 98.0), (200.0, 1.0)]
    assert describe_waits(waits) == {"rows": 100, "averageMs": 103.0, "p50Ms": 100.0, "p99Ms": 200.0}
    assert describe_waits([(10.0, 1.0), (20.0, 1.0)]) == {"rows": 2, "averageMs": 15.0, "p50Ms": 10.0, "p99Ms": 20.0}
    assert describe_waits([]) is None


def test_too_many_arrivals_become_half_as_many_at_their_mean() -> None:
    arrivals = [Arrival(100 * number, 1 + number % 2 * 2, (number,)) for number in range(MAX_ARRIVALS + 2)]
    kept = remember(arrivals[::-1])
    assert len(kept) == MAX_ARRIVALS // 2 + 1
    assert kept[0] == Arrival(75, 4, (0, 1))  # 1 row at 0 ms, 3 at 100 ms
    assert sum(arrival.rows for arrival in kept) == sum(arrival.rows for arrival in arrivals)
    assert remember(arrivals[:MAX_ARRIVALS]) == tuple(arrivals[:MAX_ARRIVALS])


def test_arrivals_of_other_streams_are_never_put_together() -> None:
    arrivals = [Arrival(100 * n, 1, (n,), n % 2) for n in range(2 * MAX_ARRIVALS)]
    kept = remember(arrivals)
    assert [arrival.stream for arrival in kept] == [0] * MAX_ARRIVALS + [1] * MAX_ARRIVALS
    assert len(remember([*arrivals, Arrival(0, 1, (0,), 1)])) == MAX_ARRIVALS + MAX_ARRIVALS // 2 + 1


def test_a_sample_is_thinned_evenly() -> None:
    assert thinned(range(10), most=4) == (0, 3, 6, 9)
    assert thinned(range(4), most=4) == (0, 1, 2, 3)
