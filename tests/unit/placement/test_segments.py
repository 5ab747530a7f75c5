"""Segments: of the rows of a result, exactly one unit has all, and the copies of a row are counted by brute force."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.errors import DurationError, StrategyError
from braid.optimizer.build import build_plan
from braid.optimizer.spreading import copies, sent_bytes, stored_bytes
from braid.optimizer.strategies import AlignedRouting, CoordinatedRouting
from braid.placement.segments import classes_between
from braid.placement.units import is_primary, routes_stay_local, store_at, units_of
from braid.plan.instants import EARLIEST_US, LATEST_US
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Segmenting
from braid.testing import Draft, add, constant, less_or_equal

Place = tuple[int, int]


def plan_with(*windows: int | None) -> JoinPlan:
    draft = Draft()
    for number, window_us in enumerate(windows):
        draft.stream(f"s{number}", {"v": "bigint"}, window_us=window_us)
    return build_plan(draft.logical_plan())


def places(layout: Layout, stream: int, times: list[int]) -> list[list[Place]]:
    """The (unit, route) of every copy of each row."""
    placed = store_at(layout, stream, None, len(times), salt=5, numbers=np.array(times, np.int64))
    rows = range(len(times)) if placed.rows is None else placed.rows.tolist()
    found: dict[int, list[Place]] = defaultdict(list)
    for row, unit, route in zip(rows, placed.units.tolist(), placed.routes.tolist(), strict=True):
        found[row].append((unit, route))
    return [found[row] for row in range(len(times))]


@pytest.mark.parametrize("seed", range(80))
def test_the_rows_of_a_result_are_together_at_the_unit_of_its_master_row(seed: int) -> None:
    chance = random.Random(seed)
    streams = chance.randint(2, 4)
    windows = [chance.choice((0, 3, 10, 25, None)) for _ in range(streams)]
    master = chance.randrange(streams)
    strategy = AlignedRouting(timedelta(microseconds=chance.choice((1, 4, 10, 60))), chance.randint(1, 5), f"s{master}")
    layout = strategy.layout(plan_with(*windows), slots=2)
    times = [[chance.randint(-60, 60) for _ in range(6)] for _ in range(streams)]
    stored = [places(layout, stream, own) for stream, own in enumerate(times)]
    assert all(len(found) == 1 for found in stored[master]), "a row of the master stream is stored once"
    for rows in itertools.product(range(6), repeat=streams):
        newest = max(times[stream][row] for stream, row in enumerate(rows))
        if any(w is not None and newest - times[s][rows[s]] > w for s, w in enumerate(windows)):
            continue
        units = [{unit for unit, _ in stored[stream][row]} for stream, row in enumerate(rows)]
        assert set.intersection(*units) == units[master]


@settings(deadline=None)
@given(
    times=st.lists(st.integers(EARLIEST_US, LATEST_US), min_size=1, max_size=20),
    width=st.integers(1, 10**12),
    units=st.integers(1, 9),
    before=st.one_of(st.none(), st.integers(0, 10**12), st.just(2**62)),
    after=st.one_of(st.none(), st.integers(0, 10**12), st.just(2**62)),
)
def test_a_row_is_at_the_units_of_the_segments_that_it_may_meet(
    times: list[int], width: int, units: int, before: int | None, after: int | None
) -> None:
    layout = Layout(0, "aligned", (units,), (1,), segments=(Segmenting(width, before, after),))
    for time, found in zip(times, places(layout, 0, times), strict=True):
        expected = set(range(units))  # of a row that reaches a whole turn, also where that is beyond all event times
        if before is not None and after is not None and before + after < units * width:
            first, last = max(time - before, EARLIEST_US) // width, min(time + after, LATEST_US) // width
            expected = {segment % units for segment in range(first, min(last, first + units - 1) + 1)}
        assert sorted(unit for unit, _ in found) == sorted(expected)
        assert [unit for unit, route in found if is_primary(layout, 0, unit, route)] == [time // width % units]
        assert all(route in units_of(layout, 2)[unit].routes for unit, route in found)


def test_rounds_need_no_exchange() -> None:
    layout = AlignedRouting("10 seconds", 5).layout(plan_with(100, 100, 100), slots=3)
    assert all(routes_stay_local(layout, 3, slots) for slots in (1, 2, 3, 8))


def test_a_predicate_on_event_times_means_fewer_copies_than_the_windows() -> None:
    draft = Draft()
    a, b = (draft.stream(name, {"v": "bigint"}, window_us=1000) for name in "ab")
    draft.on(less_or_equal(a["ts"], b["ts"])).on(less_or_equal(b["ts"], add(a["ts"], constant(20, "interval"))))
    layout = AlignedRouting(timedelta(microseconds=50), 4).layout(build_plan(draft.logical_plan()), 2)
    assert layout.segments == (Segmenting(50), Segmenting(50, before_us=20, after_us=0))


def test_the_expected_copies_are_those_of_rows_over_all_event_times() -> None:
    layout = AlignedRouting(timedelta(microseconds=40), 4, "s1").layout(plan_with(30, 70, 200), slots=2)
    for stream in range(3):
        stored = places(layout, stream, list(range(-400, 800)))
        assert copies(layout, stream) == pytest.approx(np.mean([len(found) for found in stored]))
    assert copies(layout, 1) == 1
    assert stored_bytes(layout, (10.0, 10.0, 10.0)) == sent_bytes(layout, (10.0, 10.0, 10.0))
    assert copies(AlignedRouting("1 second", 6).layout(plan_with(30, None), 2), 1) == 6


def test_the_master_is_the_first_stream_unless_it_is_named() -> None:
    by_default = AlignedRouting("1 second").layout(plan_with(10, 20), slots=3)
    assert by_default.units == (3,)
    assert by_default.segments[0] == Segmenting(1_000_000)
    assert AlignedRouting("1 second", master="s1").layout(plan_with(10, 20), 3).segments[1] == Segmenting(1_000_000)


def test_arguments_that_make_no_sense_are_refused() -> None:
    with pytest.raises(StrategyError, match=r"units=...\) must be a whole number of at least 1, not 0"):
        AlignedRouting("1 second", 0)
    with pytest.raises(StrategyError, match="must be longer than zero"):
        AlignedRouting("0 seconds")
    with pytest.raises(DurationError, match="AlignedRouting"):
        AlignedRouting("soon")
    with pytest.raises(StrategyError, match="no stream named 'x', only s0, s1"):
        AlignedRouting("1 second", master="x").layout(plan_with(1, 1), 2)


@settings(deadline=None)
@given(
    times=st.lists(st.integers(EARLIEST_US, LATEST_US), min_size=1, max_size=20),
    width=st.integers(1, 10**12),
    copies=st.integers(2, 9),
    more=st.integers(0, 5),
)
def test_a_row_is_at_the_units_of_its_class_and_those_that_follow(
    times: list[int], width: int, copies: int, more: int
) -> None:
    units = 2 * copies + more
    layout = Layout(0, "coordinated", (units,), (1,), segments=(Segmenting(width, copies=copies),))
    for time, found in zip(times, places(layout, 0, times), strict=True):
        own = time // width % units
        assert found == [((own + place) % units, own) for place in range(copies)]
        assert [unit for unit, route in found if is_primary(layout, 0, unit, route)] == [own]
        assert all(route in units_of(layout, 2)[unit].routes for unit, route in found)


@settings(deadline=None)
@given(first=st.integers(-(10**6), 10**6), length=st.integers(0, 10**4), width=st.integers(1, 500))
def test_the_classes_of_an_interval_are_those_of_its_times(first: int, length: int, width: int) -> None:
    layout = Layout(0, "coordinated", (7,), (1,), segments=(Segmenting(width, copies=3),))
    found = classes_between(layout, 0, first, first + length).tolist()
    assert len(found) == len(set(found))
    assert set(found) == {time // width % 7 for time in range(first, first + length + 1)}


def test_coordinated_routing_exchanges_rows_unless_there_is_one_slot() -> None:
    layout = CoordinatedRouting(2, 5).layout(plan_with(100, 100, 100), slots=3)
    assert [routes_stay_local(layout, 3, slots) for slots in (1, 2, 5)] == [True, False, False]


def test_coordinated_routing_stores_copies_and_sends_to_a_cover() -> None:
    layout = CoordinatedRouting(3, 8).layout(plan_with(6_400, None), slots=2)
    assert [segmenting.width_us for segmenting in layout.segments] == [100, 100]
    assert CoordinatedRouting(3).layout(plan_with(None, None), 2).segments[0].width_us == 1_000_000
    assert stored_bytes(layout, (10.0, 10.0)) == 60.0
    assert sent_bytes(layout, (10.0, 10.0)) == 2 * 10.0 * (3 + 3)


def test_by_default_there_are_units_for_all_slots_and_twice_the_copies() -> None:
    assert CoordinatedRouting(3).layout(plan_with(1, 1), slots=2).units == (6,)
    assert CoordinatedRouting(3).layout(plan_with(1, 1), slots=9).units == (9,)


def test_numbers_of_copies_that_make_no_sense_are_refused() -> None:
    for number in (1, 10):
        with pytest.raises(StrategyError, match="must be from 2 to 9"):
            CoordinatedRouting(number)
    with pytest.raises(StrategyError, match="a whole number of at least 1, not '2'"):
        CoordinatedRouting("2")  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(StrategyError, match="3 copies need at least 6 units"):
        CoordinatedRouting(3, 5)
