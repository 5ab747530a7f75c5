"""Lengths of rings: closed forms beside trying every length, and streams that differ."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.optimizer.ring_costs import Lookup, RingWork, central_seconds, latency_seconds, output_ratio
from braid.optimizer.ring_lengths import (
    best_length,
    crossing_length,
    initial_lengths,
    mean_latency,
    queued_latency,
    queued_length,
    searched_length,
    turning_length,
    waiting_seconds,
)


@st.composite
def works(draw: st.DrawFn) -> RingWork:
    streams = draw(st.integers(2, 9))
    lookup = Lookup(0, draw(st.floats(1, 2000)), draw(st.floats(1e-4, 0.01)), draw(st.floats(1e-7, 1e-3)))
    lookups = tuple(Lookup(n, lookup.stored_rows, lookup.selectivity, lookup.pair_seconds) for n in range(1, streams))
    seconds = [draw(st.floats(1e-7, 1e-2)) for _ in range(2)]
    return RingWork(0, lookups, *seconds, insert_seconds=draw(st.floats(0, 1e-4)))


@settings(deadline=None)
@given(works(), st.integers(1, 40))
def test_closed_form_and_search_agree_on_latency(work: RingWork, most: int) -> None:
    closed, searched = best_length(work, most), searched_length(work, most)
    assert latency_seconds(work, closed) == pytest.approx(latency_seconds(work, searched), rel=1e-12)
    assert 1 <= closed <= most


@settings(deadline=None)
@given(works(), st.integers(1, 40))
def test_closed_form_and_search_agree_on_output(work: RingWork, most: int) -> None:
    closed, searched = (choose(work, most, "throughput") for choose in (best_length, searched_length))
    assert output_ratio(work, closed) == pytest.approx(output_ratio(work, searched), rel=1e-12)
    assert closed == most


@settings(deadline=None)
@given(works())
def test_the_turning_length_is_the_minimum_found_numerically(work: RingWork) -> None:
    """By thirds, on the sum that it should minimise: (N - 1) / 2 hops and the share of the work."""
    low, high = 1e-3, 1e12

    def seconds(length: float) -> float:
        return (length - 1) / 2 * work.hop_seconds + central_seconds(work) / length

    for _ in range(400):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if seconds(left) < seconds(right) else (left, high)
    assert seconds(turning_length(work)) == pytest.approx(seconds(low), rel=1e-9)
    assert turning_length(work) == pytest.approx(low, rel=1e-4)


@settings(deadline=None)
@given(works())
def test_at_the_crossing_length_work_and_hops_take_as_long(work: RingWork) -> None:
    length = crossing_length(work)
    sending = latency_sending(work)
    assert central_seconds(work) / length + sending == pytest.approx(work.streams * length * work.hop_seconds)


def latency_sending(work: RingWork) -> float:
    """Seconds of sending at each unit, row by row."""
    rows, total = 1.0, 0.0
    for lookup in work.lookups:
        total += rows
        rows *= lookup.stored_rows * lookup.selectivity
    return total * work.send_seconds


def test_without_hops_more_units_are_always_better() -> None:
    work = RingWork(0, (Lookup(1, 100, 0.1, 1e-3),), 1e-6, 0.0)
    assert best_length(work, 30) == searched_length(work, 30) == 30


# 0.1 s of comparing a row on one unit.
TENTH = RingWork(0, (Lookup(1, 100, 0.01, 1e-3),), send_seconds=0.0, hop_seconds=1e-3)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_rows_wait_as_long_as_in_a_simulated_queue(load: float) -> None:
    """Arrivals at random, a service of constant length, one row after another."""
    units, service, chance = 4, 0.025, np.random.default_rng(1)
    gaps = chance.exponential(service / load, 400_000)
    waits, wait = [], 0.0
    for gap in gaps:
        wait = max(0.0, wait + service - gap)
        waits.append(wait)
    assert waiting_seconds(TENTH, units, load / service) == pytest.approx(np.mean(waits), rel=0.05)


def test_queues_ask_for_longer_rings_and_all_units_where_none_keeps_up() -> None:
    assert math.isinf(queued_latency(TENTH, 4, 40.0))
    lengths = [queued_length(TENTH, 30, rate) for rate in (1.0, 40.0, 120.0)]
    assert lengths == sorted(lengths)
    assert lengths[0] >= best_length(TENTH, 30)
    assert queued_length(TENTH, 30, 301.0) == 30
    assert queued_latency(TENTH, 1, 0.0) == pytest.approx(0.1), "one unit has no hops"


def different(stored: tuple[float, ...], selectivity: float = 0.01, hop: float = 2e-4) -> list[RingWork]:
    return [
        RingWork(
            head,
            tuple(Lookup(s, stored[s], selectivity, 1e-4) for s in range(len(stored)) if s != head),
            send_seconds=1e-5,
            hop_seconds=hop,
            rows_per_second=stored[head],
        )
        for head in range(len(stored))
    ]


def test_equal_streams_have_the_length_of_one_of_them() -> None:
    equal = different((200, 200, 200))
    assert initial_lengths(equal, 19) == (best_length(equal[0], 19),) * 3


def test_streams_that_differ_have_different_lengths_near_the_best() -> None:
    some = different((20, 100, 800))
    lengths = initial_lengths(some, 12)
    assert lengths[0] < lengths[2]
    best = min(mean_latency(some, tried) for tried in itertools.product(range(1, 13), repeat=3))
    assert mean_latency(some, lengths) <= 1.1 * best


@settings(deadline=None)
@given(st.tuples(*[st.floats(1, 1000)] * 3), st.floats(1e-6, 1e-2), st.integers(1, 8))
def test_initial_lengths_are_within_the_units_and_no_worse_than_all_equal(
    stored: tuple[float, ...], hop: float, most: int
) -> None:
    some = different(stored, hop=hop)
    lengths = initial_lengths(some, most)
    assert all(1 <= length <= most for length in lengths)
    same = min(mean_latency(some, [length] * 3) for length in range(1, most + 1))
    assert mean_latency(some, lengths) <= same * (1 + 1e-9)
    assert initial_lengths(some, most, "throughput") == (most,) * 3
