"""Ranges from samples: every unit has about its share of rows and pairs, and ranges change only where that pays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from braid.control.number_samples import add_samples, make_points, points_of, to_sample
from braid.control.ranging import decide_ranges
from braid.placement.ranges import routes_by_number
from braid.plan.layout import Layout
from braid.state.observed.samples import NumberSample

Numbers = npt.NDArray[np.float64]
BAND = 0.5


def layout(units: int, most: int | None = None) -> Layout:
    limit = None if most is None else (most, most)
    return Layout(0, "biclique", (units, units), (1, 1), most_groups=limit, ranges=((), ()))


def sampled(numbers: Numbers, band: float = BAND) -> NumberSample:
    return to_sample(make_points(numbers, len(numbers), numbers - band, numbers + band))


def ranges_for(layout: Layout, *streams: Numbers, live: int = 1) -> Layout:
    decided = decide_ranges(layout, [sampled(numbers) for numbers in streams], live)
    assert decided is not None
    return decided.layout


def fullest(chosen: Layout, stream: int, numbers: Numbers, probing: Numbers) -> tuple[float, float]:
    """The fullest unit's multiple of its share of the rows and of the pairs, by brute force."""
    assert chosen.ranges is not None
    routes = np.minimum(routes_by_number(chosen.ranges[stream], numbers), chosen.groups[stream] - 1)
    partners = np.array([np.sum(np.abs(probing - number) <= BAND) for number in numbers], float)
    members = np.array(chosen.members(stream))
    found = []
    for weights in (np.ones(len(numbers)), partners):
        loads = np.bincount(routes, weights, len(members)) / members
        found.append(float(loads.max() / weights.sum() * members.sum()))
    return found[0], found[1]


def test_even_numbers_are_cut_into_a_range_per_unit() -> None:
    chance = np.random.default_rng(1)
    numbers = [chance.random(4000) * 1000 for _ in range(2)]
    chosen = ranges_for(layout(16), *numbers)
    assert chosen.groups == (16, 16)
    assert chosen.ranges is not None
    assert chosen.ranges[0] == chosen.ranges[1]  # rows probe mostly where they are stored
    for stream in range(2):
        assert max(fullest(chosen, stream, numbers[stream], numbers[1 - stream])) < 1.4


def test_a_hot_number_is_spread_over_several_units_by_its_pairs() -> None:
    """Zipf 1.2 with one value at 20 %, 16 units: no unit has more than 1.6 times its share of rows or of pairs."""
    chance = np.random.default_rng(2)
    weights = np.arange(1, 2001) ** -1.2
    weights[0] = 0.25 * weights[1:].sum()
    numbers = [chance.choice(np.arange(2000.0), 6000, p=weights / weights.sum()) for _ in range(2)]
    chosen = ranges_for(layout(16), *numbers)
    assert chosen.units == (16, 16)
    assert max(chosen.members(0)) > 2
    for stream in range(2):
        rows, pairs = fullest(chosen, stream, numbers[stream], numbers[1 - stream])
        assert rows <= 1.6
        assert pairs <= 1.6


def test_streams_with_different_numbers_have_ranges_of_their_own() -> None:
    chance = np.random.default_rng(3)
    low, high = chance.random(4000), 1000 + chance.random(4000)
    chosen = ranges_for(layout(4), low, high)
    assert chosen.ranges is not None
    assert max(chosen.ranges[0]) < 2 < min(chosen.ranges[1])


def test_what_is_not_finite_gets_units_by_its_share() -> None:
    chance = np.random.default_rng(4)
    numbers = np.where(chance.random(4000) < 0.5, np.nan, chance.random(4000))
    chosen = ranges_for(layout(8), numbers, numbers)
    members = chosen.members(0)
    assert members[-1] >= 4
    assert fullest(chosen, 0, numbers, chance.random(100))[0] < 1.5


