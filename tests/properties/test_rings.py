"""The paper's properties and theorems on a simulated ring, and its equation 1 against what the ring counts."""

from __future__ import annotations

import random

import pytest

from braid.optimizer.ring_costs import (
    Lookup,
    RingWork,
    compared_pairs,
    probing_rows,
    ring_seconds,
    ring_seconds_by_ratio,
    traffic_ratio,
)
from tests.budget import seeds
from tests.properties.ring import Ring, Row, brute_force


def near(one: Row, other: Row) -> bool:
    return (one[2] + other[2]) % 3 == 0


def random_ring(seed: int) -> tuple[Ring, list[Row], tuple[int, ...]]:
    chance = random.Random(seed)
    streams, nodes = chance.choice((2, 3, 4)), chance.randint(1, 4)
    windows = tuple(chance.randint(nodes, 12) for _ in range(streams))
    bounds = tuple((0, *sorted(chance.sample(range(1, window), nodes - 1)), window) for window in windows)
    orders = tuple(
        tuple(chance.sample([s for s in range(streams) if s != head], streams - 1)) for head in range(streams)
    )
    times = sorted(chance.randint(0, 30) for _ in range(18))
    rows = [(chance.randrange(streams), time, chance.randrange(6)) for time in times]
    return Ring(bounds, orders, near, chance), rows, windows


@pytest.mark.parametrize("seed", seeds(60_000, 45))
def test_the_ring_finds_what_one_node_finds_each_once(seed: int) -> None:
    """Theorem 2, on rings whose nodes run in any order."""
    ring, rows, windows = random_ring(seed)
    for row in rows:
        ring.insert(row)
    assert ring.results == brute_force(rows, windows, ring.orders, near)


@pytest.mark.parametrize("seed", seeds(61_000, 45))
def test_a_probe_meets_exactly_the_rows_of_a_nodes_ages(seed: int) -> None:
    """Property 1: before it is processed older rows are there; after purging only its ages are left."""
    ring, rows, _ = random_ring(seed)
    for place, row in enumerate(rows):
        ring.checks.clear()
        ring.insert(row)
        assert [number for number, *_ in ring.checks] == list(range(len(ring.nodes)))
        for number, probe, before, after in ring.checks:
            node = ring.nodes[number]
            for stream in range(len(ring.bounds)):
                earlier = [one for one in rows[: place + 1] if one[0] == stream]
                own = [o for o in earlier if node.since[stream] <= probe[1] - o[1] < node.until[stream]]
                assert set(own) <= set(before[stream])
                assert sorted(after[stream]) == sorted(own)


@pytest.mark.parametrize("seed", seeds(62_000, 45))
def test_the_end_mark_is_the_last_of_its_schema_at_the_head(seed: int) -> None:
    """Property 2, by the order in which the head processed messages."""
    ring, rows, _ = random_ring(seed)
    for row in rows:
        ring.insert(row)
        ends = [place for place, message in enumerate(ring.at_head) if message.ends and message.origin == 0]
        assert len(ends) == len(ring.bounds) - 1
        for number, end in enumerate(ends):
            width = number + 2  # streams that are joined in what this mark ends
            assert all(len(message.rows) != width for message in ring.at_head[end + 1 :])


@pytest.mark.parametrize("seed", seeds(63_000, 45))
def test_the_last_end_mark_ends_the_cycle(seed: int) -> None:
    """Theorem 1: when the head has processed it, no message of the row is left anywhere."""
    ring, rows, _ = random_ring(seed)
    for row in rows:
        ring.insert(row)
        assert ring.idle


def test_a_ring_that_drops_rows_too_early_is_noticed() -> None:
    """The simulation can fail: with a gap between two slices results are missing."""
    rows = [(0, time, 0) if time % 2 else (1, time, 0) for time in range(12)]
    ring = Ring(((0, 2, 6), (0, 2, 6)), ((1,), (0,)), near, random.Random(1))
    ring.nodes[1].until = (3, 3)
    for row in rows:
        ring.insert(row)
    assert ring.results != brute_force(rows, (6, 6), ring.orders, near)


def even_ring(streams: int, nodes: int, stored: int, every: int) -> tuple[Ring, list[Row], RingWork]:
    """Streams of equal rates and windows, of whose pairs one of `every` matches: each window has each value equally."""
    window = stored * streams
    bounds = ((*(window * node // nodes for node in range(nodes)), window),) * streams
    orders = tuple(tuple(s for s in range(streams) if s != head) for head in range(streams))
    ring = Ring(bounds, orders, lambda one, other: one[2] == other[2], random.Random(streams))
    rows = [(time % streams, time, time // streams % every) for time in range(3 * window)]
    lookups = tuple(Lookup(stream, stored, 1 / every, 1e-3) for stream in range(1, streams))
    return ring, rows, RingWork(0, lookups, send_seconds=2e-4, hop_seconds=1e-4)


@pytest.mark.parametrize(
    ("streams", "nodes", "stored", "every"), [(2, 3, 6, 2), (3, 1, 4, 2), (3, 4, 6, 3), (4, 3, 4, 2), (5, 2, 2, 2)]
)
def test_equation_1_is_what_a_ring_counts(streams: int, nodes: int, stored: int, every: int) -> None:
    ring, rows, work = even_ring(streams, nodes, stored, every)
    for row in rows[: -3 * streams]:
        ring.insert(row)
    ring.pairs = ring.visits = 0
    before = ring.results.total()
    for row in rows[-3 * streams :]:
        ring.insert(row)
    counted = 3 * streams
    assert ring.pairs / counted == pytest.approx(compared_pairs(work))
    assert ring.visits / counted == pytest.approx(nodes * sum(probing_rows(work)))
    # Equation 2 prices the pairs and visits that were counted, though it has no sum over lookups.
    priced = (ring.pairs * work.lookups[0].pair_seconds + ring.visits * work.send_seconds) / counted
    assert ring_seconds(work, nodes) == pytest.approx(priced)
    assert ring_seconds_by_ratio(work, nodes) == pytest.approx(priced)
    assert traffic_ratio(work, nodes) == pytest.approx(ring.visits / (ring.results.total() - before))
