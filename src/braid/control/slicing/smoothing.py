"""Slices of which none has many more rows than others: they are shorter where the rows of a stream are denser.

A slice is never longer than by time: the first step of a burst would be in one slice then. The density of the last
steps is in the manifest, so the slices of a step are fixed before its rows are read, and depend on the record alone.
Rows visit all units, so slices may be cut again at any event time without moving stored rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from braid.placement.slices import turns_of
from braid.plan.durations import brief_us
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Slicing
from braid.state.manifest import Block, DeltaRecord, Manifest
from braid.state.slice_state import Density, SliceState

# The rows of a step weigh half in the next one: slices follow a change of the rate within a step or two.
DECAY = 0.5
# A slice whose length would change by less stays as it is.
MIN_CHANGE = 1.2
# A slice is at most this many times shorter than by time: what little event time a step spans may be chance.
MAX_DENSITY = 16.0
# Slices of a row-based window for each unit of the ring.
SLICES_PER_UNIT = 8


def smooth_slices(plan: JoinPlan, manifest: Manifest, layout: Layout) -> tuple[Layout, tuple[str, ...]]:
    """The layout with slices that have at most about as many rows as others from now on, and what has changed."""
    state = manifest.slice_state
    if layout.slicing != "count" or state is None or not state.densities:
        return layout, ()
    slices, changes = list(layout.slices), []
    first = layout.first_slices or layout.slices
    for stream, (slicing, density) in enumerate(zip(layout.slices, state.densities, strict=True)):
        blocks = [block for block in manifest.blocks if block.stream == stream]
        wanted = smooth_width(plan, stream, slicing, first[stream].width_us, density, blocks)
        if wanted is None or max(wanted, slicing.width_us) < MIN_CHANGE * min(wanted, slicing.width_us):
            continue
        slices[stream] = _cut_at(slicing, wanted, density)
        lengths = f"{brief_us(wanted)} instead of {brief_us(slicing.width_us)}"
        changes.append(f"{plan.streams[stream].name}: slices of {lengths}, for at most as many rows as others")
    return layout.resliced(tuple(slices)), tuple(changes)


def smooth_width(
    plan: JoinPlan, stream: int, slicing: Slicing, first_us: int, density: Density, blocks: Sequence[Block]
) -> int | None:
    """The length of a slice that has at most as many rows as one has on average; None if that is not known.

    Of a row-based window a slice has the same share of the rows, whatever their event times.
    """
    stored = sum(block.rows for block in blocks)
    if density.rows <= 0 or density.span_us <= 0 or stored == 0:
        return None
    window_us, window_rows = plan.streams[stream].window_us, plan.streams[stream].window_rows
    if window_rows is not None:
        slices = sum(slicing.weights) or SLICES_PER_UNIT * slicing.units
        return max(1, round(window_rows / slices * density.span_us / density.rows))
    even = first_us if window_us is None or not slicing.weights else -(-window_us // len(turns_of(slicing)))
    span = max(block.max_time for block in blocks) - min(block.min_time for block in blocks) + 1
    denser = (density.rows / density.span_us) / (stored / span)
    return max(1, round(even / min(max(denser, 1.0), MAX_DENSITY)))


def with_densities(plan: JoinPlan, state: SliceState, delta: DeltaRecord) -> SliceState:
    """The state after a step that read these rows."""
    if delta.layout.slicing != "count":
        return replace(state, densities=())
    known = state.densities or (Density(),) * len(plan.streams)
    after = []
    for stream, density in enumerate(known):
        blocks = [block for block in delta.blocks if block.stream == stream]
        after.append(density_after(density, blocks))
    return replace(state, densities=tuple(after))


def density_after(before: Density, blocks: Sequence[Block]) -> Density:
    """The density after a step with these new rows; rows that are older than others wait until event time goes on."""
    rows = sum(block.rows for block in blocks)
    if rows == 0:
        return before
    newest = max(block.max_time for block in blocks)
    reached = min(block.min_time for block in blocks) - 1 if before.newest_us is None else before.newest_us
    if newest <= reached:
        return replace(before, waiting=before.waiting + rows)
    counted = DECAY * before.rows + before.waiting + rows
    return Density(round(counted, 3), round(DECAY * before.span_us + newest - reached, 3), newest)


def _cut_at(slicing: Slicing, width_us: int, density: Density) -> Slicing:
    """The same from the next event time on, which begins a slice, with slices of another length."""
    newest = density.newest_us or 0
    number = slicing.number + (newest - slicing.start_us) // slicing.width_us + 1
    turn = len(turns_of(slicing))
    return replace(slicing, width_us=width_us, start_us=newest + 1, number=number % turn)