@pytest.mark.parametrize("most", [1, 3, 8])
def test_no_more_ranges_than_asked_for_and_all_units_used(most: int) -> None:
    numbers = np.random.default_rng(5).random(4000) * 100
    if most == 1:
        assert decide_ranges(layout(8, most), [sampled(numbers)] * 2, 1) is None
        return
    chosen = ranges_for(layout(8, most), numbers, numbers)
    assert max(chosen.groups) <= most
    assert chosen.units == (8, 8)


def test_ranges_stay_while_the_data_stays_and_follow_it_when_it_moves() -> None:
    chance = np.random.default_rng(6)
    first = ranges_for(layout(8), chance.random(4000), chance.random(4000))
    again = [sampled(chance.random(4000)) for _ in range(2)]
    assert decide_ranges(first, again, 1) is None
    moved = [sampled(chance.random(4000) ** 3) for _ in range(2)]
    decided = decide_ranges(first, moved, 1)
    assert decided is not None
    assert decided.imbalance_before is not None
    assert decided.imbalance_after < 1.3 < 1.5 < decided.imbalance_before
    assert "the fullest unit goes from" in decided.describe(["a", "b"])
    assert decide_ranges(first, moved, 3) is None  # three epochs are live


@pytest.mark.parametrize("seed", range(3))
def test_chance_alone_changes_no_ranges_in_a_long_run(seed: int) -> None:
    """A narrow band over even numbers, 32 units, samples of 32 tasks a step that decay."""
    chance = np.random.default_rng(seed)
    kept = [NumberSample(), NumberSample()]
    chosen = layout(32)
    decisions = []
    for step in range(100):
        for stream in range(2):
            sampled_here = [chance.random(512) * 200_000 for _ in range(32)]
            points = [to_sample(make_points(n, 1562.0, n - BAND, n + BAND)) for n in sampled_here]
            kept[stream] = add_samples(kept[stream], points)
        decided = decide_ranges(chosen, kept, 1)
        if decided is not None:
            chosen = decided.layout
            decisions.append(step)
    assert decisions == [0]


def test_few_samples_and_layouts_without_ranges_decide_nothing() -> None:
    few = sampled(np.arange(10.0))
    assert decide_ranges(layout(4), [few, few], 1) is None
    many = sampled(np.arange(5000.0))
    assert decide_ranges(Layout(0, "biclique", (4, 4), (1, 1)), [many, many], 1) is None
    assert decide_ranges(layout(1), [many, many], 1) is None


def test_a_sample_keeps_its_weight_its_hot_numbers_and_few_points() -> None:
    chance = np.random.default_rng(7)
    numbers = np.where(chance.random(20_000) < 0.2, 7.25, chance.random(20_000) * 1000)
    sample = sampled(numbers)
    points = points_of(sample)
    assert len(points) <= 2 * 256
    assert sample.rows == pytest.approx(20_000, rel=1e-3)
    hot = points[points["number"] == 7.25]
    assert hot["rows"].sum() == pytest.approx((numbers == 7.25).sum(), rel=0.01)
    median = points["number"][np.searchsorted(np.cumsum(points["rows"]), 10_000)]
    assert median == pytest.approx(np.median(numbers), rel=0.03)


def test_samples_decay_and_nothing_changes_without_rows() -> None:
    before = sampled(np.full(1000, 1.0))
    assert add_samples(before, [NumberSample()]) == before
    after = add_samples(before, [sampled(np.full(1000, 5.0))])
    weights = {float(point["number"]): float(point["rows"]) for point in points_of(after)}
    assert weights == pytest.approx({1.0: 900.0, 5.0: 1000.0})


def test_rows_without_a_number_reach_anything() -> None:
    ends = np.array([-np.inf, 0.0]), np.array([np.inf, 2.0])
    points = points_of(to_sample(make_points(np.array([np.nan, 1.0]), 2, *ends)))
    assert points["number"].tolist() == [1.0, np.inf]
    assert np.isnan(points["lower"]).tolist() == [False, True]
    assert points["lower"][0] == 0.0
    assert points["upper"][0] == 2.0
