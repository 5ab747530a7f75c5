"""When slices are redistributed: by pairs, after several steps, with few live epochs, and never without gain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.control.layouts import next_layout
from braid.control.slicing.balancing import (
    MAX_LIVE_EPOCHS,
    MIN_PAIRS_PER_UNIT,
    PATIENCE,
    better_balance,
    decide_balance,
    loads_after,
    stream_loads,
    with_loads,
)
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import TimeSliced
from braid.plan.join import JoinPlan
from braid.plan.layout import Adapt, Layout
from braid.state.manifest import Manifest, Mark
from braid.state.slice_state import SliceLoad, SliceState
from braid.testing import Draft

WINDOW_US = 1_000_000
PAIRS = 100 * MIN_PAIRS_PER_UNIT
FILLED = Mark(10 * WINDOW_US, None, 0, 0)


def plan_of() -> JoinPlan:
    draft = Draft()
    for name in "ab":
        draft.stream(name, {"v": "bigint"}, window_us=WINDOW_US)
    return build_plan(draft.logical_plan())


def layout_of(adapt: Adapt = "passive", units: int = 4) -> Layout:
    """One unit stores a, all store b."""
    return TimeSliced(units, {"a": 1}, adapt=adapt).layout(plan_of(), 2)


def loads(a: int = PAIRS, b: int = 3 * PAIRS) -> tuple[SliceLoad, ...]:
    return (SliceLoad(0, 0, 10, a), *(SliceLoad(unit, 1, 10, b // 4) for unit in range(4)))


def manifest_of(layout: Layout, due_steps: int = PATIENCE, mark: Mark = FILLED, older: int = 0) -> Manifest:
    layouts = (*(replace(layout, epoch=-1 - n) for n in range(older)), layout)
    state = SliceState(loads(), (), due_steps)
    return Manifest(0, 0, "r", 0, (mark, mark), layouts, (), 0, slice_state=state)


def test_slices_are_divided_so_that_pairs_are_even() -> None:
    layout = layout_of()
    found = better_balance(plan_of(), layout, loads())
    assert found is not None
    assert found.before == pytest.approx(1.75)
    assert found.after <= 1.05
    first, second = found.layout.slices
    assert (first.units, first.weights) == (1, (16,)), "its one unit has its share of the pairs, and no slices of b"
    assert second.weights == (0, 21, 21, 22) or sorted(second.weights) == [0, 21, 21, 22]
    assert found.layout.first_slices == layout.slices
    assert found.describe(["a", "b"]).startswith("redistributes slices among 4 units: a at 1, b at 4; the busiest goes")


def test_a_ring_grows_where_its_units_are_not_enough() -> None:
    found = better_balance(plan_of(), layout_of(), loads(a=3 * PAIRS, b=PAIRS))
    assert found is not None
    assert found.layout.slices[0].units == 3
    assert found.after <= 1.1


@pytest.mark.parametrize(
    ("layout", "recorded"),
    [
        (layout_of("off"), loads()),
        (layout_of(), loads(a=1)),
        (layout_of(), loads(a=MIN_PAIRS_PER_UNIT, b=MIN_PAIRS_PER_UNIT)),
        (layout_of(units=1), loads()),
        (layout_of(), ()),
    ],
    ids=["off", "even", "few pairs", "one unit", "nothing known"],
)
def test_what_is_left_alone(layout: Layout, recorded: tuple[SliceLoad, ...]) -> None:
    assert better_balance(plan_of(), layout, recorded) is None


def test_a_change_must_be_due_for_some_steps_and_epochs_are_few() -> None:
    plan, layout = plan_of(), layout_of()
    assert decide_balance(plan, manifest_of(layout), layout) is not None
    assert decide_balance(plan, manifest_of(layout, PATIENCE - 1), layout) is None
    assert decide_balance(plan, manifest_of(layout, older=MAX_LIVE_EPOCHS - 2), layout) is not None
    assert decide_balance(plan, manifest_of(layout, older=MAX_LIVE_EPOCHS - 1), layout) is None


def test_while_windows_fill_slices_are_redistributed_once() -> None:
    plan, layout, filling = plan_of(), layout_of(), Mark(WINDOW_US // 2, None, 0, 0)
    found = decide_balance(plan, manifest_of(layout, mark=filling), layout)
    assert found is not None
    again = layout.resliced(tuple(replace(slicing, weights=(1,) * slicing.units) for slicing in layout.slices))
    assert decide_balance(plan, manifest_of(again, mark=filling), again) is None
    assert decide_balance(plan, manifest_of(again), again) is not None


def test_due_steps_are_counted_in_one_epoch() -> None:
    plan, layout = plan_of(), layout_of()
    state = SliceState()
    for step in range(PATIENCE + 1):
        state = with_loads(plan, state, layout, loads())
        assert state.due_steps == min(PATIENCE, step + 1)
    assert with_loads(plan, state, replace(layout, epoch=1), loads()).due_steps == 1
    assert with_loads(plan, state, layout, loads(a=1, b=100 * PAIRS)).due_steps == 0
    assert with_loads(plan, state, layout_of("off"), loads()) == SliceState()


def test_pairs_of_all_jobs_are_added_and_decay_and_rows_are_those_of_one() -> None:
    first = loads_after((), [SliceLoad(0, 0, 5, 100), SliceLoad(0, 0, 5, 50), SliceLoad(1, 0, 7, 10)])
    assert first == (SliceLoad(0, 0, 5, 150), SliceLoad(1, 0, 7, 10))
    assert loads_after(first, [SliceLoad(0, 0, 6, 1)]) == (SliceLoad(0, 0, 6, 121), SliceLoad(1, 0, 0, 8))
    assert loads_after(first, []) == first


def test_without_pairs_rows_are_balanced() -> None:
    assert stream_loads([SliceLoad(0, 0, 5, 0), SliceLoad(1, 1, 7, 0)], 2).tolist() == [5, 7]
    assert stream_loads([SliceLoad(0, 0, 5, 1), SliceLoad(1, 1, 7, 0)], 2).tolist() == [1, 0]


def test_a_new_layout_is_an_epoch_and_stays_over_restarts_with_the_same_slices() -> None:
    plan, chosen = plan_of(), layout_of()
    spread = next_layout(plan, manifest_of(chosen), chosen, None, 0)
    assert spread.layout.epoch == 1
    assert len(spread.adaptations) == 1
    after = replace(manifest_of(spread.layout, due_steps=0), slice_state=None)
    assert next_layout(plan, after, chosen, None, 0).layout == spread.layout
    other = next_layout(plan, after, replace(chosen, adapt="aggressive"), None, 0).layout
    assert other == replace(spread.layout, adapt="aggressive")
    more = next_layout(plan, after, layout_of(units=5), None, 0).layout
    assert (more.epoch, more.units, more.slices) == (2, (5,), layout_of(units=5).slices)
    counted = next_layout(plan, after, replace(chosen, slicing="count"), None, 0).layout
    assert (counted.epoch, counted.slices) == (2, chosen.slices)
