"""Two-phase scaling: how many units each subgroup of each side should have, given the memory they use.

Every period the load of a subgroup is compared with two thresholds, and the subgroup votes for more units, for fewer,
or for neither. After `patience` equal votes in a row it gets the number of units that brings its load to the target.
The functions read no clock and no file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from braid.plan.layout import Layout
from braid.state.manifest import Pressure

Place = tuple[int, int]


@dataclass(frozen=True)
class Elasticity:
    """The settings of scaling; loads are shares of `capacity_bytes`, the memory of a unit."""

    low: float
    high: float
    target: float
    patience: int
    period_ms: int
    capacity_bytes: int
    min_units: int
    max_units: int | None


@dataclass(frozen=True)
class Scaling:
    """A decision: the number of units of a subgroup changes, because of its load."""

    stream: int
    group: int
    before: int
    after: int
    load: float

    def describe(self, name: str) -> str:
        change = self.after - self.before
        verb = "adds" if change > 0 else "removes"
        return (
            f"{name}, subgroup {self.group}: {verb} {abs(change)} of {self.before} units at a load of {self.load:.0%}"
        )


@dataclass(frozen=True)
class Decided:
    """The outcome of a check: the layout, the scalings, and the votes of the subgroups."""

    layout: Layout
    scalings: tuple[Scaling, ...]
    pressures: tuple[Pressure, ...]


def decide_scaling(
    elasticity: Elasticity,
    layout: Layout,
    stored: Mapping[Place, int],
    pressures: tuple[Pressure, ...],
    growing: Collection[int] = (),
) -> Decided:
    """One check: `stored` has the bytes stored by each subgroup of each side.

    The streams `growing` have not filled their windows yet. Their load will still rise, so they do not shrink.
    """
    earlier = {(pressure.stream, pressure.group): pressure for pressure in pressures}
    scalings, after = [], []
    for stream in range(len(layout.units)):
        for group, count in enumerate(layout.members(stream)):
            load = stored.get((stream, group), 0) / (count * elasticity.capacity_bytes)
            vote = max(vote_for(elasticity, load), 0) if stream in growing else vote_for(elasticity, load)
            before = earlier.get((stream, group))
            times = 0 if vote == 0 else 1 if before is None or before.vote != vote else before.times + 1
            wanted = _bounded(elasticity, count + units_to_change(elasticity, load, count))
            if times >= elasticity.patience and wanted != count:
                scalings.append(Scaling(stream, group, count, wanted, load))
                times = 0
            if times:
                after.append(Pressure(stream, group, vote, times))
    for scaling in scalings:
        layout = layout.resized(scaling.stream, scaling.group, scaling.after)
    return Decided(layout, tuple(scalings), tuple(after))


def vote_for(elasticity: Elasticity, load: float) -> int:
    """1: more units, -1: fewer, 0: neither."""
    if load > elasticity.high:
        return 1
    return -1 if load < elasticity.low else 0


def units_to_change(elasticity: Elasticity, load: float, count: int) -> int:
    """The units to add or remove so that a subgroup reaches the target, rounded away from zero."""
    exact = (load / elasticity.target - 1) * count
    # Where the exact change is a whole number, an error of floating point must not round it up.
    nearest = round(exact)
    if math.isclose(exact, nearest, abs_tol=1e-9):
        return nearest
    return math.ceil(exact) if exact > 0 else math.floor(exact)


def is_due(elasticity: Elasticity, checked_ms: int | None, now_ms: int) -> bool:
    return checked_ms is None or now_ms - checked_ms >= elasticity.period_ms


def _bounded(elasticity: Elasticity, count: int) -> int:
    most = math.inf if elasticity.max_units is None else elasticity.max_units
    return int(min(max(count, elasticity.min_units), most))
