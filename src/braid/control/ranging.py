"""Which ranges a side of a biclique has, and how many units each: from samples of the numbers that rows are routed by.

A unit should have an even share of its side's rows and of the pairs that are compared. A number with more than its
share gets a range of its own with several units. Ranges change when the fullest unit has more than 1.5 times its share
and other ranges would be clearly better. The functions read no clock and no file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.control.number_samples import Points, group_starts, points_of
from braid.plan.layout import Layout
from braid.state.observed.samples import NumberSample

# Shares of a smaller sample are mostly chance.
MIN_SAMPLED_ROWS = 1000
MAX_IMBALANCE = 1.5
# New ranges must reduce the fullest unit by this factor: otherwise samples that differ by chance would change them.
MIN_GAIN = 1.2
# The lookups of a step compare their rows with the ranges of every live epoch.
MAX_LIVE_EPOCHS = 3
# Both sides get the same ranges, if they are at most this much worse: then most rows probe where they are stored.
COMMON_COST = 1.25
SEARCH_STEPS = 24
# Sums of shares may exceed their limit by an error of floating point.
ROUNDING = 1e-9
# The search for shared ranges takes time in proportion to the units, about 10 ms for these.
MAX_SHARED_UNITS = 64
# A point of more than this many times the mean weight is one frequent number, not many near each other.
HOT_POINT = 4.0
# Rows per distance are estimated from this many neighbouring points.
SPREAD_POINTS = 4

Loads = npt.NDArray[np.float64]
"""For each point its share of the rows and of the pairs of a side; of two sides one after the other."""
ROWS = slice(0, None, 2)
Side = tuple[tuple[float, ...], tuple[int, ...]]
"""The boundaries of a side, and the units of each range."""
Ranges = list[tuple[int, int]]
"""The first point and the number of units of each range."""


@dataclass(frozen=True)
class Ranging:
    """A decision to change ranges, and how full the fullest unit is before and after, in multiples of its share."""

    layout: Layout
    imbalance_before: float | None
    imbalance_after: float

    def describe(self, names: Sequence[str]) -> str:
        counts = ", ".join(f"{name} {groups}" for name, groups in zip(names, self.layout.groups, strict=True))
        before = "" if self.imbalance_before is None else f"from {self.imbalance_before:.2f} "
        return f"changes ranges: {counts}; the fullest unit goes {before}to {self.imbalance_after:.2f} times its share"


def decide_ranges(layout: Layout, samples: Sequence[NumberSample], live_epochs: int) -> Ranging | None:
    """Ranges for the first time, or others where the data has moved; None: no change."""
    if layout.ranges is None or live_epochs >= MAX_LIVE_EPOCHS:
        return None
    sides = [points_of(sample) if sample.rows >= MIN_SAMPLED_ROWS else None for sample in samples]
    known = {stream: points for stream, points in enumerate(sides) if points is not None and len(points)}
    due = [stream for stream in known if layout.units[stream] > 1]
    if not due:
        return None
    loads = {stream: _loads(stream, known) for stream in known}
    missing = any(not layout.ranges[stream] for stream in due)
    before = max(_imbalance(known[stream], loads[stream], _side(layout, stream)) for stream in due)
    if not missing and before <= MAX_IMBALANCE:
        return None
    chosen = _choose(layout, known, loads)
    after = max(_imbalance(known[stream], loads[stream], chosen[stream]) for stream in due)
    same = chosen == [_side(layout, stream) for stream in range(len(layout.units))]
    if same or (not missing and after * MIN_GAIN > before):
        return None
    new = layout.ranged(tuple(side[0] for side in chosen), tuple(side[1] for side in chosen))
    return Ranging(new, None if missing else before, after)


def _choose(layout: Layout, known: dict[int, Points], loads: dict[int, Loads]) -> list[Side]:
    """The ranges of every side; sides without a sample keep theirs."""
    chosen = [_side(layout, stream) for stream in range(len(layout.units))]
    for stream, points in known.items():
        chosen[stream] = _cut(points["number"], loads[stream], layout.units[stream], _most(layout, stream))
    if len(known) != 2 or len(layout.units) != 2 or layout.units[0] != layout.units[1] or not _comparable(known):
        return chosen
    common = _common(layout, known, loads)
    apart = max(_imbalance(known[n], loads[n], chosen[n]) for n in known)
    together = max(_imbalance(known[n], loads[n], common) for n in known)
    return [common, common] if together <= max(apart, 1.0) * COMMON_COST else chosen


def _common(layout: Layout, known: dict[int, Points], loads: dict[int, Loads]) -> Side:
    """The same ranges for two sides: every unit has its share of the rows and pairs of both."""
    numbers = np.concatenate([known[0]["number"], known[1]["number"]])
    nothing = [np.zeros_like(loads[n]) for n in known]
    both = np.vstack([np.hstack([loads[0], nothing[0]]), np.hstack([nothing[1], loads[1]])])
    order = np.argsort(numbers, kind="stable")
    numbers, both = numbers[order], both[order]
    edges = group_starts(numbers)
    most = min(_most(layout, 0), _most(layout, 1))
    return _cut(numbers[edges], np.add.reduceat(both, edges), layout.units[0], most)


def _comparable(known: dict[int, Points]) -> bool:
    """Whether rows of both streams mostly reach their own number in the other stream."""
    return all(bool(np.median((p["lower"] <= p["number"]) & (p["number"] <= p["upper"])) > 0) for p in known.values())


def _most(layout: Layout, stream: int) -> int:
    return layout.units[stream] if layout.most_groups is None else min(layout.most_groups[stream], layout.units[stream])


def _side(layout: Layout, stream: int) -> Side:
    return (() if layout.ranges is None else layout.ranges[stream]), layout.members(stream)


def _loads(stream: int, known: dict[int, Points]) -> Loads:
    """For each point of a stream its share of the rows, and of the pairs with rows of other streams that it reaches."""
    points = known[stream]
    rows = points["rows"].astype(np.float64)
    reached = sum((_rows_within(known[n], points) for n in known if n != stream), np.zeros(len(points)))
    pairs = rows * reached
    shares = rows / rows.sum()
    return np.stack([shares, pairs / pairs.sum() if pairs.sum() > 0 else shares], axis=1)


def _rows_within(others: Points, reaching: Points) -> npt.NDArray[np.float64]:
    """About how many rows of another stream each point reaches.

    A bound may be much narrower than the distance of two points. So the rows of some neighbours are spread evenly
    between the middles to the next ones, unless a point has many of one number: the distance of two points alone is
    mostly chance. What is not finite reaches, and is reached by, all.
    """
    weights, numbers = others["rows"].astype(np.float64), others["number"]
    finite = np.isfinite(numbers)
    everywhere = weights[~finite].sum()
    weights, numbers = weights[finite], numbers[finite]
    lower = np.nan_to_num(reaching["lower"], nan=-np.inf)
    upper = np.nan_to_num(reaching["upper"], nan=np.inf)
    hot = weights > HOT_POINT * weights.mean() if len(weights) else np.zeros(0, bool)
    middles = (numbers[1:] + numbers[:-1]) / 2
    edges = np.concatenate((numbers[:1], middles, numbers[-1:]))
    sums = np.append(0.0, np.cumsum(np.where(hot, 0.0, weights)))
    kept = np.unique(np.append(np.arange(0, len(edges), SPREAD_POINTS), len(edges) - 1))
    edges, sums = edges[kept], sums[kept]
    spread = np.interp(upper, edges, sums) - np.interp(lower, edges, sums) if len(numbers) else 0.0
    atoms, atom_sums = numbers[hot], np.append(0.0, np.cumsum(weights[hot]))
    first, last = np.searchsorted(atoms, lower, side="left"), np.searchsorted(atoms, upper, side="right")
    within = np.maximum(spread, 0.0) + np.maximum(atom_sums[last] - atom_sums[first], 0.0) + everywhere
    rows: npt.NDArray[np.float64] = np.where(np.isfinite(reaching["number"]), within, others["rows"].sum())
    return rows


def _imbalance(points: Points, loads: Loads, side: Side) -> float:
    """How full the fullest unit is, by rows or pairs, in multiples of an even share."""
    boundaries, members = side
    place = np.minimum(np.searchsorted(np.array(boundaries), points["number"], side="right"), len(boundaries))
    counts = np.array(members)
    totals = [np.bincount(place, loads[:, measure], len(counts)) for measure in range(loads.shape[1])]
    return float((np.max(totals, axis=0) / counts).max() * counts.sum())


def _cut(numbers: npt.NDArray[np.float64], loads: Loads, units: int, most: int) -> Side:
    """At most `most` ranges for `units` units, so that the fullest unit has as little as possible."""
    ranges = _narrow_ranges(loads.tolist(), units, most)
    if _fullest(ranges, loads) * units > MAX_IMBALANCE:
        shared = _shared_ranges(loads, units)
        ranges = ranges if shared is None or len(shared) > most else shared
    starts, members = [start for start, _ in ranges], [count for _, count in ranges]
    totals = np.add.reduceat(loads, starts).max(axis=1)
    for _ in range(units - sum(members)):
        members[int(np.argmax(totals / np.array(members)))] += 1
    # What is not finite is after the last range, which may have no other rows.
    return tuple(min(float(numbers[start]), sys.float_info.max) for start in starts[1:]), tuple(members)


def _fullest(ranges: Ranges, loads: Loads) -> float:
    totals = np.add.reduceat(loads, [start for start, _ in ranges]).max(axis=1)
    return float((totals / np.array([count for _, count in ranges])).max())


def _narrow_ranges(loads: list[list[float]], units: int, most: int) -> Ranges:
    """One unit per range, and several only for a single point: rows that reach a range visit all its units."""
    low, high = 1.0 / units, 1.0
    best = _cut_at(loads, high)
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        found = _cut_at(loads, middle)
        if sum(count for _, count in found) <= units and len(found) <= most:
            best, high = found, middle
        else:
            low = middle
    return best


def _cut_at(loads: list[list[float]], limit: float) -> Ranges:
    """Ranges of neighbouring points, none of whose units has more than `limit`."""
    ranges: Ranges = []
    most = limit * (1 + ROUNDING)
    total, full = loads[0], True
    for place, load in enumerate(loads):
        summed = load if full else [before + own for before, own in zip(total, load, strict=True)]
        if not full and max(summed) <= most:
            total = summed
            continue
        count = math.ceil(max(load) / most)
        ranges.append((place, max(1, count)))
        total, full = load, count > 1
    return ranges


def _shared_ranges(loads: Loads, units: int) -> Ranges | None:
    """Ranges with any number of units each, none with more than 1.5 times its share; None if there are none.

    A number with many pairs but few rows leaves room for rows of its neighbours in its units. Of all that fit, these
    are the ranges whose rows visit the fewest units: `visits[u, n]` is what the first n points need with u units.
    """
    if units > MAX_SHARED_UNITS:
        return None
    limit = MAX_IMBALANCE / units
    sums = np.vstack([np.zeros(loads.shape[1]), np.cumsum(loads, axis=0)])
    visits = np.full((units + 1, len(sums)), np.inf)
    begin = np.zeros(visits.shape, np.int64)
    visits[:, 0] = 0.0
    available = np.arange(units + 1)[:, None]
    for end in range(1, len(sums)):
        totals = sums[end] - sums[:end]
        counts, rows = _units_for(totals.max(axis=1), limit), totals[:, ROWS].sum(axis=1)
        left = available - counts
        costs = np.where(left >= 0, visits[np.maximum(left, 0), np.arange(end)] + rows * counts, np.inf)
        begin[:, end] = np.argmin(costs, axis=1)
        visits[:, end] = costs.min(axis=1)
    if not np.isfinite(visits[units, -1]):
        return None
    ranges: Ranges = []
    end, left_units = len(sums) - 1, units
    while end > 0:
        start = int(begin[left_units, end])
        count = int(_units_for((sums[end] - sums[start]).max(keepdims=True), limit)[0])
        ranges.append((start, count))
        end, left_units = start, left_units - count
    return ranges[::-1]


def _units_for(totals: npt.NDArray[np.float64], limit: float) -> npt.NDArray[np.int64]:
    return np.maximum(np.ceil(totals / limit - ROUNDING), 1.0).astype(np.int64)
