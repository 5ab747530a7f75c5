"""Units and routes: where a row is stored, and which stored rows a probing row visits.

A stored row carries a unit and a route; a probing row carries the route it is stored under and visits the rows of the
other streams with the same route, wherever they are. Partitioned: a route per unit, which stores all streams; with
partition groups, the unit of a row is that of its group (`groups.py`).
Biclique: one route for everything (random), or routes by key (ContRand), distributed to the subgroups of each side, or
a route per range of a number (`ranges.py`), where a row visits every route that its bounds reach.
Time-sliced: one route for everything, and the slice of a row's event time says which unit stores it (`slices.py`).
Matrix: a route per unit again, but a row is stored in all units of a row or of a column, so that any two rows of the
two streams meet in exactly one.
Aligned: a row is stored at every unit where it may meet a row of the master stream (`segments.py`).
Coordinated: a row is stored at several units, and a step decides which of them is visited for each class of segments.
Sites: a row is stored at a unit of its stream's site; copies at other sites are not primary (`sites.py`).

Between two layouts that place by the same key, a row visits the routes that may contain its key. Between other layouts
routes are not related, and every row visits every row; only the primary copy of a row is visited.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from braid.kernels.grouping import groups_of_keys
from braid.kernels.keys import Keys, buckets
from braid.placement.ranges import routes_by_number
from braid.placement.segments import aligned_places, coordinated_places
from braid.placement.sites import site_of, slots_of_sites, streams_of_site, units_at
from braid.placement.slices import slice_units
from braid.plan.layout import Layout
from braid.state.blocks import Segment

Numbers = npt.NDArray[np.int64]

# Reading and looking up a segment costs about as much as handling this many rows.
MIN_ROWS_PER_UNIT = 1024
# Of a hash: not negative, and the number of a step can be added.
HASH_BITS = np.int64((1 << 62) - 1)


@dataclass(frozen=True)
class Unit:
    """A place where rows are stored: the `index`-th of a subgroup; `rank` is its number among the units of its side."""

    number: int
    rank: int
    streams: tuple[int, ...]
    routes: tuple[int, ...]
    group: int = 0
    index: int = 0


@dataclass(frozen=True)
class Placed:
    """Where rows go: row `rows[i]` to unit `units[i]` under route `routes[i]`; `rows` None: each row once, in order."""

    units: Numbers
    routes: Numbers
    rows: Numbers | None = None


# A query has few layouts with live rows; tests have many queries.
@lru_cache(maxsize=64)
def units_of(layout: Layout, streams: int) -> tuple[Unit, ...]:
    """All units of a layout, numbered from 0."""
    if layout.kind == "biclique":
        return _sides(layout, streams)
    every = tuple(range(streams))
    if layout.kind == "time_sliced":
        return tuple(Unit(n, n, every, (0,)) for n in range(layout.units[0]))
    if layout.kind == "aligned":
        return tuple(Unit(n, n, every, routes_at(layout, n)) for n in range(layout.units[0]))
    if layout.kind == "coordinated":
        return tuple(Unit(n, n, every, _classes_at(layout, n)) for n in range(layout.units[0]))
    if layout.kind == "sites":
        return tuple(
            Unit(n, slot, streams_of_site(layout, site_of(layout, n)), (n,))
            for n, slot in enumerate(slots_of_sites(layout))
        )
    return tuple(Unit(n, n, every, (n,)) for n in range(math.prod(layout.units)))


def unit_count(layout: Layout) -> int:
    """How many units a layout has."""
    if layout.kind == "biclique":
        return sum(layout.units)
    return layout.units[0] if layout.by_time or layout.kind in ("aligned", "coordinated") else math.prod(layout.units)


def is_dealt(layout: Layout, stream: int) -> bool:
    """Whether rows of one key, or all rows, are dealt to several units; otherwise their keys say where they go."""
    if layout.kind in ("partitioned", "sites") or layout.by_time:
        return False
    if layout.by_key:
        return max(layout.members(stream)) > 1
    return layout.kind == "matrix" or layout.units[stream] > 1


def store_at(
    layout: Layout,
    stream: int,
    keys: Keys | None,
    rows: int,
    salt: int,
    numbers: npt.NDArray[Any] | None = None,
    hashes: Numbers | None = None,
) -> Placed:
    """Where each row goes. `keys` are those of the common part; `salt` varies the unit that a round robin starts at.

    `numbers` are those that ranges are made of, None in a stream without such a number; event times where the layout
    places by them.

    Without keys few rows go to few units: every slot reads the rows of each unit apart, so a unit for every few rows
    would make as many reads as there are units, of each task's rows. With `hashes`, rows that are dealt go by their
    hash instead of their position: to the same units, in whatever order and in whatever pieces they come.
    """
    if layout.kind in ("partitioned", "sites"):
        at_site = layout.kind == "sites"
        units = units_at(layout, layout.homes[stream], keys, rows) if at_site else _key_units(layout, _needed(keys))
        return Placed(units, units)
    if layout.kind == "time_sliced":
        return Placed(slice_units(layout, stream, _needed(numbers)), np.zeros(rows, np.int64))
    if layout.kind == "aligned":
        return Placed(*aligned_places(layout, stream, _needed(numbers)))
    if layout.kind == "coordinated":
        return Placed(*coordinated_places(layout, stream, _needed(numbers)))
    sequence = np.arange(rows, dtype=np.int64) if hashes is None else hashes & HASH_BITS
    sequence += salt
    if layout.kind == "matrix":
        return _copies(layout, stream, sequence)
    first, count, groups = sum(layout.units[:stream]), layout.units[stream], layout.groups[stream]
    if layout.ranges is not None and numbers is not None and layout.ranges[stream]:
        routes = routes_by_number(layout.ranges[stream], numbers)
        group = np.minimum(routes, groups - 1)
        return Placed(first + _spread(layout, stream, group, sequence), routes)
    if not layout.by_key:
        if hashes is None:
            parts = min(count, max(1, rows // MIN_ROWS_PER_UNIT))
            sequence = salt + np.arange(rows, dtype=np.int64) % parts
        return Placed(first + sequence % count, np.zeros(rows, np.int64))
    routes = buckets(_needed(keys), layout.routes)
    group = routes if layout.routes == groups else routes % groups
    return Placed(first + _spread(layout, stream, group, sequence), routes)


def subgroups_of(layout: Layout, stream: int, keys: Keys) -> Numbers:
    """The subgroup of a stream's side that stores each key."""
    return buckets(keys, layout.routes) % layout.groups[stream]


