"""Placement: whatever the layout, every pair of rows that may match meets at exactly one unit."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from braid.kernels.keys import Keys
from braid.placement.units import (
    MIN_ROWS_PER_UNIT,
    is_primary,
    routes_stay_local,
    slot_of,
    store_at,
    units_of,
    visitors,
)
from braid.plan.layout import Layout


def random_layout(chance: random.Random, streams: int) -> Layout:
    kind = chance.choice(("partitioned", "random", "ContRand", "matrix"))
    if kind == "partitioned":
        count = chance.randint(1, 6)
        return Layout(0, "partitioned", (count,), (count,))
    if kind == "matrix" and streams == 2:
        return Layout(0, "matrix", (chance.randint(1, 4), chance.randint(1, 4)), (1, 1))
    groups = tuple(chance.randint(1, 4) if kind == "ContRand" else 1 for _ in range(streams))
    layout = Layout(0, "biclique", tuple(chance.randint(parts, 7) for parts in groups), groups)
    for _ in range(chance.choice((0, 0, 1, 3))):
        stream = chance.randrange(streams)
        layout = layout.resized(stream, chance.randrange(groups[stream]), chance.randint(1, 5))
    return layout


def places(layout: Layout, stream: int, keys: Keys, salt: int) -> list[list[tuple[int, int]]]:
    """The (unit, route) of every copy of each row."""
    placed = store_at(layout, stream, keys, len(keys), salt)
    rows = np.arange(len(keys)) if placed.rows is None else placed.rows
    found: list[list[tuple[int, int]]] = [[] for _ in keys]
    for row, unit, route in zip(rows, placed.units, placed.routes, strict=True):
        found[row].append((int(unit), int(route)))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_every_pair_that_may_match_meets_exactly_once(seed: int) -> None:
    chance = random.Random(seed)
    streams = chance.randint(2, 4)
    layout = random_layout(chance, streams)
    keys = [np.array([chance.randint(-5, 5) for _ in range(20)], np.int64) for _ in range(streams)]
    stored = [places(layout, stream, keys[stream], chance.randint(0, 99)) for stream in range(streams)]
    for delta_stream in range(streams):
        for other in (stream for stream in range(streams) if stream != delta_stream):
            for row, copies in enumerate(stored[delta_stream]):
                for partner, partners in enumerate(stored[other]):
                    meetings = sum(route == visited for _, route in copies for _, visited in partners)
                    same_key = keys[delta_stream][row] == keys[other][partner]
                    assert meetings == 1 if same_key or not layout.by_key else meetings <= 1


@pytest.mark.parametrize("seed", range(40))
def test_of_the_copies_of_a_row_one_is_primary(seed: int) -> None:
    chance = random.Random(seed)
    layout = random_layout(chance, 2)
    for stream in range(2):
        keys = np.array([chance.randint(-5, 5) for _ in range(20)], np.int64)
        for copies in places(layout, stream, keys, seed):
            assert sum(is_primary(layout, stream, *place) for place in copies) == 1


@pytest.mark.parametrize("seed", range(15))
def test_rows_are_stored_at_units_of_their_own_stream(seed: int) -> None:
    chance = random.Random(seed)
    streams = chance.randint(2, 4)
    layout = random_layout(chance, streams)
    units = units_of(layout, streams)
    assert [unit.number for unit in units] == list(range(len(units)))
    for stream in range(streams):
        # Enough rows that every unit gets some.
        keys = np.arange(7 * MIN_ROWS_PER_UNIT, dtype=np.int64)
        homes = [place for copies in places(layout, stream, keys, seed) for place in copies]
        assert all(stream in units[unit].streams and route in units[unit].routes for unit, route in homes)
        assert {unit for unit, _ in homes} == {unit.number for unit in units if stream in unit.streams}


@pytest.mark.parametrize("seed", range(40))
def test_a_row_visits_its_own_key_in_an_older_layout(seed: int) -> None:
    chance = random.Random(seed)
    newest, older = random_layout(chance, 2), random_layout(chance, 2)
    keys = np.arange(300, dtype=np.int64)
    routes, stored = store_at(newest, 0, keys, 300, 1).routes, store_at(older, 1, keys, 300, 2).routes
    if not (newest.by_key and older.by_key):
        assert visitors(newest, older, 0) is None
        return
    visited = [visitors(newest, older, int(route)) for route in stored]
    assert all(found is not None and route in found for route, found in zip(routes.tolist(), visited, strict=True))
    shared = math.gcd(newest.routes, older.routes)
    assert all(found is not None and len(found) == newest.routes // shared for found in visited)


def test_random_routing_spreads_many_rows_evenly_and_needs_no_keys() -> None:
    layout = Layout(0, "biclique", (3, 4), (1, 1))
    units = store_at(layout, 1, None, 4 * MIN_ROWS_PER_UNIT, 2).units
    assert units[:5].tolist() == [5, 6, 3, 4, 5]
    assert np.bincount(units).tolist() == [0, 0, 0, *[MIN_ROWS_PER_UNIT] * 4]


def test_random_routing_keeps_few_rows_together_and_starts_at_another_unit_each_time() -> None:
    layout = Layout(0, "biclique", (3, 4), (1, 1))
    assert [set(store_at(layout, 1, None, 9, salt).units.tolist()) for salt in range(5)] == [{3}, {4}, {5}, {6}, {3}]


def test_a_layout_by_key_refuses_rows_without_keys() -> None:
    with pytest.raises(ValueError, match=r"by a key .* not given"):
        store_at(Layout(0, "partitioned", (3,), (3,)), 0, None, 9, 0)


def test_slots_share_all_units() -> None:
    units = units_of(Layout(0, "biclique", (3, 5), (1, 1)), 2)
    assert {slot_of(unit, 4) for unit in units} == {0, 1, 2, 3}
    assert all(0 <= slot_of(unit, 2) < 2 for unit in units)


@pytest.mark.parametrize(
    ("layout", "slots", "local"),
    [
        (Layout(0, "partitioned", (7,), (7,)), 3, True),
        (Layout(0, "biclique", (2, 2), (1, 1)), 1, True),
        (Layout(0, "biclique", (2, 2), (1, 1)), 2, False),
        (Layout(0, "biclique", (2, 2), (2, 2)), 2, True),
        (Layout(0, "biclique", (4, 4), (2, 2)), 2, True),
        (Layout(0, "biclique", (3, 3), (2, 2)), 3, False),
        (Layout(0, "biclique", (2, 4), (2, 4)), 2, True),
        (Layout(0, "biclique", (2, 3), (2, 3)), 6, False),
        (Layout(0, "matrix", (2, 3), (1, 1)), 2, True),
    ],
)
def test_when_rounds_need_no_exchange(layout: Layout, slots: int, local: bool) -> None:
    assert routes_stay_local(layout, 2, slots) is local
