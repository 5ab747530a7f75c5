"""When rings get other lengths: after several steps that ask for it, one change at a time, recorded with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.control.elasticity import Elasticity
from braid.control.fanouts import DECAY, LookupCounts
from braid.control.layouts import next_layout
from braid.control.slicing.balancing import better_balance
from braid.control.slicing.lengths import (
    PATIENCE,
    decide_lengths,
    describe_vote,
    with_hops,
    with_vote,
)
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import TimeSliced
from braid.placement.slices import ring_lengths, with_rings
from braid.plan.join import JoinPlan
from braid.plan.layout import Adapt, Layout
from braid.state.manifest import Manifest, Mark
from braid.state.slice_state import Hops, RingVote, SliceLoad, SliceState
from braid.testing import Draft

WINDOW_US = 1_000_000
FILLED, FILLING = Mark(10 * WINDOW_US, None, 0, 0), Mark(WINDOW_US // 2, None, 0, 0)
VOTE = RingVote((2, 3), 1.5, PATIENCE)


def plan_of(window_us: int | None = WINDOW_US) -> JoinPlan:
    draft = Draft()
    for name in "ab":
        draft.stream(name, {"v": "bigint"}, window_us=window_us)
    return build_plan(draft.logical_plan())


def chosen(adapt: Adapt = "passive") -> Layout:
    """All four units for both streams."""
    return TimeSliced(4, adapt=adapt).layout(plan_of(), 4)


def manifest_of(layout: Layout, vote: RingVote | None = VOTE, mark: Mark = FILLED, older: int = 0) -> Manifest:
    layouts = (*(replace(layout, epoch=-1 - n) for n in range(older)), layout)
    state = SliceState(rings=vote, epoch=layout.epoch)
    return Manifest(0, 0, "r", 0, (mark, mark), layouts, (), 0, slice_state=state)


def test_rings_change_when_enough_steps_have_asked_for_it() -> None:
    layout = replace(chosen(), epoch=7)
    spread = next_layout(plan_of(), manifest_of(layout), chosen(), None, 0)
    assert spread.adaptations == (
        "other rings: a at 2 instead of 4 units, b at 3 instead of 4 units; expected to be 1.5 times as fast",
    )
    assert spread.layout == replace(with_rings(layout, plan_of(), (2, 3)), epoch=8)
    early = manifest_of(layout, replace(VOTE, times=PATIENCE - 1))
    assert next_layout(plan_of(), early, chosen(), None, 0).layout == layout
    assert next_layout(plan_of(), manifest_of(layout, None), chosen(), None, 0).layout == layout


def test_rings_that_were_changed_stay_when_the_run_or_another_one_goes_on() -> None:
    """A start of the strategy chooses all units again; what was decided since counts."""
    changed = replace(with_rings(chosen(), plan_of(), (2, 3)), epoch=8)
    for start in (chosen(), with_rings(chosen(), plan_of(), (1, 1))):
        spread = next_layout(plan_of(), manifest_of(changed, None), start, None, 0)
        assert (spread.layout, spread.adaptations) == (changed, ())
    other = TimeSliced(5).layout(plan_of(), 4)
    assert next_layout(plan_of(), manifest_of(changed, None), other, None, 0).layout.units == (5,)
    given = TimeSliced(4, slices=8).layout(plan_of(), 4)
    assert ring_lengths(next_layout(plan_of(), manifest_of(changed, None), given, None, 0).layout) == (4, 4)


def test_with_adaptation_off_only_a_start_changes_rings() -> None:
    layout = chosen("off")
    assert decide_lengths(plan_of(), manifest_of(layout), layout) is None
    started = with_rings(layout, plan_of(), (2, 3))
    assert next_layout(plan_of(), manifest_of(layout), started, None, 0).layout == replace(started, epoch=1)
    (line,) = describe_vote(plan_of(), manifest_of(layout), elastic=False)
    assert line.endswith("they are chosen by the next start, since adapt is off")


def test_one_change_at_a_time() -> None:
    """Rows of older layouts are visited besides the new ones until they expire."""
    layout = chosen()
    assert decide_lengths(plan_of(), manifest_of(layout, older=1), layout) is None
    (line,) = describe_vote(plan_of(), manifest_of(layout, older=1), elastic=False)
    assert line.endswith("they are chosen later, because there are rows of older layouts")


@pytest.mark.parametrize(
    ("window_us", "mark"), [(WINDOW_US, FILLING), (None, FILLED), (WINDOW_US, Mark(None, None, 0))]
)
def test_rings_get_longer_but_not_shorter_while_stored_rows_grow(window_us: int | None, mark: Mark) -> None:
    plan = plan_of(window_us)
    layout = with_rings(TimeSliced(4).layout(plan, 4), plan, (2, 2))
    for lengths, changes in (((4, 2), True), ((3, 1), False), ((1, 2), False)):
        manifest = manifest_of(layout, replace(VOTE, lengths=lengths), mark)
        assert (decide_lengths(plan, manifest, layout) is not None) == changes
    (line,) = describe_vote(plan, manifest, elastic=False)
    assert line.endswith("they are chosen later, because the stored rows of a stream still grow")


def test_an_elastic_query_has_all_its_units_in_its_rings() -> None:
    layout, elastic = chosen(), Elasticity(0.5, 0.9, 0.7, 3, 1000, 1, 10, 1 << 30)
    assert next_layout(plan_of(), manifest_of(layout), layout, elastic, 0).layout == layout
    assert describe_vote(plan_of(), manifest_of(layout), elastic=True) == ()


def test_votes_count_in_a_row_and_within_an_epoch() -> None:
    layout, state = chosen(), SliceState()
    for times in range(1, PATIENCE + 3):
        state = with_vote(state, layout, ((2, 3), 1.5))
        assert state.rings == RingVote((2, 3), 1.5, min(times, PATIENCE))
    assert with_vote(state, layout, None).rings is None
    assert with_vote(with_vote(state, layout, None), layout, ((1, 1), 2.0)).rings == RingVote((1, 1), 2.0, 1)
    assert with_vote(state, replace(layout, epoch=1), ((1, 1), 2.0)).rings == RingVote((1, 1), 2.0, 1)
    (line,) = describe_vote(plan_of(), manifest_of(layout, RingVote((2, 3), 1.5, 2)), elastic=False)
    assert line == (
        "rings of a 2, b 3 units would be 1.5 times as fast; they are chosen after 8 steps in a row that find so, 2 "
        "until now"
    )


def test_balancing_keeps_the_lengths_that_were_chosen_for_latency() -> None:
    """Else it would make rings longer, and the next vote shorter again."""
    plan = plan_of()
    layout = with_rings(chosen(), plan, (2, 2))
    loads = (SliceLoad(0, 0, 10, 90_000), SliceLoad(2, 1, 10, 10_000))
    assert better_balance(plan, layout, loads) is None, "two units of four have nine tenths, whatever the shares"
    overlapping = replace(layout, slices=(layout.slices[0], replace(layout.slices[1], first=1)))
    found = better_balance(plan, overlapping, (SliceLoad(0, 0, 10, 50_000), SliceLoad(1, 1, 10, 50_000)))
    assert found is not None
    assert ring_lengths(found.layout) == tuple(slicing.units for slicing in found.layout.slices) == (2, 2)
    longer = better_balance(plan, replace(layout, goal=None), loads)
    assert longer is not None
    assert longer.layout.slices[0].units > 2


def test_what_lookups_take_besides_comparing_decays_and_steps_without_lookups_say_nothing() -> None:
    lookups = [LookupCounts(0, 1, 10, 100, 1, seconds, 0.0, 0) for seconds in (0.1, 0.3)]
    state = with_hops(SliceState(), 1.0, lookups)
    assert state.hops == Hops(2, pytest.approx(0.6))
    assert with_hops(state, 0.5, []) == state
    after = with_hops(state, 0.9, lookups[:1]).hops
    assert (after.lookups, after.seconds) == (pytest.approx(DECAY * 2 + 1), pytest.approx(DECAY * 0.6 + 0.8))
    assert with_hops(SliceState(), 0.1, lookups).hops.seconds == 0, "clocks of tasks and lookups may differ a little"
