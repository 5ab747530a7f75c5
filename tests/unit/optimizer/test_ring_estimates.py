"""Rings from what a manifest says: rates, pairs, the time of a pair; and what `explain` prints of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from braid.control import fanouts
from braid.optimizer import ring_estimates
from braid.optimizer.build import build_plan
from braid.optimizer.ring_costs import compared_pairs, join_seconds
from braid.optimizer.ring_estimates import (
    LOOKUP_SECONDS,
    MIN_GAIN,
    better_rings,
    describe_rings,
    estimate_rings,
    with_measured_rings,
)
from braid.optimizer.strategies import TimeSliced
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, CheckCost, Fanout, Manifest, Mark
from braid.state.slice_state import Hops, SliceState
from braid.testing import Draft

NAMES = ("a", "b", "c")
STEPS = 200  # observations of so many steps have settled: their weights add up to ten steps


def near(one: pa.Array, other: pa.Array) -> np.ndarray:
    raise AssertionError("estimated, not run")


@pytest.fixture
def plan() -> JoinPlan:
    draft = Draft()
    a, b, c = (draft.stream(name, {"v": "bigint"}, window_us=8_000_000) for name in NAMES)
    draft.on_function(near, a["v"], b["v"], raises=False, cost=2e-5)
    draft.on_function(near, b["v"], c["v"], raises=False, cost=2e-5)
    return build_plan(draft.logical_plan())


def manifest_of(
    layout: Layout,
    rows: float,
    stored: float,
    matches: float,
    pair: float,
    row_bytes: int = 80,
    hop: float = 1e-3,
    hops: float = 1000.0,
) -> Manifest:
    """Steps of `rows` rows of each stream, each compared with `stored` rows, of which `matches` match.

    A unit more takes `hop` seconds, as measured of so many `hops`.
    """
    observed = []
    for head, order in enumerate(((1, 2), (0, 2), (1, 0))):
        probes, joined = 10 * rows, (head,)
        for stream in order:
            observed.append(Fanout(head, stream, tuple(sorted(joined)), probes, probes * matches, probes * stored))
            probes, joined = probes * matches, (*joined, stream)
    pairs = 10 * rows * stored
    costs = tuple(CheckCost(n, pairs, pairs * pair, 1000.0, 1000.0 * matches / stored) for n in (0, 1))
    blocks = (Block("f", 0, 0, 0, 0, None, 1000, 1000 * row_bytes, 0, 1),)
    marks = tuple(Mark(None, None, 0) for _ in NAMES)
    known = SliceState(hops=Hops(hops, hops * hop * layout.units[0] / len(NAMES)))
    found = Manifest(STEPS, STEPS, "run", 0, marks, (layout,), blocks, 0, fanouts=tuple(observed), check_costs=costs)
    return replace(found, slice_state=known)


def test_the_work_of_a_row_is_what_was_measured(plan: JoinPlan) -> None:
    layout = TimeSliced(8).layout(plan, 2)
    estimate = estimate_rings(plan, manifest_of(layout, rows=1000, stored=400, matches=2, pair=1e-5))
    assert estimate.rows == pytest.approx(3000, rel=1e-3)
    assert estimate.row_bytes == 80
    for work in estimate.works:
        assert compared_pairs(work) == pytest.approx(400 + 2 * 400)
        assert join_seconds(work) == pytest.approx(1200 * 1e-5, rel=0.01)
        assert work.rows_per_second == 10_000
        assert work.hop_seconds == pytest.approx(1e-3 / 3000, rel=1e-3)


@pytest.mark.parametrize(
    ("lookups", "seconds", "expected"),
    [
        (1000.0, 30.0, 30e-3),  # with an object store
        (20.0, 20 * 1e-4, 1e-4),
        (5.0, 1.0, LOOKUP_SECONDS),  # too few
        (0.0, 0.0, LOOKUP_SECONDS),
    ],
)
def test_a_unit_more_costs_what_lookups_took_besides_comparing(
    plan: JoinPlan, lookups: float, seconds: float, expected: float
) -> None:
    """Of eight units one more has a lookup of each of three delta streams, one after another."""
    layout = TimeSliced(8).layout(plan, 2)
    manifest = replace(manifest_of(layout, 1000, 400, 2, 1e-5), slice_state=SliceState(hops=Hops(lookups, seconds)))
    estimate = estimate_rings(plan, manifest)
    assert estimate.hop_seconds == pytest.approx(3 / 8 * expected)
    assert {work.hop_seconds for work in estimate.works} == {estimate.hop_seconds / estimate.rows_or_one}


def test_units_that_cost_much_make_rings_short(plan: JoinPlan) -> None:
    layout = TimeSliced(8).layout(plan, 2)
    units = []
    for hop in (1e-5, 1e-3, 1e-2, 1.0):
        found = with_measured_rings(plan, layout, manifest_of(layout, 500, 400, 2, 3e-8, hop=hop))
        units.append(max(slicing.units for slicing in found.slices))
    assert units == sorted(units, reverse=True)
    assert (units[0], units[-1]) == (8, 1)


@pytest.mark.parametrize(
    ("rows", "pair", "expected"),
    [
        (1000, 1e-4, (8, 8, 8)),  # 3,000 rows of 0.12 s of comparing: every unit helps
        # 1,500 rows of 49 µs: with 5 units work and the hops of 3 rounds take 15 ms each.
        (500, 3e-8, (5, 5, 5)),
        (200, 1e-8, (2, 2, 3)),  # 15 ms of work: between 2 and 3 units, so streams may differ
    ],
)
def test_rings_follow_the_work_of_a_step(plan: JoinPlan, rows: float, pair: float, expected: tuple[int, ...]) -> None:
    layout = TimeSliced(8).layout(plan, 2)
    chosen = with_measured_rings(plan, layout, manifest_of(layout, rows, stored=400, matches=2, pair=pair))
    assert tuple(slicing.units for slicing in chosen.slices) == expected
    for slicing in chosen.slices:
        assert slicing.width_us == -(-8_000_000 // (8 * slicing.units)), "eight slices for each unit and window"
    assert chosen.units == (8,)


def test_without_measurements_and_for_throughput_all_units_are_used(plan: JoinPlan) -> None:
    layout = TimeSliced(8).layout(plan, 2)
    few = manifest_of(layout, rows=10, stored=400, matches=2, pair=1e-8)
    most = TimeSliced(8, goal="throughput").layout(plan, 2)
    given = TimeSliced(8, slices=64).layout(plan, 2)
    cheap = manifest_of(most, rows=200, stored=400, matches=2, pair=1e-8)
    for one, manifest in ((layout, few), (most, cheap), (given, cheap)):
        assert with_measured_rings(plan, one, manifest) == one
        assert better_rings(plan, replace(manifest, layouts=(one,))) is None
    assert {slicing.units for slicing in layout.slices} == {8}


def test_rings_in_force_stay_unless_others_are_clearly_faster(plan: JoinPlan) -> None:
    layout = TimeSliced(8).layout(plan, 2)
    before = with_measured_rings(plan, layout, manifest_of(layout, 500, stored=400, matches=2, pair=3e-8))
    nearly = manifest_of(before, 560, stored=400, matches=2, pair=3e-8)
    assert with_measured_rings(plan, layout, nearly) == before
    far = manifest_of(before, 500, stored=400, matches=2, pair=1e-5)
    after = with_measured_rings(plan, layout, far)
    estimate = estimate_rings(plan, far)
    before_lengths, after_lengths = ([slicing.units for slicing in one.slices] for one in (before, after))
    gain = estimate.latency(before_lengths) / estimate.latency(after_lengths)
    assert gain >= MIN_GAIN
    assert better_rings(plan, nearly) is None
    assert better_rings(plan, far) == (tuple(after_lengths), pytest.approx(gain))


def test_what_balancing_made_of_rings_does_not_count(plan: JoinPlan) -> None:
    """Balancing may have made rings longer: the lengths that were chosen are compared, or both would take turns."""
    layout = TimeSliced(8).layout(plan, 2)
    chosen = with_measured_rings(plan, layout, manifest_of(layout, 500, 400, 2, 3e-8))
    balanced = chosen.resliced(tuple(replace(slicing, units=8) for slicing in chosen.slices))
    assert better_rings(plan, manifest_of(balanced, 500, 400, 2, 3e-8)) is None
    assert better_rings(plan, manifest_of(layout, 500, 400, 2, 3e-8)) is not None


def test_explain_has_sequences_lengths_and_what_they_take(plan: JoinPlan) -> None:
    layout = TimeSliced(8).layout(plan, 2)
    manifest = manifest_of(layout, 500, stored=400, matches=2, pair=3e-8)
    lines = describe_rings(plan, layout, manifest)
    assert lines[0] == "new rows of a: b, c (estimate: 1,200 pairs, 4 results and 48 µs of comparing a row)"
    assert lines[3].startswith("rings for latency: a 8, b 8, c 8; expected ")
    assert lines[3].endswith(" for 1,500 rows of a step, with 1 ms for each unit more")
    assert len(lines) == 4
    unmeasured = describe_rings(plan, layout, None)
    assert unmeasured[0].startswith("new rows of a: b, c (guess: ")
    assert unmeasured[-1] == "rings for latency: all units, because no rates were measured yet"
    assert describe_rings(plan, replace(layout, goal="throughput"), None)[-1].startswith("rings for throughput: all")
    assert describe_rings(plan, Layout(0, "partitioned", (2,), (1,)), None) == ()


def test_observations_decay_as_the_controller_says() -> None:
    assert ring_estimates.DECAY == fanouts.DECAY


def test_explain_warns_where_units_wait_for_the_network(plan: JoinPlan) -> None:
    """60 kB a row, compared with 50 rows of a unit in 2.5 µs: 24 GB/s."""
    layout = TimeSliced(8).layout(plan, 2)
    images = manifest_of(layout, 500, stored=400, matches=2, pair=5e-8 - 1e-8, row_bytes=60_000)
    assert describe_rings(plan, layout, images)[-1] == (
        "warning: units wait for the network: rows of 60,000 bytes are compared faster than a link of 125 MB/s brings "
        "them; 24,000 MB/s would be needed, fewer units need less"
    )
    slow = manifest_of(layout, 500, stored=400, matches=2, pair=1e-3, row_bytes=60_000)
    assert not any("warning" in line for line in describe_rings(plan, layout, slow))
