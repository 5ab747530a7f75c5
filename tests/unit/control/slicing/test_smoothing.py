"""Slices by count: shorter while rows are denser, cut at the next event time, from the record alone."""

from __future__ import annotations

import numpy as np
import pytest

from braid.control.slicing.smoothing import MAX_DENSITY, density_after, smooth_slices, smooth_width
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import TimeSliced
from braid.placement.slices import slice_numbers
from braid.plan.join import JoinPlan
from braid.plan.layout import Slicing
from braid.state.manifest import Block, Manifest, Mark
from braid.state.slice_state import Density, SliceState
from braid.testing import Draft

WINDOW_US = 8_000


def plan_of(window_rows: int | None = None) -> JoinPlan:
    draft = Draft()
    first = draft.stream("a", {"v": "bigint"}, window_us=None if window_rows else WINDOW_US, window_rows=window_rows)
    draft.stream("b", {"v": "bigint"}, window_us=WINDOW_US)
    assert first is not None
    return build_plan(draft.logical_plan())


def block(rows: int, oldest: int, newest: int, stream: int = 0) -> Block:
    return Block("f", stream, 0, 0, 0, None, rows, 100, oldest, newest)


def manifest_of(blocks: tuple[Block, ...], densities: tuple[Density, ...]) -> Manifest:
    layout = TimeSliced(2, 4, slicing="count").layout(plan_of(), 2)
    marks = (Mark(None, None, 0),) * 2
    return Manifest(0, 0, "r", 0, marks, (layout,), blocks, 0, slice_state=SliceState((), densities))


def test_density_counts_rows_while_event_time_goes_on() -> None:
    first = density_after(Density(), [block(10, 100, 199)])
    assert first == Density(10.0, 100.0, 199)
    behind = density_after(first, [block(4, 50, 199)])
    assert behind == Density(10.0, 100.0, 199, 4)
    assert density_after(behind, []) == behind
    assert density_after(behind, [block(6, 150, 249)]) == Density(15.0, 100.0, 249)


@pytest.mark.parametrize(("denser", "width"), [(1, 2000), (0.1, 2000), (4, 500), (1000, 2000 // MAX_DENSITY)])
def test_slices_are_shorter_where_rows_are_denser(denser: float, width: int) -> None:
    stored = [block(1000, 0, 999)]
    found = smooth_width(plan_of(), 0, Slicing(2000, 2), 2000, Density(100 * denser, 100.0, 999), stored)
    assert found == width


def test_a_slice_of_a_window_of_rows_has_its_share_of_them() -> None:
    plan = plan_of(window_rows=160)
    assert smooth_width(plan, 0, Slicing(2000, 2), 2000, Density(50.0, 100.0, 9), [block(1, 0, 9)]) == 20


def test_nothing_is_known_before_the_first_rows() -> None:
    assert smooth_width(plan_of(), 0, Slicing(5, 1), 5, Density(), []) is None
    manifest = manifest_of((), (Density(), Density()))
    assert smooth_slices(plan_of(), manifest, manifest.layout) == (manifest.layout, ())


def test_new_slices_begin_at_the_next_event_time_and_stay_while_the_rate_does() -> None:
    stored = (block(1000, 0, 7_999), block(1000, 0, 7_999, stream=1))
    manifest = manifest_of(stored, (Density(100.0, 200.0, 7_999), Density(100.0, 800.0, 7_999)))
    layout, changes = smooth_slices(plan_of(), manifest, manifest.layout)
    assert changes == ("a: slices of 500 us instead of 2 ms, for at most as many rows as others",)
    assert layout.slices[1] == manifest.layout.slices[1]
    assert layout.first_slices == manifest.layout.slices
    assert layout.epoch == manifest.layout.epoch
    times = np.array([7_999, 8_000, 8_499, 8_500])
    before, after = (slice_numbers(x, 0, times).tolist() for x in (manifest.layout, layout))
    assert [number - after[0] for number in after] == [0, 1, 1, 2]
    assert before[0] % 2 == after[0] % 2, "the slice before is at the same unit in both"
    assert smooth_slices(plan_of(), manifest, layout) == (layout, ())