def is_primary(layout: Layout, stream: int, unit: int, route: int) -> bool:
    """Whether a stream's rows at this unit, under this route, are the primary copies."""
    if layout.kind in ("aligned", "coordinated"):
        return unit == route
    if layout.kind == "sites":
        return site_of(layout, unit) == layout.homes[stream]
    if layout.kind != "matrix":
        return True
    row, column = divmod(unit, layout.units[1])
    return (column if stream == 0 else row) == 0


def copied_rows(layout: Layout, stream: int, segments: Iterable[Segment]) -> int:
    """How many of the rows in some segments are not primary copies."""
    if not layout.has_copies:
        return 0
    return sum(s.rows for s in segments if not is_primary(layout, stream, s.unit, s.route))


def routes_at(layout: Layout, unit: int) -> tuple[int, ...]:
    """The routes of the rows at a unit of an aligned layout, which visit each other: primary copies, then others."""
    return unit, unit + layout.units[0]


def visitors(newest: Layout, older: Layout, route: int) -> frozenset[int] | None:
    """The routes of the newest layout whose keys may be stored under a route of an older one; None: all routes."""
    if are_sliced(newest, older):
        return frozenset((0,))
    if not (newest.by_key and older.by_key) or newest.stored_as != older.stored_as:
        return None
    if newest.group_units or older.group_units:
        return None  # ranges of hashes, and remainders of others
    shared = math.gcd(newest.routes, older.routes)
    return frozenset(number for number in range(newest.routes) if number % shared == route % shared)


