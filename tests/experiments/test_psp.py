"""The models of time-sliced joins by hand, the predicates, and a small run of what counts with the engine."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.optimizer.strategies import AlignedRouting, TimeSliced
from experiments import psp
from experiments.psp.aligned_model import AlignedSetting, run_aligned
from experiments.psp.arrivals import Arrivals, poisson
from experiments.psp.coordinated_model import CoordinatedSetting, greedy_cover, holders, run_coordinated
from experiments.psp.engine_runs import Chain, count, of_units, total
from experiments.psp.images import NEAR, alike, random_images, with_probability
from experiments.psp.node_work import NodeWork, measure_work
from experiments.psp.ring_model import Phase, RingSetting, run_ring

# 10 ms a pair, 1 ms to send and receive a row, 100 ms a hop; transfers take no time.
WORK = NodeWork((1.0, 10.0), (0.01, 0.1), row_seconds=0.001, row_bytes=0.0, wire_seconds=0.1)


def of(*streams: list[float]) -> Arrivals:
    return Arrivals(tuple(np.array(times, float) for times in streams))


def test_the_models_share_no_code_with_the_equations() -> None:
    """They import nothing of Braid, themselves or by what they import: so they can contradict its cost model."""
    known: set[str] = set()
    found = {"ring_model", "aligned_model", "coordinated_model"}
    while found > known:
        known = set(found)
        for name in known:
            text = Path(psp.__path__[0], f"{name}.py").read_text()
            assert not re.search(r"^\s*(from|import) braid", text, re.MULTILINE), name
            found |= set(re.findall(r"^from experiments\.psp\.(\w+) import", text, re.MULTILINE))
    assert {"arrivals", "node_work", "images"} <= found


def test_rows_are_stored_by_their_age() -> None:
    arrivals = of([0.0, 1.0, 2.0, 3.0, 5.0])
    assert arrivals.stored(0, [5.0], [0.0, 2.0, 4.0]).tolist() == [[1, 2]]
    assert arrivals.in_order()[-1] == (5.0, 0)


def test_rows_come_at_their_rate_which_may_double() -> None:
    arrivals = poisson(2, 50.0, 10.0, 200.0, seed=1, doubles_at=100.0)
    for times in arrivals.streams:
        assert times[0] < 0
        assert np.sum((times >= 0) & (times < 100)) == pytest.approx(5_000, rel=0.06)
        assert np.sum(times >= 100) == pytest.approx(10_000, rel=0.06)


def test_comparing_is_interpolated_and_goes_on() -> None:
    work = NodeWork((1.0, 3.0), (1.0, 5.0), 0.0, 0.0)
    assert [work.comparing(n) for n in (0, 1, 2, 3, 4, 10)] == [0.0, 1.0, 3.0, 5.0, 7.0, 19.0]


def test_a_row_on_a_ring_of_two_nodes_by_hand() -> None:
    """The stored row is of the second slice: nothing at the head, then a hop, then one pair."""
    setting = RingSetting.even(2, 10.0, 1.0, WORK)
    outcome = run_ring(of([-8.0], [0.0]), setting, seed=1)
    assert outcome.results == [1]
    assert outcome.latency() == pytest.approx(0.001 + 0.1 + 0.011)
    assert outcome.pairs == 1
    assert outcome.busy == pytest.approx([0.001, 0.011])


def test_what_a_node_finds_goes_once_round_the_ring() -> None:
    """Of three streams: s1 is stored at the head, s2 at the tail; from there to the tail is one hop."""
    outcome = run_ring(of([0.0], [-1.0], [-8.0]), RingSetting.even(2, 10.0, 1.0, WORK), seed=1)
    assert outcome.results == [1]
    assert outcome.latency() == pytest.approx(0.011 + 0.1 + 0.011)


def test_a_row_waits_for_those_before_it() -> None:
    outcome = run_ring(of([-1.0], [0.0, 0.001]), RingSetting.even(1, 10.0, 1.0, WORK), seed=1)
    assert outcome.delays == pytest.approx([0.011, 0.021])


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_ring_compares_every_pair_once(nodes: int) -> None:
    """With selectivity 1, by loops over all rows."""
    arrivals, window = poisson(3, 2.0, 3.0, 4.0, seed=3), 3.0
    outcome = run_ring(arrivals, RingSetting.even(nodes, window, 1.0, WORK), seed=1)
    pairs = results = 0
    for time, head in arrivals.in_order():
        first, second = (arrivals.streams[(head + n) % 3] for n in (1, 2))
        sizes = [int(np.sum((times < time) & (times >= time - window))) for times in (first, second)]
        pairs += sizes[0] + sizes[0] * sizes[1]
        results += sizes[0] * sizes[1]
    assert (outcome.pairs, sum(outcome.results)) == (pairs, results)


def test_a_ring_that_changes_has_the_same_results_and_pauses() -> None:
    arrivals = poisson(2, 5.0, 3.0, 6.0, seed=4)
    before, after = Phase(2), Phase(3, "count", since=2.0, pause=1.0)
    changed = run_ring(arrivals, RingSetting(1.0, 3.0, WORK, (before, after)), seed=1)
    fixed = run_ring(arrivals, RingSetting(1.0, 3.0, WORK, (before,)), seed=1)
    assert changed.results == fixed.results
    assert changed.pairs == fixed.pairs
    first = next(row for row, came in enumerate(changed.came) if came >= 2.0 and changed.results[row])
    assert changed.delays[first] / changed.results[first] > 1.0 - (changed.came[first] - 2.0)


def test_aligned_routing_joins_a_row_where_the_masters_segments_are() -> None:
    """The row at 11 s meets rows of the first stream in two segments, at two nodes that work side by side."""
    setting = AlignedSetting(nodes=3, segment=10.0, window=5.0, selectivity=1.0, work=WORK)
    outcome = run_aligned(of([8.0, 10.5], [11.0]), setting, seed=1)
    assert outcome.results == [0, 0, 2]
    assert outcome.delays[2] == pytest.approx(2 * (0.1 + 0.011))
    assert [round(one, 6) for one in outcome.busy] == [0.012, 0.012, 0.0]


def test_a_cover_has_every_segment_once_at_a_node_that_stores_it() -> None:
    for copies in (1, 3, 5):
        cover = greedy_cover(0, 3, 14, 10, copies)
        assert sorted(segment for segments in cover for segment in segments) == list(range(3, 15))
        for segments in cover:
            common = set.intersection(*({*holders(0, segment, 10, copies)} for segment in segments))
            assert common
    assert len(greedy_cover(0, 3, 14, 10, 5)) < len(greedy_cover(0, 3, 14, 10, 1))
    assert len(greedy_cover(0, 3, 14, 10, 10)) == 1


def test_coordinated_routing_by_hand() -> None:
    """All segments at one node: a hop and two pairs, then the next row."""
    setting = CoordinatedSetting(nodes=1, copies=1, window=10.0, selectivity=1.0, work=WORK)
    outcome = run_coordinated(of([-1.0, -0.5], [0.0, 0.05]), setting, seed=1)
    once = 0.1 + 0.001 + 0.02
    assert outcome.delays == pytest.approx([2 * once, 2 * (2 * once - 0.05)])


def test_images_are_alike_where_most_values_are_near() -> None:
    base = np.full(300, 100, np.uint8)
    near, far = base + NEAR, base.copy()
    far[:31] = 200  # more than a tenth
    rows = [base, near, far]
    images = pa.array([row.tobytes() for row in rows], pa.binary())
    assert alike(images.take([0, 0, 2]), images.take([1, 2, 0])).tolist() == [True, False, False]
    assert alike(images.slice(1, 2), images.slice(1, 2)).tolist() == [True, True]


def test_images_of_a_scene_are_alike_and_others_not() -> None:
    chance = np.random.default_rng(1)
    images = random_images(40, 200, 4, chance)
    left, right = (np.repeat(np.arange(40), 40), np.tile(np.arange(40), 40))
    share = alike(images.take(pa.array(left)), images.take(pa.array(right))).mean()
    assert share == pytest.approx(0.25, abs=0.08)


def test_pairs_match_with_their_probability_whatever_the_batch() -> None:
    chance = np.random.default_rng(2)
    left, right = (pa.array(chance.integers(0, 1 << 62, 50_000)) for _ in range(2))
    found = with_probability(0.05)(left, right)
    assert found.mean() == pytest.approx(0.05, rel=0.1)
    assert np.array_equal(with_probability(0.05)(left.slice(100, 50), right.slice(100, 50)), found[100:150])


def test_measured_work_is_that_of_a_row() -> None:
    work = NodeWork.of(measure_work(200, repeats=1))
    assert work.row_bytes == 600
    assert work.comparing(3) > 0
    assert work.row_seconds > 0
    assert replace(work, link_bytes_per_second=6_000.0).transfer_seconds(2) == pytest.approx(0.2)


def test_engine_runs_count_pairs_and_copies() -> None:
    """Of two streams all pairs in the windows are compared, and both ways find the same."""
    chain = Chain(2, 20, 2.0)
    ring = count(chain, TimeSliced(2), 2, 2)
    aligned = count(chain, AlignedRouting("10 seconds", 2), 2, 2)
    assert total(ring, "numOutputRows") == total(aligned, "numOutputRows") > 0
    assert total(ring, "copies") == 0 < total(aligned, "copies")
    assert of_units(ring, "pairsCompared") / total(ring, "numInputRows") == pytest.approx(20, rel=0.3)
