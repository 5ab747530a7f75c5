"""Covers: every live class is assigned to one unit that has it; small, and even over the units in the long run."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from braid.optimizer.build import build_plan
from braid.optimizer.strategies import CoordinatedRouting
from braid.placement.admission import Admission
from braid.placement.covering import DECAY, NOWHERE, choose_cover, decide_covers
from braid.placement.segments import copy_units
from braid.plan.join import JoinPlan
from braid.state.manifest import Block
from braid.testing import Draft


def plan_with(*windows: int | None) -> JoinPlan:
    draft = Draft()
    for number, window_us in enumerate(windows):
        draft.stream(f"s{number}", {"v": "bigint"}, window_us=window_us)
    return build_plan(draft.logical_plan())


def block(stream: int, step: int, times: tuple[int, int], epoch: int = 0) -> Block:
    return Block(f"{stream} {step}", stream, step, step, epoch, None, 10, 100, *times)


@pytest.mark.parametrize("seed", range(60))
def test_every_segment_is_assigned_to_a_unit_that_stores_it_and_few_units_are_chosen(seed: int) -> None:
    chance = random.Random(seed)
    units, copies = chance.randint(4, 9), chance.choice((2, 3))
    places = np.array([chance.sample(range(units), copies) for _ in range(chance.randint(1, 8))])
    assigned = choose_cover(places, np.zeros(units))
    assert all(unit in own for unit, own in zip(assigned.tolist(), places.tolist(), strict=True))
    smallest = next(
        size
        for size in range(1, units + 1)
        for chosen in itertools.combinations(range(units), size)
        if all(set(own) & set(chosen) for own in places.tolist())
    )
    # The greedy cover of n elements is at most 1 + 1/2 + ... + 1/n times as large as the smallest.
    assert len(set(assigned.tolist())) <= smallest * sum(1 / n for n in range(1, len(places) + 1))


@pytest.mark.parametrize(("units", "copies"), [(4, 2), (6, 3), (9, 3), (18, 9)])
def test_a_cover_of_all_classes_is_as_small_as_copies_allow(units: int, copies: int) -> None:
    layout = CoordinatedRouting(copies, units).layout(plan_with(1000, 1000), slots=2)
    assigned = choose_cover(copy_units(layout, 0, np.arange(units)), np.zeros(units))
    assert len(set(assigned.tolist())) == units // copies


def test_a_loaded_unit_is_left_to_others() -> None:
    places = np.array([[0, 1], [1, 2]])
    assert choose_cover(places, np.array([0.0, 0.0, 0.0])).tolist() == [1, 1]
    assert choose_cover(places, np.array([0.0, 9.0, 0.0])).tolist() == [0, 2]


def test_loads_make_the_work_of_units_more_even() -> None:
    """The pairs of a class differ, as they do between segments with many rows and few; loads are what was seen."""
    plan = plan_with(1000, 1000, 1000)
    layout = CoordinatedRouting(3, 9).layout(plan, slots=2)
    blocks = [block(stream, step, (0, 2000)) for stream in range(3) for step in range(2)]

    def fullest(seed: int, weighted: bool) -> float:
        """How many times its share the unit with the most pairs has."""
        weights = np.random.default_rng(seed).integers(1, 10, 9)
        pairs, total = np.zeros(9), np.zeros(9)
        for _ in range(50):
            found = np.zeros(9)
            for cover in decide_covers(plan, layout, blocks, Admission(1), tuple(pairs) if weighted else ()):
                np.add.at(found, list(cover.units), weights)
            pairs = DECAY * pairs + found
            total += found
        return float(total.max() / total.mean())

    assert np.mean([fullest(seed, weighted=True) for seed in range(8)]) < 1.25
    assert np.mean([fullest(seed, weighted=False) for seed in range(8)]) > 1.4


def test_only_classes_in_the_time_bounds_of_starting_rows_are_assigned() -> None:
    """Segments of 5 us at 4 units: class n has the times from 5n to 5n + 4, and again 20 later."""
    plan = plan_with(160, 160)
    layout = CoordinatedRouting(2, 4).layout(plan, slots=2)
    assert layout.segments[0].width_us == 5
    blocks = [block(1, 0, (0, 9)), block(1, 0, (300, 304)), block(1, 0, (165, 165), epoch=7), block(0, 1, (150, 160))]
    (cover,) = decide_covers(plan, layout, blocks, Admission(1), ())
    assert (cover.delta_stream, cover.stream) == (0, 1)
    assert [unit != NOWHERE for unit in cover.units] == [True, True, False, False]
    assert cover.units[0] == cover.units[1] == 1, "the only unit that has both classes"


def test_rows_of_the_same_step_count_for_streams_that_come_later() -> None:
    plan = plan_with(None, None)
    layout = CoordinatedRouting(2).layout(plan, slots=2)
    covers = decide_covers(plan, layout, [block(0, 3, (0, 0)), block(1, 3, (0, 0))], Admission(3), ())
    seen = {(cover.delta_stream, cover.stream): set(cover.units) != {NOWHERE} for cover in covers}
    assert seen == {(0, 1): False, (1, 0): True}


# A pure model of where segments of two streams are stored.
UNITS, LIVE, SEGMENTS = 6, 12, 100
Segments = list[list[int]]


def stored_after(live: list[Segments], copies: int | None, weighted: bool) -> set[int]:
    """The units with live segments after many new ones of both streams.

    Without a fixed number of copies, a new segment is stored where it is looked up: at the units of a smallest cover of
    the other stream's live segments. With a fixed number, segments are dealt to the units, as the layout does it.
    """
    for number in range(SEGMENTS):
        own, other = live[number % 2], live[1 - number % 2]
        padded = np.array([places + [UNITS] * (UNITS - len(places)) for places in other])
        counts = np.bincount([unit for side in live for places in side for unit in places], minlength=UNITS)
        visited = set(choose_cover(padded, counts.astype(float) if weighted else np.zeros(UNITS)).tolist())
        dealt = [(number + place) % UNITS for place in range(copies or 0)]
        own.append(sorted(visited) if copies is None else dealt)
        own.pop(0)
    return {unit for side in live for places in side for unit in places}


@pytest.mark.parametrize("seed", range(5))
def test_segments_drift_to_one_unit_where_the_number_of_copies_is_not_fixed(seed: int) -> None:
    """Segments that are stored at the same units have a cover of one unit, where all later ones go."""

    def begun() -> list[Segments]:
        chance = random.Random(seed)
        return [[chance.sample(range(UNITS), 2) for _ in range(LIVE)] for _ in range(2)]

    assert len(stored_after(begun(), None, weighted=False)) == 1
    assert len(stored_after(begun(), 2, weighted=False)) == UNITS


def test_segments_with_one_copy_at_one_unit_draw_all_others_there_whatever_its_load() -> None:
    assert stored_after([[[3]] * LIVE, [[3]] * LIVE], None, weighted=True) == {3}
    assert stored_after([[[3]] * LIVE, [[3]] * LIVE], 2, weighted=True) == set(range(UNITS))
