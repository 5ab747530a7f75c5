"""When the rings of streams get other lengths: by what the steps of an epoch have voted for.

After each step the lengths that are best by what was measured are compared with those in force, and recorded if they
are clearly faster. New lengths are a new epoch of the layout. They come one at a time: new rows visit the units of all
layouts that have rows, so the next change waits until those of older ones have expired or moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from braid.control.fanouts import DECAY, LookupCounts
from braid.control.watermarks import has_filled
from braid.placement.slices import ring_lengths, with_rings
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Manifest
from braid.state.slice_state import Hops, RingVote, SliceState

# Observations keep nine tenths from step to step: after so many, more than half of them are newer than a change.
PATIENCE = 8


@dataclass(frozen=True)
class NewRings:
    """A decision for rings of other lengths: the layout, the lengths before, and how many times faster it should be."""

    layout: Layout
    before: tuple[int, ...]
    gain: float

    def describe(self, names: Sequence[str]) -> str:
        lengths = zip(names, ring_lengths(self.layout), self.before, strict=True)
        rings = ", ".join(f"{name} at {after} instead of {before} units" for name, after, before in lengths)
        moved = "; stored slices move" if self.layout.adapt == "aggressive" else ""
        return f"other rings: {rings}; expected to be {self.gain:.1f} times as fast{moved}"


def decide_lengths(plan: JoinPlan, manifest: Manifest, layout: Layout) -> NewRings | None:
    """The layout with rings of other lengths, if these have been faster for some steps; None: no change."""
    vote = None if manifest.slice_state is None else manifest.slice_state.rings
    if vote is None or vote.times < PATIENCE or layout.adapt == "off" or why_not_yet(plan, manifest, vote) is not None:
        return None
    return NewRings(with_rings(layout, plan, vote.lengths), ring_lengths(layout), vote.gain)


def why_not_yet(plan: JoinPlan, manifest: Manifest, vote: RingVote) -> str | None:
    """What other rings have to wait for, however many steps have voted for them; None: nothing.

    While the stored rows of a stream grow, so does the work: then rings may get longer, but not shorter.
    """
    if len(manifest.layouts) > 1:
        return "there are rows of older layouts"
    shorter = any(new < old for new, old in zip(vote.lengths, ring_lengths(manifest.layout), strict=True))
    if shorter and not all(has_filled(plan, stream, mark) for stream, mark in enumerate(manifest.marks)):
        return "the stored rows of a stream still grow"
    return None


def with_vote(state: SliceState, layout: Layout, better: tuple[tuple[int, ...], float] | None) -> SliceState:
    """The state after a step under this layout, if rings of `better` lengths would be so many times as fast."""
    if better is None:
        return replace(state, rings=None)
    earlier = state.rings.times if state.rings is not None and state.epoch == layout.epoch else 0
    return replace(state, rings=RingVote(*better, min(PATIENCE, earlier + 1)))


def with_hops(state: SliceState, task_seconds: float, lookups: Sequence[LookupCounts]) -> SliceState:
    """The state after a step whose lookups took so many seconds in all tasks; a step without any says nothing."""
    if not lookups:
        return state
    comparing = sum(lookup.seconds for lookup in lookups)
    seconds = DECAY * state.hops.seconds + max(0.0, task_seconds - comparing)
    return replace(state, hops=Hops(round(DECAY * state.hops.lookups + len(lookups), 3), round(seconds, 6)))


def describe_vote(plan: JoinPlan, manifest: Manifest, elastic: bool) -> tuple[str, ...]:
    """The rings that would be faster than those in force, and what they wait for."""
    layout, state = manifest.layout, manifest.slice_state
    vote = None if state is None or state.epoch != layout.epoch else state.rings
    if vote is None or elastic:
        return ()
    rings = ", ".join(f"{stream.name} {units}" for stream, units in zip(plan.streams, vote.lengths, strict=True))
    reason = why_not_yet(plan, manifest, vote)
    when = f"after {PATIENCE} steps in a row that find so, {vote.times} until now"
    if layout.adapt == "off":
        when = "by the next start, since adapt is off"
    elif reason is not None:
        when = f"later, because {reason}"
    return (f"rings of {rings} units would be {vote.gain:.1f} times as fast; they are chosen {when}",)
