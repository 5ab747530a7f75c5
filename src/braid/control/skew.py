"""Hot keys: what to remember of them, which are worth naming, and how many subgroups to spread them over.

With a subgroup a unit all rows of a key are in one place. With fewer subgroups a key is spread over the units of one,
and every probe visits more units: so a layout has as many subgroups as its hot keys allow. Nothing here looks at a
clock or a file: counts come in, decisions go out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from braid.placement.units import subgroups_of
from braid.plan.layout import Layout
from braid.state.manifest import FrequentKey, KeyCounts

FADING = 0.9
KEPT_KEYS = 32
ENOUGH_ROWS = 1000
MOST_IMBALANCE = 1.5
CALM_IMBALANCE = 1.25
LEAST_HOT_SHARE = 0.01
HOT_PART_OF_A_UNIT = 0.5


@dataclass(frozen=True)
class HotKey:
    """A key with so large a share of a stream's rows that it burdens the unit it is in."""

    stream: int
    text: str
    share: float

    def describe(self, names: Sequence[str]) -> str:
        return f"key {self.text!r} has {self.share:.0%} of {names[self.stream]}"


@dataclass(frozen=True)
class Regrouping:
    """A decision: another number of subgroups, and how full the fullest unit is before and after."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    imbalance_before: float
    imbalance_after: float
    hottest: HotKey | None

    @property
    def spreads(self) -> bool:
        return _size(self.after) < _size(self.before)

    def describe(self, names: Sequence[str]) -> str:
        verb = "spreads hot keys" if self.spreads else "gathers keys that are no longer hot"
        key = "" if self.hottest is None else f"{self.hottest.describe(names)}, "
        return (
            f"{verb}: {_numbers(self.before)} → {_numbers(self.after)} subgroups, {key}the fullest unit goes from "
            f"{self.imbalance_before:.2f} to {self.imbalance_after:.2f} times its share"
        )


def add_counts(before: KeyCounts, reports: Iterable[dict[str, Any]]) -> KeyCounts:
    """Earlier counts fade, those of a step's tasks are added, and the most frequent keys are kept.

    A stream that brought no rows fades not: nothing is known that would be newer.
    """
    taken = [report for report in reports if report["rows"]]
    if not taken:
        return before
    found = {key.key: replace(key, rows=key.rows * FADING) for key in before.keys}
    for report in taken:
        for key, text, rows in report["found"]:
            known = found.get(key, FrequentKey(key, text, 0.0))
            found[key] = replace(known, rows=known.rows + rows)
    kept = sorted(found.values(), key=lambda key: (-key.rows, key.key))[:KEPT_KEYS]
    return KeyCounts(before.rows * FADING + sum(report["rows"] for report in taken), tuple(kept))


def hot_keys(layout: Layout, counts: Sequence[KeyCounts]) -> tuple[HotKey, ...]:
    """The keys worth naming, hottest first: a hundredth of a stream's rows, and half a unit's even share of them."""
    hot = []
    for stream, seen in enumerate(counts):
        units = layout.units[0] if layout.kind == "partitioned" else layout.units[stream]
        least = max(LEAST_HOT_SHARE, HOT_PART_OF_A_UNIT / units)
        hot += [HotKey(stream, key.text, share) for key, share in _shares(seen) if share >= least]
    return tuple(sorted(hot, key=lambda key: -key.share))


def imbalance(layout: Layout, counts: Sequence[KeyCounts]) -> float:
    """How full the fullest unit of a biclique is, in even shares of its side, where the known keys are placed."""
    return max((_fullest(layout, stream, seen) for stream, seen in enumerate(counts)), default=1.0)


def decide_groups(layout: Layout, counts: Sequence[KeyCounts]) -> Regrouping | None:
    """Fewer subgroups where hot keys fill a unit too much, more where they no longer would; None: as they are."""
    if layout.most_groups is None or not any(seen.rows >= ENOUGH_ROWS for seen in counts):
        return None
    # Units that scaling has given to a hot subgroup relieve it; units it has not taken away elsewhere are no burden.
    now = min(imbalance(layout, counts), imbalance(layout.regrouped(layout.groups), counts))
    choices = _choices(layout.most_groups)
    place = choices.index(layout.groups)
    after = {groups: imbalance(layout.regrouped(groups), counts) for groups in choices}
    more = [groups for groups in choices[:place] if after[groups] <= CALM_IMBALANCE]
    fewer = [groups for groups in choices[place + 1 :] if after[groups] <= MOST_IMBALANCE < now]
    chosen = next(iter([*more, *fewer]), None)
    if chosen is None:
        return None
    return Regrouping(layout.groups, chosen, now, after[chosen], next(iter(hot_keys(layout, counts)), None))


def describe_treatment(layout: Layout) -> str:
    """What a layout does about keys that many rows have."""
    if layout.most_groups is not None and max(layout.most_groups) > 1:
        return (
            f"spread over fewer subgroups where the fullest unit would hold more than {MOST_IMBALANCE:g} times its "
            f"share; gathered again where more subgroups stay within {CALM_IMBALANCE:g}"
        )
    return "reported, and left where they are" if layout.by_key else "spread like all rows"


def _choices(most: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The numbers of subgroups to choose from, most first: divisors of what a layout started with, on every side."""
    whole = math.lcm(*most)
    divisors = [number for number in range(1, whole + 1) if whole % number == 0]
    return sorted({tuple(math.gcd(number, side) for side in most) for number in divisors}, key=_size, reverse=True)


def _size(groups: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return math.prod(groups), groups


def _fullest(layout: Layout, stream: int, seen: KeyCounts) -> float:
    shares = _shares(seen)
    if not shares:
        return 1.0
    members = np.array(layout.members(stream))
    known = np.array([share for _, share in shares])
    places = subgroups_of(layout, stream, np.array([key.key for key, _ in shares], np.int64))
    loads = np.full(len(members), (1 - known.sum()) / len(members)) + np.bincount(places, known, len(members))
    return float((loads / members).max() * members.sum())


def _shares(seen: KeyCounts) -> list[tuple[FrequentKey, float]]:
    """The known keys with their shares; none while too few rows were seen. Rounding leaves no share above one."""
    if seen.rows < ENOUGH_ROWS:
        return []
    total = max(seen.rows, sum(key.rows for key in seen.keys))
    return [(key, key.rows / total) for key in seen.keys]


def _numbers(groups: tuple[int, ...]) -> str:
    return str(groups[0]) if len(set(groups)) == 1 else ", ".join(map(str, groups))
