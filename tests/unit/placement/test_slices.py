"""Time slices: every event time is at one unit of its stream's ring, and a window of rows at all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from braid.errors import StrategyError
from braid.optimizer.build import build_plan
from braid.optimizer.spreading import sent_bytes, stored_bytes
from braid.optimizer.strategies import TimeSliced
from braid.placement.slices import slice_numbers
from braid.placement.units import store_at, units_of
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Slicing
from braid.testing import Draft


def plan_with(*windows: int | None) -> JoinPlan:
    draft = Draft()
    for number, window_us in enumerate(windows):
        draft.stream(f"s{number}", {"v": "bigint"}, window_us=window_us)
    return build_plan(draft.logical_plan())


@given(
    times=st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=50),
    width=st.integers(1, 10**12),
    units=st.integers(1, 9),
    ring=st.integers(1, 9),
    first=st.integers(0, 8),
)
def test_a_slice_is_at_one_unit_of_the_ring(times: list[int], width: int, units: int, ring: int, first: int) -> None:
    ring = min(ring, units)
    layout = Layout(0, "time_sliced", (units,), (1,), slices=(Slicing(width, ring, first),))
    placed = store_at(layout, 0, None, len(times), salt=7, numbers=np.array(times))
    slices = slice_numbers(layout, 0, np.array(times)).tolist()
    assert placed.rows is None
    assert {*placed.units.tolist()} <= {(first + n) % units for n in range(ring)}
    assert len({*zip(slices, placed.units.tolist(), strict=True)}) == len({*slices})
    assert all(number * width <= time < (number + 1) * width for number, time in zip(slices, times, strict=True))


def test_every_unit_has_eight_slices_of_a_window_by_default() -> None:
    plan = plan_with(8_000, 16_000)
    layout = TimeSliced(units=4).layout(plan, slots=2)
    assert layout.units == (4,)
    assert [slicing.width_us for slicing in layout.slices] == [250, 500]
    for stream, window in enumerate((8_000, 16_000)):
        placed = store_at(layout, stream, None, window, 0, np.arange(window) + 123)
        assert np.bincount(placed.units, minlength=4).tolist() == [window // 4] * 4


def test_a_stream_with_few_slices_has_a_short_ring_beside_the_others() -> None:
    layout = TimeSliced(5, {"s0": 2, "s1": 3}).layout(plan_with(100, 90, 50), slots=2)
    assert layout.slices == (Slicing(50, 2, 0), Slicing(30, 3, 2), Slicing(2, 5, 0))
    assert [unit.streams for unit in units_of(layout, 3)] == [(0, 1, 2)] * 5


def test_a_window_without_end_has_slices_like_the_shortest() -> None:
    assert [s.width_us for s in TimeSliced(2, 4).layout(plan_with(None, 80), 2).slices] == [20, 20]
    assert [s.width_us for s in TimeSliced(2, 4).layout(plan_with(None, None), 2).slices] == [1_000_000] * 2


def test_nothing_is_stored_twice_and_rows_visit_the_rings_of_the_others() -> None:
    layout = TimeSliced(4, {"s0": 2}).layout(plan_with(100, 100), slots=2)
    assert stored_bytes(layout, (10.0, 10.0)) == 20.0
    assert sent_bytes(layout, (10.0, 10.0)) == 10.0 * (1 + 4) + 10.0 * (1 + 2)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"units": 0}, "units"),
        ({"slices": 0}, "slices"),
        ({"slices": "many"}, "slices"),
        ({"slices": {"s0": -1}}, "'s0'"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(given_: dict[str, object], said: str) -> None:
    with pytest.raises(StrategyError, match=f"TimeSliced.*{said}.*at least 1"):
        TimeSliced(**given_)  # type: ignore[arg-type]  # that is what is tested


def test_slices_of_a_stream_that_is_not_there_are_refused() -> None:
    with pytest.raises(StrategyError, match="no stream named 'x', only s0, s1"):
        TimeSliced(2, {"x": 3}).layout(plan_with(1, 1), 2)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"slicing": "rows"}, r"slicing=...\) must be 'time' or 'count', not 'rows'"),
        ({"adapt": True}, r"adapt=...\) must be 'off', 'passive' or 'aggressive', not True"),
    ],
)
def test_unknown_kinds_of_slices_are_refused(given_: dict[str, object], said: str) -> None:
    with pytest.raises(StrategyError, match=said):
        TimeSliced(**given_)  # type: ignore[arg-type]  # that is what is tested


def test_what_differs_from_the_defaults_is_described() -> None:
    assert TimeSliced(2, slicing="count", adapt="off").describe() == "TimeSliced(units=2, slicing='count', adapt='off')"
    layout = TimeSliced(2, slicing="count", adapt="aggressive").layout(plan_with(8, 8), 2)
    assert (layout.slicing, layout.adapt) == ("count", "aggressive")


@given(weights=st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), first=st.integers(0, 5))
def test_units_have_slices_by_their_weights_as_far_apart_as_possible(weights: list[int], first: int) -> None:
    units, total = len(weights), sum(weights)
    slicing = Slicing(10, units, first, tuple(weights), start_us=7, number=3)
    layout = Layout(0, "time_sliced", (units,), (1,), slices=(slicing,))
    times = 7 + 10 * np.arange(-3, 2 * total)
    placed = store_at(layout, 0, None, len(times), 0, times).units
    for place, weight in enumerate(weights):
        own = placed == (first + place) % units
        assert own[:total].sum() == own[total : 2 * total].sum() == weight
        counts = np.cumsum(own[: 2 * total])
        expected = np.arange(1, 2 * total + 1) * weight / total
        assert np.abs(counts - expected).max() <= units, "no unit waits long for its turn"


def test_an_unknown_goal_is_refused_and_a_given_number_of_slices_has_none() -> None:
    with pytest.raises(StrategyError, match=r"goal=...\) must be 'latency' or 'throughput', not 'speed'"):
        TimeSliced(goal="speed")  # type: ignore[arg-type]  # that is what is tested
    assert TimeSliced(2).layout(plan_with(8, 8), 2).goal == "latency"
    assert TimeSliced(2, 4).layout(plan_with(8, 8), 2).goal is None
    assert TimeSliced(2, goal="throughput").describe() == "TimeSliced(units=2, goal='throughput')"
