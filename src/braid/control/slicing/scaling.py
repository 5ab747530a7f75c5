"""Time slices on another number of units: which rings follow it, and what that means for stored rows."""

from __future__ import annotations

from dataclasses import replace

from braid.control.elasticity import Scaling
from braid.control.slicing.relocation import share_moved
from braid.control.slicing.shares import SLICES_PER_UNIT
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Slicing


def on_units(plan: JoinPlan, layout: Layout, units: int) -> Layout:
    """The layout on so many units: the longest rings have all of them, shorter ones stay as they are, if they fit."""
    longest = max(slicing.units for slicing in layout.slices)
    slices = []
    for stream, slicing in enumerate(layout.slices):
        ring = units if slicing.units == longest else min(slicing.units, units)
        window = plan.streams[stream].window_us
        width = slicing.width_us if window is None else max(1, -(-window // (SLICES_PER_UNIT * ring)))
        slices.append(Slicing(width, ring, slicing.first % units))
    # Rings that were chosen for a goal were chosen for the units before.
    scaled = replace(layout, slices=tuple(slices), first_slices=()) if layout.goal else layout.resliced(tuple(slices))
    return replace(scaled, units=(units,), sizes=None)


def is_continued(newest: Layout, chosen: Layout, elastic: bool) -> bool:
    """Whether the newest layout is what became of the chosen one, so that its slices stay.

    If it is `elastic`, that may have been on another number of units.
    """
    if not newest.slices:
        return False
    began = chosen.slices if _rings_stay(chosen, elastic) else newest.first_slices or newest.slices
    units = chosen.units if elastic else newest.units
    return replace(newest, units=units, slices=began, first_slices=()).started_by(chosen)


def continued(newest: Layout, chosen: Layout, elastic: bool) -> Layout:
    """The chosen layout with the slices that the newest one has."""
    first = newest.first_slices if _rings_stay(chosen, elastic) else chosen.slices
    same = replace(chosen, slices=newest.slices, first_slices=() if first == newest.slices else first)
    return replace(same, epoch=newest.epoch, units=newest.units)


def _rings_stay(chosen: Layout, elastic: bool) -> bool:
    """Whether rings that were chosen for a goal stay, whatever a start would choose: steps may have changed them."""
    return chosen.goal is not None and (elastic or chosen.adapt != "off")


def describe_scaling(scaling: Scaling, layout: Layout) -> str:
    """What a change of the number of units is, and how many rows have to move for it at least."""
    change = scaling.after - scaling.before
    verb = f"adds {change} to" if change > 0 else f"removes {-change} of"
    least = float(share_moved(scaling.before, scaling.after))
    moved = f"; at least {least:.0%} of the stored rows move" if layout.adapt == "aggressive" else ""
    return f"time slices: {verb} {scaling.before} units at a load of {scaling.load:.0%}{moved}"
