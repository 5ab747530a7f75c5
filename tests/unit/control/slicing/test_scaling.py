"""Time slices on another number of units, by their load and over restarts."""

from __future__ import annotations

from dataclasses import replace

from braid.control.elasticity import Elasticity
from braid.control.layouts import next_layout
from braid.control.slicing.scaling import on_units
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import TimeSliced
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Slicing
from braid.state.manifest import Load, Manifest, Mark
from braid.testing import Draft

WINDOW_US = 1_000_000
ELASTICITY = Elasticity(0.3, 0.8, 0.6, 1, 1, 1_000, 1, None)


def plan_of() -> JoinPlan:
    draft = Draft()
    for name in "ab":
        draft.stream(name, {"v": "bigint"}, window_us=WINDOW_US)
    return build_plan(draft.logical_plan())


def manifest_of(layout: Layout, stored_bytes: int, live_epochs: int = 1) -> Manifest:
    mark = Mark(10 * WINDOW_US, None, 0, 0)
    layouts = (*(replace(layout, epoch=-1 - n) for n in range(live_epochs - 1)), layout)
    return Manifest(0, 0, "r", 0, (mark, mark), layouts, (), 0, loads=(Load(0, 0, stored_bytes),))


def test_the_longest_rings_have_all_units_and_shorter_ones_stay_if_they_fit() -> None:
    layout = TimeSliced(4, {"a": 3}).layout(plan_of(), 2)
    more = on_units(plan_of(), layout, 8)
    assert [(slicing.units, slicing.first) for slicing in more.slices] == [(3, 0), (8, 3)]
    assert more.slices[1] == Slicing(-(-WINDOW_US // 128), 8, 3)
    assert (more.units, more.first_slices) == ((8,), layout.slices)
    fewer = on_units(plan_of(), layout, 2)
    assert [(slicing.units, slicing.first) for slicing in fewer.slices] == [(2, 0), (2, 1)]


def test_units_follow_the_load_of_all_together_and_stay_over_restarts() -> None:
    plan, chosen = plan_of(), TimeSliced(2, adapt="aggressive").layout(plan_of(), 2)
    spread = next_layout(plan, manifest_of(chosen, 2_400), chosen, ELASTICITY, 1)
    assert (spread.layout.units, spread.layout.epoch) == ((4,), 1)
    assert spread.adaptations == (
        "time slices: adds 2 to 2 units at a load of 120%; at least 50% of the stored rows move",
    )
    steady = manifest_of(spread.layout, 2_400)
    assert next_layout(plan, steady, chosen, ELASTICITY, 2).layout == spread.layout
    assert next_layout(plan, steady, replace(chosen, adapt="off"), ELASTICITY, 2).layout.units == (4,)
    assert next_layout(plan, steady, chosen, None, 2).layout.units == (2,), "without .elastic units are those given"
    fewer = next_layout(plan, manifest_of(replace(spread.layout, adapt="off"), 600), chosen, ELASTICITY, 2)
    assert (fewer.layout.units, fewer.layout.epoch) == ((1,), 2)
    assert fewer.adaptations[0].startswith("time slices: removes 3 of 4 units at a load of 15%")


def test_with_three_live_epochs_the_number_of_units_waits() -> None:
    plan, chosen = plan_of(), TimeSliced(2).layout(plan_of(), 2)
    assert next_layout(plan, manifest_of(chosen, 2_400, 2), chosen, ELASTICITY, 1).layout.units == (4,)
    assert next_layout(plan, manifest_of(chosen, 2_400, 3), chosen, ELASTICITY, 1).layout == chosen
