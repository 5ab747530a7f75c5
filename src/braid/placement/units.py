"""Units and routes: the two functions every distribution scheme comes down to.

A row is stored at one unit. Every unit has a route; rows that probe a stream carry the route of the unit they
are stored at, and visit exactly the units of that stream with the same route. Partitioned: a route per unit,
which stores all streams. Biclique: one route for all units (random), or one per subgroup (ContRand).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.kernels.keys import Keys, buckets
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Unit:
    """A place where rows are stored; `rank` is its number among the units of its side."""

    number: int
    rank: int
    streams: tuple[int, ...]
    route: int


def units_of(layout: Layout, streams: int) -> tuple[Unit, ...]:
    """All units of a layout, numbered from 0."""
    if layout.kind == "partitioned":
        return tuple(Unit(n, n, tuple(range(streams)), n) for n in range(layout.units[0]))
    units: list[Unit] = []
    for stream in range(streams):
        first = len(units)
        units += [Unit(first + r, r, (stream,), r % layout.groups) for r in range(layout.units[stream])]
    return tuple(units)


def store_at(layout: Layout, stream: int, keys: Keys | None, rows: int, salt: int) -> npt.NDArray[np.int64]:
    """The unit of each row. `keys` are those of the common part; `salt` varies where a round of dealing starts."""
    if layout.kind == "partitioned":
        return buckets(_needed(keys), layout.units[0])
    first = sum(layout.units[:stream])
    count = layout.units[stream]
    turn = np.arange(salt, salt + rows, dtype=np.int64)
    if layout.groups == 1:
        return first + turn % count
    group = buckets(_needed(keys), layout.groups)
    members = (count - group - 1) // layout.groups + 1
    return first + group + layout.groups * (turn % members)


def slot_of(unit: Unit, slots: int) -> int:
    """The slot that works for a unit; units of a side go round."""
    return unit.rank % slots


def routes_stay_local(layout: Layout, streams: int, slots: int) -> bool:
    """Whether all units of each route share a slot, so that probe rounds need no exchange."""
    places: dict[int, set[int]] = {}
    for unit in units_of(layout, streams):
        places.setdefault(unit.route, set()).add(slot_of(unit, slots))
    return all(len(slots_used) == 1 for slots_used in places.values())


def _needed(keys: Keys | None) -> Keys:
    if keys is None:
        raise ValueError("this layout places rows by a key that every stream has")
    return keys
