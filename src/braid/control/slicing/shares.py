"""Shares of slices: how the slices of every stream are divided among the units of its ring, so that loads are even.

A stream has a load, such as the pairs compared with its rows, which is spread over units as its slices are. Short rings
overlap some units only; longer rings then leave these units fewer of their own slices. All functions are of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from braid.placement.slices import turns_of
from braid.plan.layout import Slicing

Loads = npt.NDArray[np.float64]
"""A load for each unit."""

# Slices of each unit of a ring in a turn of it: shares are then off by at most a thirty-second of a unit's own.
SLICES_PER_UNIT = 16
# Rounds of filling one stream after another; a dozen suffice for rings that overlap.
ROUNDS = 40
# A round that changes less than this share of the loads is the last one.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Ring:
    """The units that store slices of a stream: so many, the first of them given."""

    first: int
    units: int

    def members(self, units: int) -> npt.NDArray[np.int64]:
        """Their numbers, of so many units."""
        return (self.first + np.arange(self.units)) % units


def unit_loads(slices: Sequence[Slicing], loads: Sequence[float], units: int) -> Loads:
    """The load of each unit, if the load of every stream is spread as its slices are."""
    found = np.zeros(units)
    for slicing, load in zip(slices, loads, strict=True):
        turns = turns_of(slicing)
        shares = np.bincount(turns, minlength=slicing.units) / len(turns)
        np.add.at(found, Ring(slicing.first, slicing.units).members(units), load * shares)
    return found


def imbalance(loads: Loads) -> float:
    """How much the fullest unit has, in multiples of an even share; 1 if there is no load."""
    total = float(loads.sum())
    return float(loads.max()) * len(loads) / total if total > 0 else 1.0


def even_shares(rings: Sequence[Ring], loads: Sequence[float], units: int) -> list[Loads]:
    """The share of each unit in each stream, by which units have loads that are as even as the rings allow.

    One stream after another fills up the units that the others load least. The sum of squares decreases with every
    round, and its only minimum is where no load can go to a unit with less.
    """
    members = [ring.members(units) for ring in rings]
    shares = [np.full(ring.units, 1.0 / ring.units) for ring in rings]
    total = np.zeros(units)
    for own, share, load in zip(members, shares, loads, strict=True):
        total[own] += load * share
    for _ in range(ROUNDS):
        before = total.copy()
        for stream, (own, load) in enumerate(zip(members, loads, strict=True)):
            if load > TOLERANCE * total.sum():  # less makes no difference, and divides badly
                total[own] -= load * shares[stream]
                filled = _filled(total[own], load)
                if filled.sum() > 0:  # not so where the load is the least of all floats
                    shares[stream] = filled / filled.sum()
                total[own] += load * shares[stream]
        if np.abs(total - before).max() <= TOLERANCE * total.sum():
            break
    return shares


def rings_for(rings: Sequence[Ring], loads: Sequence[float], units: int, most: float) -> list[Ring]:
    """The rings, longer where no shares keep the fullest unit within `most` times its even share."""
    found = list(rings)
    added = max(1, units // 16)
    while True:
        shares = even_shares(found, loads, units)
        total = np.zeros(units)
        for ring, share, load in zip(found, shares, loads, strict=True):
            total[ring.members(units)] += load * share
        short = [n for n, ring in enumerate(found) if ring.units < units and loads[n] > 0]
        if imbalance(total) <= most or not short:
            return found
        fullest = int(total.argmax())
        there = [_share_at(found[n], shares[n], fullest, units) * loads[n] for n in short]
        longest = short[int(np.argmax(there))]
        found[longest] = replace(found[longest], units=min(units, found[longest].units + added))


def weights_of(share: Loads, slices: int) -> tuple[int, ...]:
    """So many slices divided by shares, by largest remainders."""
    exact = share / share.sum() * slices
    weights = np.floor(exact + 1e-9).astype(np.int64)
    order = np.argsort(weights - exact, kind="stable")
    weights[order[: slices - int(weights.sum())]] += 1
    return tuple(weights.tolist())


def _filled(levels: Loads, amount: float) -> Loads:
    """What each of these levels gets of an amount that fills up the lowest."""
    lowest = np.sort(levels)
    counts = np.arange(1, len(lowest) + 1)
    reached = (amount + np.cumsum(lowest)) / counts
    # The last level that is below what the amount reaches with it.
    level = reached[np.flatnonzero(lowest <= reached)[-1]]
    filled: Loads = np.maximum(level - levels, 0.0)
    return filled


def _share_at(ring: Ring, share: Loads, unit: int, units: int) -> float:
    place = (unit - ring.first) % units
    return float(share[place]) if place < ring.units else 0.0
