"""The equations of a ring by hand and by direct sums."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.optimizer.ring_costs import (
    Lookup,
    RingWork,
    central_seconds,
    compared_pairs,
    latency_seconds,
    output_ratio,
    probing_rows,
    required_bandwidth,
    ring_seconds,
    ring_seconds_by_ratio,
    service_rate,
    traffic_ratio,
)


def equal(streams: int, stored: float, selectivity: float, pair: float = 1e-4, **seconds: float) -> RingWork:
    lookups = tuple(Lookup(stream, stored, selectivity, pair) for stream in range(1, streams))
    return RingWork(0, lookups, **({"send_seconds": 1e-4, "hop_seconds": 1e-4} | seconds))


def test_three_streams_by_hand() -> None:
    """100 rows stored, one pair in 50 matches: 100 pairs, 2 rows, 200 pairs, 4 results."""
    work = equal(3, 100, 0.02, pair=1e-3, insert_seconds=0.01, purge_seconds=0.02, send_seconds=0.005)
    assert probing_rows(work) == (1, 2)
    assert compared_pairs(work) == 300
    assert central_seconds(work) == pytest.approx(0.03 + 0.3)
    assert ring_seconds(work, 4) == pytest.approx(0.33 + 0.005 * 4 * 3)
    assert service_rate(work, 4) == pytest.approx(4 / 0.39)
    assert output_ratio(work, 4) == pytest.approx(4 * 0.33 / 0.39)
    assert traffic_ratio(work, 4) == pytest.approx(4 * 3 / 4)


def test_streams_that_differ_by_hand() -> None:
    """10 rows and then 40: one row finds 5, of which each is compared with 40 and finds 1."""
    lookups = (Lookup(2, 10, 0.5, 1e-3), Lookup(0, 40, 0.025, 2e-3))
    work = RingWork(1, lookups, send_seconds=1e-4, hop_seconds=1e-5)
    assert probing_rows(work) == (1, 5)
    assert central_seconds(work) == pytest.approx(10e-3 + 200 * 2e-3)
    # Stream 0 on 4 units, the new row's on 2, stream 2 on 1.
    busy = 10e-3 + 1e-4 + 200 * 2e-3 / 4 + 5e-4
    assert latency_seconds(work, (4, 2, 1)) == pytest.approx(1.5 / 2 * 1e-5 + busy)


def counted(streams: int, stored: int, every: int) -> tuple[int, int]:
    """Pairs and probing rows of one new row, one by one, where one in `every` stored rows matches."""
    rows, pairs, probing = [()], 0, 0
    for _ in range(streams - 1):
        found = []
        for row in rows:
            probing += 1
            for other in range(stored):
                pairs += 1
                if other % every == 0:
                    found.append((*row, other))
        rows = found
    return pairs, probing


@settings(deadline=None)
@given(st.integers(2, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 19))
def test_equation_2_follows_from_equation_1(streams: int, of_every: int, every: int, units: int) -> None:
    work = equal(streams, of_every * every, 1 / every, pair=3e-4, send_seconds=7e-5)
    pairs, probing = counted(streams, of_every * every, every)
    summed = 3e-4 * pairs + 7e-5 * units * probing
    assert ring_seconds(work, units) == pytest.approx(summed)
    assert ring_seconds_by_ratio(work, units) == pytest.approx(summed)


def test_equation_2_adds_only_the_sending_of_inserts_and_purges() -> None:
    work = equal(3, 500, 0.1, insert_seconds=2e-5, purge_seconds=1e-5)
    apart = ring_seconds_by_ratio(work, 10) / ring_seconds(work, 10) - 1
    assert 0 < apart < 3e-5 / central_seconds(work)


@settings(deadline=None)
@given(st.floats(1, 1e4), st.floats(1e-7, 1e-2), st.floats(0, 1e-2), st.integers(1, 100))
def test_equation_4_follows_from_equation_3(stored: float, pair: float, send: float, units: int) -> None:
    """With N rows at a time; without it the output would fall with every unit."""
    work = equal(3, stored, 0.1, pair, send_seconds=send)
    assert output_ratio(work, units) == pytest.approx(1 / (1 / units + send / (stored * pair)))
    assert output_ratio(work, units + 1) > output_ratio(work, units) * (1 - 1e-12)


def test_latency_by_hand() -> None:
    """Equation 5: 4 units, work 0.3 s: hidden hops, then hops that are longer than the work."""
    work = equal(3, 100, 0.02, pair=1e-3, send_seconds=0.005, hop_seconds=1e-4)
    assert latency_seconds(work, 4) == pytest.approx(1.5e-4 + 0.3 / 4 + 0.015)
    slow = equal(3, 100, 0.02, pair=1e-3, send_seconds=0.005, hop_seconds=0.1)
    assert latency_seconds(slow, 4) == pytest.approx(0.15 + 3 * 4 * 0.1)


def test_rows_that_go_together_share_a_hop() -> None:
    assert equal(3, 100, 0.1, hop_seconds=1e-3).of_rows(100).hop_seconds == pytest.approx(1e-5)


def test_bandwidth_by_hand() -> None:
    """A unit compares a row with 10 of 100 rows in 1 ms, so 60 kB must arrive in a millisecond."""
    assert required_bandwidth(equal(3, 100, 0.1, pair=1e-4), 10, 60_000) == pytest.approx(60e6)
    assert math.isinf(required_bandwidth(equal(3, 0, 0.1), 10, 60_000))


@pytest.mark.parametrize("streams", [3, 5])
def test_traffic_comes_near_to_the_ratio_of_the_paper(streams: int) -> None:
    """N / (lambda W S), where lookups find many rows."""
    assert traffic_ratio(equal(streams, 5000, 0.1), 10) == pytest.approx(10 / 500, rel=0.01)
