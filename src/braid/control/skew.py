"""Hot keys: how they are counted, which are reported, and over how many subgroups they are spread.

With one subgroup per unit, all rows of a key are in one unit. With fewer subgroups a key is spread over the units of
its subgroup, and every probe visits more units. So a layout has as many subgroups as its hot keys allow. The functions
read no clock and no file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from braid.placement.units import subgroups_of
from braid.plan.layout import Layout
from braid.state.observed.samples import FrequentKey, KeyCounts

# Counts of a step lose a tenth with every later step, so the counts follow a change of keys within about ten steps.
DECAY = 0.9
# More keys could not each have a share that matters: the 33rd has at most a thirty-third of the rows.
KEPT_KEYS = 32
# Shares of a smaller sample are mostly chance.
MIN_SAMPLED_ROWS = 1000
# Keys are spread above the first limit and gathered below the second; the gap prevents oscillation.
MAX_IMBALANCE = 1.5
GATHER_IMBALANCE = 1.25
MIN_HOT_SHARE = 0.01
MIN_HOT_SHARE_OF_UNIT = 0.5


@dataclass(frozen=True)
class HotKey:
    """A key with so large a share of a stream's rows that its unit has much more load than others."""

    stream: int
    text: str
    share: float

    def describe(self, names: Sequence[str]) -> str:
        return f"key {self.text!r} has {self.share:.0%} of {names[self.stream]}"


@dataclass(frozen=True)
class Regrouping:
    """A decision to change the number of subgroups, and how full the fullest unit is before and after."""

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


def add_counts(before: KeyCounts, sampled: Iterable[KeyCounts]) -> KeyCounts:
    """Earlier counts decay, those of a step's tasks are added, and the most frequent keys are kept.

    The counts of a stream do not decay in a step in which it has no rows: there is no newer information.
    """
    taken = [counts for counts in sampled if counts.rows]
    if not taken:
        return before
    rows = {key.key: key.rows * DECAY for key in before.keys}
    texts = {key.key: key.text for key in before.keys}
    for key in (key for counts in taken for key in counts.keys):
        rows[key.key] = rows.get(key.key, 0.0) + key.rows
        texts.setdefault(key.key, key.text)
    kept = sorted(rows, key=lambda key: (-rows[key], key))[:KEPT_KEYS]
    counted = tuple(FrequentKey(key, texts[key], rows[key]) for key in kept)
    return KeyCounts(before.rows * DECAY + sum(counts.rows for counts in taken), counted)


def hot_keys(layout: Layout, counts: Sequence[KeyCounts]) -> tuple[HotKey, ...]:
    """The keys to report, hottest first: at least 1 % of a stream's rows, and half of a unit's even share of them."""
    hot = []
    for stream, seen in enumerate(counts):
        units = layout.units[stream] if layout.kind == "biclique" else layout.units[0]
        least = max(MIN_HOT_SHARE, MIN_HOT_SHARE_OF_UNIT / units)
        hot += [HotKey(stream, key.text, share) for key, share in _shares(seen) if share >= least]
    return tuple(sorted(hot, key=lambda key: -key.share))


def imbalance(layout: Layout, counts: Sequence[KeyCounts]) -> float:
    """How full the fullest unit of a biclique is with the known keys, in multiples of an even share of its side."""
    return max((_fullest(layout, stream, seen) for stream, seen in enumerate(counts)), default=1.0)


def decide_groups(layout: Layout, counts: Sequence[KeyCounts]) -> Regrouping | None:
    """Fewer subgroups where hot keys overload a unit, more where they no longer would; None: no change."""
    if (
        layout.ranges is not None
        or layout.most_groups is None
        or not any(seen.rows >= MIN_SAMPLED_ROWS for seen in counts)
    ):
        return None
    # Scaling may have given a hot subgroup more units, which lowers its load. Where it left other subgroups with units
    # to spare, that is no imbalance: so the better of the scaled and the even layout counts.
    now = min(imbalance(layout, counts), imbalance(layout.regrouped(layout.groups), counts))
    choices = _choices(layout.most_groups)
    place = choices.index(layout.groups)
    after = {groups: imbalance(layout.regrouped(groups), counts) for groups in choices}
    more = [groups for groups in choices[:place] if after[groups] <= GATHER_IMBALANCE]
    fewer = [groups for groups in choices[place + 1 :] if after[groups] <= MAX_IMBALANCE < now]
    chosen = next(iter([*more, *fewer]), None)
    if chosen is None:
        return None
    return Regrouping(layout.groups, chosen, now, after[chosen], next(iter(hot_keys(layout, counts)), None))


def describe_treatment(layout: Layout) -> str:
    """How a layout handles hot keys, for `explain`."""
    if layout.most_groups is not None and max(layout.most_groups) > 1:
        return (
            f"spread over fewer subgroups where the fullest unit would hold more than {MAX_IMBALANCE:g} times its "
            f"share; gathered again where more subgroups stay within {GATHER_IMBALANCE:g}"
        )
    if layout.ranges is not None:
        return "a number with more than its share of rows or pairs gets a range of its own, with several units"
    return "reported, and left where they are" if layout.by_key else "spread like all rows"


def _choices(most: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The possible numbers of subgroups, most first: on every side, divisors of what the layout started with."""
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
    """The known keys with their shares, at most 1 together; none while too few rows were sampled."""
    if seen.rows < MIN_SAMPLED_ROWS:
        return []
    total = max(seen.rows, sum(key.rows for key in seen.keys))
    return [(key, key.rows / total) for key in seen.keys]


def _numbers(groups: tuple[int, ...]) -> str:
    return str(groups[0]) if len(set(groups)) == 1 else ", ".join(map(str, groups))
