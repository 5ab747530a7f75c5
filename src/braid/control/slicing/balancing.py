"""When the slices of streams are redistributed among units, and how: from the pairs that units compared.

The load of a stream is the pairs compared with its rows, or its rows while no pairs were compared. It depends on rates,
windows and the join, not on where slices are, so a decision does not follow its own effect. A change is a new epoch of
the layout. The functions read no clock and no file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from braid.control.slicing.shares import (
    SLICES_PER_UNIT,
    Loads,
    Ring,
    even_shares,
    imbalance,
    rings_for,
    unit_loads,
    weights_of,
)
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Slicing
from braid.state.manifest import Manifest, Mark
from braid.state.slice_state import SliceLoad, SliceState

# Shares of fewer pairs at a unit are mostly chance.
MIN_PAIRS_PER_UNIT = 1000
# A busiest unit with less than this many times its share is left alone.
MAX_IMBALANCE = 1.1
# While windows fill, loads still change: then slices are redistributed once at most, and for more than this.
GROWING_IMBALANCE = 1.5
# Other shares must reduce the load of the busiest unit by this factor.
MIN_GAIN = 1.04
# A change must be due in so many steps in a row: the load of one step may be chance.
PATIENCE = 3
# Rows of every live epoch are looked up separately, and are merged only with each other.
MAX_LIVE_EPOCHS = 3
# Pairs of a step count a fifth less in each later one, so loads follow a change of rates within about five steps.
DECAY = 0.8


@dataclass(frozen=True)
class Balancing:
    """A decision to redistribute slices, and what the busiest unit has before and after, in multiples of its share."""

    layout: Layout
    before: float
    after: float

    def describe(self, names: Sequence[str]) -> str:
        rings = ", ".join(f"{n} at {s.units}" for n, s in zip(names, self.layout.slices, strict=True))
        moved = ", and stored slices move" if self.layout.adapt == "aggressive" else ""
        busiest = f"the busiest goes from {self.before:.2f} to {self.after:.2f} times its share of the pairs"
        return f"redistributes slices among {self.layout.units[0]} units: {rings}; {busiest}{moved}"


def decide_balance(plan: JoinPlan, manifest: Manifest, layout: Layout) -> Balancing | None:
    """The layout with slices redistributed, if that has been due for some steps; None: no change."""
    state = manifest.slice_state
    if state is None or state.due_steps < PATIENCE or len(manifest.layouts) >= MAX_LIVE_EPOCHS:
        return None
    balancing = better_balance(plan, layout, state.loads)
    early = any(_is_growing(plan, stream, mark) for stream, mark in enumerate(manifest.marks))
    if balancing is None or (early and (balancing.before <= GROWING_IMBALANCE or bool(layout.first_slices))):
        return None
    return balancing


def better_balance(plan: JoinPlan, layout: Layout, recorded: Iterable[SliceLoad]) -> Balancing | None:
    """Slices divided so that the busiest unit has clearly less than now; None if it has little, or cannot have less."""
    units, loads = layout.units[0], stream_loads(recorded, len(plan.streams))
    if layout.adapt == "off" or units == 1 or loads.sum() < MIN_PAIRS_PER_UNIT * units:
        return None
    before = imbalance(unit_loads(layout.slices, loads.tolist(), units))
    if before <= MAX_IMBALANCE:
        return None
    slices = balanced_slices(plan, layout, loads)
    after = imbalance(unit_loads(slices, loads.tolist(), units))
    return None if after * MIN_GAIN > before else Balancing(layout.resliced(slices), before, after)


def balanced_slices(plan: JoinPlan, layout: Layout, loads: Loads) -> tuple[Slicing, ...]:
    """Slices of every stream by which units have even loads; a window has sixteen for each unit of a ring.

    Rings that were chosen for latency keep their lengths: more units would cost more than even loads save.
    """
    units, totals = layout.units[0], loads.tolist()
    known = [Ring(slicing.first, slicing.units) for slicing in layout.slices]
    rings = known if layout.goal == "latency" else rings_for(known, totals, units, MAX_IMBALANCE)
    shares = even_shares(rings, totals, units)
    return tuple(
        _divided(plan.streams[stream].window_us, slicing, ring, share)
        for stream, (slicing, ring, share) in enumerate(zip(layout.slices, rings, shares, strict=True))
    )


def stream_loads(recorded: Iterable[SliceLoad], streams: int) -> Loads:
    """The load of each stream: the pairs compared with its rows; if there are none at all, its rows."""
    pairs, rows = np.zeros(streams), np.zeros(streams)
    for load in recorded:
        pairs[load.stream] += load.pairs
        rows[load.stream] += load.rows
    return pairs if pairs.any() else rows


def loads_after(before: Iterable[SliceLoad], reported: Iterable[SliceLoad]) -> tuple[SliceLoad, ...]:
    """The loads after a step. The jobs of a step report the same rows; their pairs are added."""
    found = [*reported]
    if not found:
        return tuple(before)
    rows: dict[tuple[int, int], int] = defaultdict(int)
    pairs: dict[tuple[int, int], float] = defaultdict(float)
    for load in before:
        pairs[load.unit, load.stream] = DECAY * load.pairs
    for load in found:
        place = load.unit, load.stream
        rows[place] = max(rows[place], load.rows)
        pairs[place] += load.pairs
    counted = ((place, rows[place], round(pairs[place])) for place in sorted({*rows, *pairs}))
    return tuple(SliceLoad(*place, stored, compared) for place, stored, compared in counted if stored or compared)


def with_loads(plan: JoinPlan, state: SliceState, layout: Layout, reported: Iterable[SliceLoad]) -> SliceState:
    """The state after a step under this layout with these loads, and whether a change is due."""
    if layout.adapt == "off":
        return replace(state, loads=(), due_steps=0, epoch=layout.epoch)
    loads = loads_after(state.loads, reported)
    due = better_balance(plan, layout, loads) is not None
    earlier = state.due_steps if state.epoch == layout.epoch else 0
    return replace(state, loads=loads, due_steps=min(PATIENCE, earlier + 1) if due else 0, epoch=layout.epoch)


def _is_growing(plan: JoinPlan, stream: int, mark: Mark) -> bool:
    """Whether the rows of a stream have not filled its time window yet."""
    window = plan.streams[stream].window_us
    if window is None or mark.newest_us is None or mark.oldest_us is None:
        return False
    return mark.newest_us - mark.oldest_us < window


def _divided(window_us: int | None, slicing: Slicing, ring: Ring, share: Loads) -> Slicing:
    slices = SLICES_PER_UNIT * ring.units
    width = slicing.width_us if window_us is None else max(1, -(-window_us // slices))
    return Slicing(width, ring.units, ring.first, weights_of(share, slices))
