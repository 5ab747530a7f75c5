"""Hot keys: how they are found and remembered, what they do to units, and when subgroups become fewer or more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from braid.control.elasticity import Elasticity
from braid.control.layouts import next_layout
from braid.control.skew import KEPT_KEYS, add_counts, decide_groups, describe_treatment, hot_keys, imbalance
from braid.engine.loads import subgroup_loads
from braid.engine.reports import UnitCounts
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Auto, Biclique, Matrix, Partitioned, Strategy
from braid.placement.units import routes_stay_local, subgroups_of
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Load, Manifest
from braid.state.observed.samples import FrequentKey, KeyCounts
from braid.testing import Draft
from braid.testing.expressions import equal, less_or_equal

EIGHT = Layout(0, "biclique", (8, 8), (8, 8), most_groups=(8, 8))
EVEN = KeyCounts(10_000.0)


def keys_in(group: int, groups: int = 8) -> list[int]:
    """Keys that one subgroup of so many stores."""
    layout = Layout(0, "biclique", (groups,) * 2, (groups,) * 2)
    numbers = np.arange(1000, dtype=np.int64)
    return [int(key) for key in numbers[subgroups_of(layout, 0, numbers) == group]]


def counts(*shares: tuple[int, float], rows: float = 10_000.0) -> KeyCounts:
    return KeyCounts(rows, tuple(FrequentKey(key, f"k{key}", share * rows) for key, share in shares))


def plan_of(by_key: bool = True) -> JoinPlan:
    written = Draft()
    o, q = (written.stream(name, {"k": "bigint"}, window_us=10) for name in "oq")
    return build_plan(written.on(equal(o["k"], q["k"]) if by_key else less_or_equal(o["k"], q["k"])).logical_plan())


def seen(layout: Layout, *key_counts: KeyCounts, **state: Any) -> Manifest:
    return Manifest(3, 3, "run", 0, (), (layout,), (), 0, key_counts=key_counts, **state)


def test_one_hot_key_fills_its_unit_by_its_share_of_the_others() -> None:
    (key, *_) = keys_in(3)
    assert imbalance(EIGHT, (counts((key, 0.38)), EVEN)) == pytest.approx(1 + 0.38 * 7)
    assert imbalance(EIGHT, (EVEN, counts((key, 0.1)))) == pytest.approx(1.7)
    assert imbalance(EIGHT.regrouped((2, 2)), (counts((key, 0.38)), EVEN)) == pytest.approx(1.38)
    assert imbalance(EIGHT.regrouped((1, 1)), (counts((key, 1.0)), EVEN)) == pytest.approx(1)


def test_hot_keys_in_one_subgroup_count_together() -> None:
    first, second, *_ = keys_in(3)
    third, *_ = keys_in(5)
    assert imbalance(EIGHT, (counts((first, 0.1), (second, 0.1)), EVEN)) == pytest.approx((0.2 + 0.8 / 8) * 8)
    assert imbalance(EIGHT, (counts((first, 0.1), (third, 0.1)), EVEN)) == pytest.approx((0.1 + 0.8 / 8) * 8)


def test_units_that_scaling_gave_to_a_hot_subgroup_relieve_it() -> None:
    (key, *_) = keys_in(3)
    scaled = EIGHT.resized(0, 3, 4)
    hot = (counts((key, 0.3)), EVEN)
    assert imbalance(scaled, hot) == pytest.approx((0.3 + 0.7 / 8) / 4 * 11)
    assert decide_groups(EIGHT, hot) is not None
    assert decide_groups(scaled, hot) is None
    assert decide_groups(EIGHT.resized(0, 3, 9), (EVEN, EVEN)) is None


@pytest.mark.parametrize(
    ("share", "groups", "after"),
    [
        (0.07, 8, None),
        (0.08, 8, 4),
        (0.16, 8, 4),
        (0.17, 8, 2),
        (0.38, 8, 2),
        (0.51, 8, 1),
        (0.51, 2, 1),
        (0.49, 2, None),
        (0.26, 1, None),
        (0.25, 1, 2),
        (0.09, 1, 2),
        (0.08, 1, 4),
        (0.035, 2, 8),
        (0.04, 4, None),
        (0.0, 1, 8),
    ],
)
def test_as_many_subgroups_as_the_hottest_unit_allows(share: float, groups: int, after: int | None) -> None:
    (key, *_) = keys_in(3)
    decided = decide_groups(EIGHT.regrouped((groups, groups)), (counts((key, share)), EVEN))
    assert (None if decided is None else decided.after) == (None if after is None else (after, after))


def test_sides_of_different_sizes_have_divisors_of_their_own() -> None:
    layout = Layout(0, "biclique", (4, 6), (4, 6), most_groups=(4, 6))
    hot = counts((7, 0.9))
    decided = decide_groups(layout, (hot, hot))
    assert decided is not None
    assert decided.after == (1, 1)
    assert imbalance(layout.regrouped((2, 2)), (hot, hot)) == pytest.approx(1.9)


def test_nothing_is_decided_of_few_rows_or_of_a_fixed_layout() -> None:
    hot = counts((7, 0.9))
    assert decide_groups(EIGHT, (counts((7, 0.9), rows=900.0), KeyCounts(200.0))) is None
    assert decide_groups(replace(EIGHT, most_groups=None), (hot, hot)) is None
    assert decide_groups(EIGHT, ()) is None
    tiny = decide_groups(EIGHT, (EVEN, counts((7, 0.9), rows=900.0)))
    assert tiny is None


def test_counts_decay_and_the_most_frequent_are_kept() -> None:
    first = add_counts(KeyCounts(), [KeyCounts(100, (FrequentKey(7, "seven", 40.0), FrequentKey(8, "eight", 10.0)))])
    assert first == KeyCounts(100.0, (FrequentKey(7, "seven", 40.0), FrequentKey(8, "eight", 10.0)))
    sampled = [KeyCounts(50, (FrequentKey(8, "eight", rows),)) for rows in (30.0, 20.0)]
    second = add_counts(first, sampled)
    assert second == KeyCounts(190.0, (FrequentKey(8, "eight", 59.0), FrequentKey(7, "seven", 36.0)))
    assert add_counts(second, []) == add_counts(second, [KeyCounts()]) == second
    many = add_counts(second, [KeyCounts(100, tuple(FrequentKey(n, str(n), float(n)) for n in range(100, 200)))])
    assert [key.key for key in many.keys] == list(range(199, 199 - KEPT_KEYS, -1))


def test_keys_that_are_reported() -> None:
    both = (counts((1, 0.2), (2, 0.05)), counts((3, 0.3), (4, 0.009)))
    assert [(hot.stream, hot.text) for hot in hot_keys(EIGHT, both)] == [(1, "k3"), (0, "k1")]
    assert [hot.text for hot in hot_keys(Layout(0, "partitioned", (100,), (100,)), both)] == ["k3", "k1", "k2"]
    assert hot_keys(Layout(0, "matrix", (2, 2), (1, 1)), both) == (hot_keys(EIGHT, both)[0],)
    assert hot_keys(EIGHT, (counts((1, 0.2), rows=999.0),)) == ()


@pytest.mark.parametrize("slots", [1, 2, 3, 8])
def test_auto_keeps_a_key_in_one_slot_until_one_is_hot(slots: int) -> None:
    layout = Auto().layout(plan_of(), slots)
    assert (layout.kind, layout.units, layout.groups) == ("biclique", (slots, slots), (slots, slots))
    assert layout.most_groups == (slots, slots)
    assert routes_stay_local(layout, 2, slots)
    assert not Auto().layout(plan_of(by_key=False), 2).by_key


@pytest.mark.parametrize(
    ("strategy", "treatment"),
    [
        (Auto(), "spread over fewer subgroups where the fullest unit would hold more than 1.5 times its share"),
        (Biclique(routing="contrand"), "spread over fewer subgroups"),
        (Biclique(groups=2), "left where they are"),
        (Partitioned(), "left where they are"),
        (Biclique(), "spread like all rows"),
        (Matrix(), "spread like all rows"),
    ],
)
def test_what_layouts_do_about_hot_keys(strategy: Strategy, treatment: str) -> None:
    layout = strategy.layout(plan_of(), 4)
    assert treatment in describe_treatment(layout)
    assert (layout.most_groups is not None) == ("subgroups" in treatment)


def test_a_step_spreads_hot_keys_and_says_why() -> None:
    (key, *_) = keys_in(3)
    hot = KeyCounts(10_000.0, (FrequentKey(key, "AAPL", 3_800.0),))
    spread = next_layout(plan_of(), seen(EIGHT, hot, EVEN), EIGHT, None, 0)
    assert (spread.layout.epoch, spread.layout.units, spread.layout.groups) == (1, (8, 8), (2, 2))
    (said,) = spread.adaptations
    assert said == (
        "spreads hot keys: 8 → 2 subgroups, key 'AAPL' has 38% of o, the fullest unit goes from 3.66 to 1.38 times its "
        "share"
    )
    back = next_layout(plan_of(), seen(spread.layout, EVEN, EVEN), EIGHT, None, 0)
    assert back.layout.groups == (8, 8)
    assert back.adaptations[0].startswith("gathers keys that are no longer hot: 2 → 8 subgroups, the fullest unit")


def test_a_restart_keeps_what_hot_keys_decided_unless_the_strategy_changed() -> None:
    spread = replace(EIGHT.regrouped((2, 2)), epoch=4)
    (key, *_) = keys_in(3)
    manifest = seen(spread, counts((key, 0.38)), EVEN)
    assert next_layout(plan_of(), manifest, EIGHT, None, 0).layout == spread
    fixed = Layout(0, "biclique", (8, 8), (8, 8))
    assert next_layout(plan_of(), manifest, fixed, None, 0).layout == replace(fixed, epoch=5)
    fewer = Layout(0, "biclique", (4, 4), (4, 4), most_groups=(4, 4))
    assert next_layout(plan_of(), manifest, fewer, None, 0).layout == replace(fewer, epoch=5)


def test_a_regrouped_layout_is_still_scaled_and_a_scaled_one_regrouped() -> None:
    elastic = Elasticity(0.3, 0.8, 0.6, 1, 1, 100, 1, None)
    (key, *_) = keys_in(3)
    hot = (counts((key, 0.38)), EVEN)
    two = replace(EIGHT.regrouped((2, 2)), epoch=1)
    loads = (Load(0, 0, 900), Load(0, 1, 250), Load(1, 0, 250), Load(1, 1, 250))
    scaled = next_layout(plan_of(), seen(two, *hot, loads=loads), EIGHT, elastic, 50)
    assert scaled.layout.sizes == ((15, 4), (4, 4))
    assert scaled.layout.groups == (2, 2)
    grown = replace(EIGHT.resized(1, 0, 5), epoch=7)
    spread = next_layout(plan_of(), seen(grown, *hot), EIGHT, elastic, 50)
    assert (spread.layout.units, spread.layout.groups, spread.layout.sizes) == ((8, 12), (2, 2), None)
    assert spread.layout.members(1) == (6, 6)
    without = next_layout(plan_of(), seen(spread.layout, *hot), EIGHT, None, 60)
    assert (without.layout.units, without.layout.groups) == ((8, 8), (2, 2))
    shrunk = replace(two.resized(0, 0, 1).resized(0, 1, 1), epoch=8)
    gathered = next_layout(plan_of(), seen(shrunk, EVEN, EVEN), EIGHT, elastic, 50)
    assert (gathered.layout.units, gathered.layout.groups) == ((8, 8), (8, 8))


def unit_counts(epoch: int, unit: int, stored_bytes: int) -> UnitCounts:
    return UnitCounts(epoch, unit, 0.0, 0, stored_bytes, 0, 0, 0, 0, 0, 0)


def test_rows_of_an_older_grouping_count_where_the_newest_would_have_them() -> None:
    older, newest = replace(EIGHT, epoch=0), replace(EIGHT.regrouped((2, 2)), epoch=1)
    units = [unit_counts(0, unit, 10 * (unit + 1)) for unit in range(8)]
    units += [unit_counts(1, 0, 1000), unit_counts(1, 1, 2000)]
    loads = subgroup_loads(plan_of(), (older, newest), units)
    assert loads == (Load(0, 0, 1000 + 10 + 30 + 50 + 70), Load(0, 1, 2000 + 20 + 40 + 60 + 80))
    back = replace(EIGHT, epoch=2)
    parted = subgroup_loads(plan_of(), (newest, back), units[8:])
    assert parted == tuple(Load(0, group, 250 if group % 2 == 0 else 500) for group in range(8))
