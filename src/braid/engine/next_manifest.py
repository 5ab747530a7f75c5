"""The manifest that commits a step: the state after it, from the state before and what the step did."""

from __future__ import annotations

from dataclasses import replace

from braid.control.compaction import durations_after, paces_after
from braid.control.fanouts import check_costs_after, fanouts_after
from braid.control.keeping import needed_payloads
from braid.control.memory.adapting import begin_sample, groups_after
from braid.control.memory.deferring import begin_parts, with_clean_up
from braid.control.sizing import work_after
from braid.control.slicing.balancing import with_loads
from braid.control.slicing.lengths import with_hops, with_vote
from braid.control.slicing.smoothing import with_densities
from braid.control.watermarks import StepTimes, advance_marks
from braid.engine.compaction import merge_times, slot_times
from braid.engine.loads import subgroup_loads, unit_pairs
from braid.engine.ordered.keeper import OrderedStep, marks_after_flush, with_pending_rows
from braid.engine.probe import LookedUp, layouts_of
from braid.optimizer.ring_estimates import better_rings
from braid.optimizer.trees import derivation
from braid.placement.units import are_sliced
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import DeltaRecord, Manifest, Mark, Move
from braid.state.observed.groups import GroupLoad, GroupState, Push
from braid.state.slice_state import SliceState


def next_manifest(
    plan: JoinPlan, before: Manifest, delta: DeltaRecord, run: str, looked: LookedUp, moves: tuple[Move, ...]
) -> Manifest:
    """The state after a step; the aggregate and order state are still those before it."""
    layouts, times = layouts_of(before, delta, looked.blocks), StepTimes(delta.watermarks, delta.idle)
    manifest = Manifest(
        step=delta.step,
        batch=delta.batch,
        run=run,
        written_ms=delta.now_ms,
        marks=advance_marks(before.marks, times, delta.newest, delta.now_ms, delta.blocks),
        layouts=layouts,
        blocks=looked.blocks,
        next_row_id=delta.next_row_id,
        moves=(*delta.late_files, *moves),
        dropped=looked.dropped,
        unfinished=looked.unfinished,
        terms=looked.terms,
        merge_paces=paces_after(before.merge_paces, merge_times(looked.found.reports)),
        slot_seconds=durations_after(before.slot_seconds, slot_times(looked.found.reports)),
        work_seconds=work_after(
            before.work_seconds,
            [report.usage.cpu for report in looked.found.reports],
            same_units=delta.layout.units == before.layout.units,
        ),
        fanouts=fanouts_after(looked.plan, before, looked.found.lookups),
        check_costs=check_costs_after(before.check_costs, looked.found.checks),
        aggregate=before.aggregate,
        order_state=before.order_state,
        groups=_groups(before, delta, looked),
        sites=looked.sites,
        unit_pairs=unit_pairs(before, delta.layout, looked.found.units),
        loads=subgroup_loads(plan, layouts, looked.found.units) or before.loads,
        pressures=delta.pressures,
        checked_ms=delta.checked_ms,
        derivation=derivation(looked.plan),
        key_counts=delta.key_counts,
        number_samples=delta.number_samples,
        sort_orders=delta.sort_orders,
        path_shares=delta.path_shares,
        late_rows=_late_rows(before, delta),
        planned=delta.planned,
    )
    manifest = replace(manifest, slice_state=_slice_state(plan, before, delta, looked, manifest))
    return _with_payloads(before, delta, manifest)


def _with_payloads(before: Manifest, delta: DeltaRecord, manifest: Manifest) -> Manifest:
    """The state with the payload files that its rows have addresses in."""
    known = (*before.payloads, *delta.payloads)
    payloads, unneeded = needed_payloads(known, manifest.blocks, manifest.terms, manifest.step)
    widths, apart = delta.payload_widths, delta.payloads_apart
    dropped = (*manifest.dropped, *unneeded)
    return replace(manifest, payloads=payloads, payload_widths=widths, payloads_apart=apart, dropped=dropped)


def before_first_step(plan: JoinPlan, run: str, layout: Layout, now_ms: int) -> Manifest:
    """The state of a query that has stored nothing yet."""
    marks = tuple(Mark(None, None, now_ms) for _ in plan.streams)
    return Manifest(-1, -1, run, now_ms, marks, (layout,), (), next_row_id=0)


def _slice_state(
    plan: JoinPlan, before: Manifest, delta: DeltaRecord, looked: LookedUp, after: Manifest
) -> SliceState | None:
    """What is known of time slices after a step; other rows, or other units, tell nothing of them but of hops."""
    if delta.layout.kind != "time_sliced":
        return None
    known, reports = before.slice_state or SliceState(), looked.found.reports
    same = are_sliced(before.layout, delta.layout) and before.layout.units == delta.layout.units
    merging = sum(merge.seconds for report in reports for merge in report.merged)
    seconds = sum(report.usage.seconds for report in reports) - merging
    lookups = [lookup for report in reports for lookup in report.lookups if lookup.probes]
    state = with_hops(known if same else SliceState(hops=known.hops), seconds, lookups)
    state = with_vote(state, delta.layout, better_rings(plan, replace(after, slice_state=state)))
    state = with_loads(plan, state, delta.layout, (load for report in reports for load in report.loads))
    return with_densities(plan, state, delta)


def _groups(before: Manifest, delta: DeltaRecord, looked: LookedUp) -> GroupState | None:
    """What is known of partition groups after a step."""
    count = len(delta.layout.group_units)
    if count == 0:
        return None
    known, reports = before.groups, looked.found.reports
    if known is not None:
        known = begin_sample(known) if delta.sample_ends else known
        known = begin_parts(known, Push(delta.step, delta.pushed, delta.watermarks)) if delta.pushed else known
    counted = (
        (g.group, GroupLoad(g.size, g.results, 0, 0, g.pushed_rows, g.pushed_size), g.inserted)
        for report in reports
        for g in report.groups
    )
    state = groups_after(known, count, counted, delta.now_ms, delta.memory)
    cleaned_rows = 0 if known is None else sum(known.loads[group].pushed_rows for group in delta.cleaned)
    return with_clean_up(state, delta.cleaned, cleaned_rows, max(slot_times(reports), default=0.0))


def _late_rows(before: Manifest, delta: DeltaRecord) -> tuple[int, ...]:
    """The late rows of each stream so far."""
    known = before.late_rows or (0,) * len(delta.late_rows)
    return tuple(earlier + late for earlier, late in zip(known, delta.late_rows, strict=True))


def with_order(plan: JoinPlan, manifest: Manifest, delta: DeltaRecord, ordered: OrderedStep) -> Manifest:
    """The manifest with the order state after the step."""
    marks = marks_after_flush(plan, manifest.marks, ordered.order_state.frontier_us) if delta.flush else manifest.marks
    return replace(
        manifest,
        marks=marks,
        blocks=tuple(
            with_pending_rows(plan, block, delta, ordered.order_state.frontier_us)
            if block.stream < len(plan.streams)
            else block
            for block in manifest.blocks
        ),
        order_state=ordered.order_state,
        dropped=(*manifest.dropped, *ordered.released.dropped),
    )