def are_sliced(layout: Layout, other: Layout) -> bool:
    """Whether both have time slices of rows that are stored alike: then a unit is the same in both."""
    return layout.kind == other.kind == "time_sliced" and layout.stored_as == other.stored_as


def slot_of(unit: Unit, slots: int) -> int:
    """The slot that processes a unit: round robin over the units of a side."""
    return unit.rank % slots


@lru_cache(maxsize=64)
def units_by_slot(layout: Layout, streams: int, slots: int) -> tuple[tuple[Unit, ...], ...]:
    """The units that each slot processes."""
    owned: list[list[Unit]] = [[] for _ in range(slots)]
    for unit in units_of(layout, streams):
        owned[slot_of(unit, slots)].append(unit)
    return tuple(map(tuple, owned))


@lru_cache(maxsize=64)
def routes_stay_local(layout: Layout, streams: int, slots: int) -> bool:
    """Whether all units of each route share a slot, so that probe rounds need no exchange."""
    if layout.ranges is not None or layout.kind == "coordinated":
        return slots == 1  # rows near a boundary visit the neighbouring range; or every row every class
    places: dict[int, set[int]] = {}
    for unit in units_of(layout, streams):
        for route in unit.routes:
            places.setdefault(route, set()).add(slot_of(unit, slots))
    return all(len(slots_used) == 1 for slots_used in places.values())


def _sides(layout: Layout, streams: int) -> tuple[Unit, ...]:
    routes = () if layout.ranges is not None else range(layout.routes)
    units: list[Unit] = []
    for stream in range(streams):
        first, groups = len(units), layout.groups[stream]
        for rank, (index, group) in enumerate(_places(layout, stream)):
            own = tuple(route for route in routes if route % groups == group)
            if layout.ranges is not None:
                own = (group,) if group < groups - 1 else (group, groups)
            units.append(Unit(first + rank, rank, (stream,), own, group, index))
    return tuple(units)


def _key_units(layout: Layout, keys: Keys) -> Numbers:
    """The unit of each key in a partitioned layout: that of its partition group, if it has groups."""
    if not layout.group_units:
        return buckets(keys, layout.units[0])
    return np.array(layout.group_units)[groups_of_keys(keys, len(layout.group_units))]


def _classes_at(layout: Layout, unit: int) -> tuple[int, ...]:
    """The classes of segments that a unit of a coordinated layout stores."""
    most = max(segmenting.copies for segmenting in layout.segments)
    return tuple((unit - place) % layout.units[0] for place in range(most))


def _places(layout: Layout, stream: int) -> list[tuple[int, int]]:
    """The (index, subgroup) of every unit of a side by rank: round robin over the subgroups."""
    members = layout.members(stream)
    return sorted((index, group) for group, count in enumerate(members) for index in range(count))


def _spread(layout: Layout, stream: int, group: Numbers, sequence: Numbers) -> Numbers:
    """The rank of a unit of each row's subgroup: round robin within it."""
    members = np.array(layout.members(stream))
    if members.max() == 1:
        return group
    ranks: Numbers = _ranks(layout, stream)[group, sequence % members[group]]
    return ranks


def _ranks(layout: Layout, stream: int) -> Numbers:
    """The rank of each subgroup's units, by subgroup and index."""
    members = layout.members(stream)
    ranks = np.zeros((len(members), max(members)), np.int64)
    for rank, (index, group) in enumerate(_places(layout, stream)):
        ranks[group, index] = rank
    return ranks


def _copies(layout: Layout, stream: int, sequence: Numbers) -> Placed:
    """A row of the first stream goes to every unit of a row, one of the second to every unit of a column."""
    height, width = layout.units
    count = width if stream == 0 else height
    rows = np.repeat(np.arange(len(sequence)), count)
    along = np.tile(np.arange(count), len(sequence))
    line = np.repeat(sequence % (height if stream == 0 else width), count)
    units = line * width + along if stream == 0 else along * width + line
    return Placed(units, units, rows)


def _needed(values: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    if values is None:
        raise ValueError("this layout places rows by a key or by event times, which were not given")
    return values
