"""Two-phase scaling: how many units each subgroup of each side should have, from the memory they hold.

Every period the load of a subgroup is compared with two thresholds. A subgroup asks for more units or fewer; when it
has asked for the same so often in a row as `patience` says, it gets the number that brings its load to the target.
Nothing here looks at a clock or a file: loads and times come in, decisions go out.
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
    """How a query grows and shrinks; loads are shares of `capacity_bytes`, the memory of a unit."""

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
    """A decision: a subgroup gets another number of units, because of its load."""

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
    """What a check came to: the layout, what was scaled, and what subgroups now ask for."""

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
    """One check: `stored` has the bytes that each subgroup of each side holds.

    The streams `growing` have not filled their windows yet. A low load says nothing of them, so they do not shrink.
    """
    asked = {(pressure.stream, pressure.group): pressure for pressure in pressures}
    scalings, after = [], []
    for stream in range(len(layout.units)):
        for group, count in enumerate(layout.members(stream)):
            load = stored.get((stream, group), 0) / (count * elasticity.capacity_bytes)
            vote = max(vote_for(elasticity, load), 0) if stream in growing else vote_for(elasticity, load)
            before = asked.get((stream, group))
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
    """The units by which a subgroup reaches the target, rounded away from zero."""
    exact = (load / elasticity.target - 1) * count
    # A load that is exactly a whole number of units away must not be pushed further by rounding.
    nearest = round(exact)
    if math.isclose(exact, nearest, abs_tol=1e-9):
        return nearest
    return math.ceil(exact) if exact > 0 else math.floor(exact)


def is_due(elasticity: Elasticity, checked_ms: int | None, now_ms: int) -> bool:
    return checked_ms is None or now_ms - checked_ms >= elasticity.period_ms


def _bounded(elasticity: Elasticity, count: int) -> int:
    most = math.inf if elasticity.max_units is None else elasticity.max_units
    return int(min(max(count, elasticity.min_units), most))
