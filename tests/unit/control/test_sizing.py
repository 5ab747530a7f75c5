"""How many slots are used: few where steps have little work, all of them as soon as there is enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.control.sizing import LEAST_SLOTS, RECORDED_STEPS, SECONDS_PER_SLOT, resize, slots_needed, work_after
from braid.plan.layout import Layout
from braid.state.manifest import Manifest


def layout(slots: int) -> Layout:
    return Layout(0, "biclique", (slots, slots), (slots, slots))


def manifest(used: int, *work: float) -> Manifest:
    return Manifest(9, 9, "run", 0, (), (layout(used),), (), 0, work_seconds=work)


@pytest.mark.parametrize(
    ("slots", "used", "work", "needed"),
    [
        (32, 32, [0.1] * RECORDED_STEPS, LEAST_SLOTS),
        (32, 32, [0.1] * (RECORDED_STEPS - 1), 32),  # not known for long enough
        (32, 32, [0.6] * RECORDED_STEPS, 16),  # 12 would do
        (32, 32, [0.9] * RECORDED_STEPS, 32),  # 18 would do, which is more than half
        (32, 32, [9.0, 0.1] * (RECORDED_STEPS // 2), 32),  # every other step has much work
        (32, 8, [0.1] * RECORDED_STEPS, 8),
        (32, 8, [0.1, 0.7], 8),  # less than twice
        (32, 8, [0.1, 0.8], 16),  # at once
        (32, 8, [50.0], 32),
        (20, 20, [0.1] * RECORDED_STEPS, 10),
        (17, 17, [0.1] * RECORDED_STEPS, 17),  # not divisible
        (8, 8, [0.001] * RECORDED_STEPS, 8),  # a small cluster is always used
        (2, 2, [0.001] * RECORDED_STEPS, 2),
        (16, 2, [0.001] * RECORDED_STEPS, LEAST_SLOTS),  # chosen by another strategy
        (2, 32, [], 2),  # the cluster became smaller
    ],
)
def test_slots_follow_the_work(slots: int, used: int, work: list[float], needed: int) -> None:
    assert slots_needed(manifest(used, *work), slots) == needed


def test_rows_of_older_layouts_delay_changes() -> None:
    """They cost work too, so twice the work is no reason to change back."""

    def mixed(used: int, *work: float) -> Manifest:
        return replace(manifest(used, *work), layouts=(layout(32), layout(used)))

    assert slots_needed(mixed(32, *[0.1] * RECORDED_STEPS), 32) == 32
    assert slots_needed(mixed(8, 1.5), 32) == 8
    assert slots_needed(mixed(8, 1.6), 32) == 32


def test_a_change_has_its_reason() -> None:
    chosen, reasons = resize(manifest(32, *[0.12] * RECORDED_STEPS), layout(32))
    assert chosen == layout(8)
    assert reasons == ("uses 8 instead of 32 of 32 slots: the lookups of a step take 0.12 s of CPU time",)
    assert resize(manifest(8, 0.12), layout(32)) == (layout(8), ())
    at_random = Layout(0, "biclique", (32, 32), (1, 1), follows_work=True)
    assert at_random.sized(8) == Layout(0, "biclique", (8, 8), (1, 1), follows_work=True)


def test_work_is_that_of_the_newest_layout() -> None:
    assert work_after((0.5, 0.4), [0.1, 0.2], same_units=True) == (0.5, 0.4, 0.3)
    assert work_after((0.5, 0.4), [0.1, 0.2], same_units=False) == (0.3,)
    assert work_after((0.5,), [], same_units=True) == (0.5,)
    assert len(work_after((1.0,) * RECORDED_STEPS, [2.0], same_units=True)) == RECORDED_STEPS


def test_growth_and_reduction_do_not_follow_each_other() -> None:
    """Whatever the work, a second decision with the same work, its fixed part included, changes nothing."""
    for work in (SECONDS_PER_SLOT * n / 3 for n in range(400)):
        for used in (8, 11, 16, 24, 32, 64):
            once = slots_needed(manifest(used, *[work] * RECORDED_STEPS), 64)
            assert slots_needed(manifest(once, *[work] * RECORDED_STEPS), 64) == once
