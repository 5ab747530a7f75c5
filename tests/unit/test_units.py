"""Placement: whatever the layout, every pair of rows that may match meets at exactly one unit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from braid.kernels.keys import Keys
from braid.placement.units import routes_stay_local, slot_of, store_at, units_of
from braid.plan.layout import Layout


def random_layout(chance: random.Random, streams: int) -> Layout:
    kind = chance.choice(("partitioned", "random", "ContRand"))
    if kind == "partitioned":
        count = chance.randint(1, 6)
        return Layout(0, "partitioned", (count,), count)
    groups = 1 if kind == "random" else chance.randint(2, 3)
    return Layout(0, "biclique", tuple(chance.randint(groups, 7) for _ in range(streams)), groups)


def stored(layout: Layout, stream: int, keys: Keys, salt: int) -> list[int]:
    return store_at(layout, stream, keys, len(keys), salt).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_every_pair_that_may_match_meets_exactly_once(seed: int) -> None:
    chance = random.Random(seed)
    streams = chance.randint(2, 4)
    layout = random_layout(chance, streams)
    units = units_of(layout, streams)
    keys = [np.array([chance.randint(-5, 5) for _ in range(20)], np.int64) for _ in range(streams)]
    places = [stored(layout, stream, keys[stream], chance.randint(0, 99)) for stream in range(streams)]
    for head in range(streams):
        for other in (stream for stream in range(streams) if stream != head):
            for row, home in enumerate(places[head]):
                route = units[home].route
                visited = [unit.number for unit in units if other in unit.streams and unit.route == route]
                for partner, place in enumerate(places[other]):
                    meetings = visited.count(place)
                    same_key = keys[head][row] == keys[other][partner]
                    assert meetings == 1 if same_key or layout.groups == 1 else meetings <= 1


@pytest.mark.parametrize("seed", range(30))
def test_rows_are_stored_at_units_of_their_own_stream(seed: int) -> None:
    chance = random.Random(seed)
    streams = chance.randint(2, 4)
    layout = random_layout(chance, streams)
    units = units_of(layout, streams)
    assert [unit.number for unit in units] == list(range(len(units)))
    for stream in range(streams):
        keys = np.arange(200, dtype=np.int64)
        homes = stored(layout, stream, keys, seed)
        assert all(stream in units[home].streams for home in homes)
        assert set(homes) == {unit.number for unit in units if stream in unit.streams}


def test_random_routing_deals_evenly_and_needs_no_keys() -> None:
    layout = Layout(0, "biclique", (3, 4), 1)
    assert store_at(layout, 1, None, 9, 2).tolist() == [5, 6, 3, 4, 5, 6, 3, 4, 5]


def test_a_layout_by_key_refuses_rows_without_keys() -> None:
    with pytest.raises(ValueError, match="by a key that every stream has"):
        store_at(Layout(0, "partitioned", (3,), 3), 0, None, 9, 0)


def test_slots_share_all_units() -> None:
    units = units_of(Layout(0, "biclique", (3, 5), 1), 2)
    assert {slot_of(unit, 4) for unit in units} == {0, 1, 2, 3}
    assert all(0 <= slot_of(unit, 2) < 2 for unit in units)


@pytest.mark.parametrize(
    ("layout", "slots", "local"),
    [
        (Layout(0, "partitioned", (7,), 7), 3, True),
        (Layout(0, "biclique", (2, 2), 1), 1, True),
        (Layout(0, "biclique", (2, 2), 1), 2, False),
        (Layout(0, "biclique", (2, 2), 2), 2, True),
        (Layout(0, "biclique", (4, 4), 2), 2, True),
        (Layout(0, "biclique", (3, 3), 2), 3, False),
    ],
)
def test_when_rounds_need_no_exchange(layout: Layout, slots: int, local: bool) -> None:
    assert routes_stay_local(layout, 2, slots) is local
