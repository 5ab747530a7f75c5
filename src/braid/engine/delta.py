"""The delta record: what a step has read and decided, before it acts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from braid.control.idleness import SourceCheck
from braid.control.keeping import split_expired
from braid.control.layouts import Spread
from braid.control.number_samples import add_samples
from braid.control.ordering import OrderDecision
from braid.control.paths import PathDecision, decide_paths, rows_to_sample
from braid.control.ranging import decide_ranges
from braid.control.skew import add_counts
from braid.control.slicing.terms import frontier_before, term_of, unfinished_after
from braid.control.watermarks import StepTimes, latest_times
from braid.engine.commands import IngestCommand
from braid.engine.ordered.keeper import admission_of, arrival_logs_of, arrivals_of
from braid.engine.reports import IngestReport
from braid.engine.row_ids import RowIds
from braid.engine.sites.ingest import ingest_sent
from braid.optimizer.check_orders import choose_check_order
from braid.optimizer.paths import access_paths, sampled_expressions
from braid.optimizer.payloads import changes_of, choose_payloads, streams_apart
from braid.optimizer.semijoins.choice import ChooseSequences
from braid.optimizer.sequences import best_orders
from braid.optimizer.trees import in_shape, tree_orders
from braid.placement.covering import decide_covers
from braid.placement.units import routes_stay_local
from braid.plan.join import JoinPlan, SortOrder
from braid.plan.layout import Layout
from braid.state.blocks import WrittenBlock
from braid.state.checkpoint import identity_of
from braid.state.manifest import Block, DeltaRecord, Manifest, Move, stored_block
from braid.state.observed.samples import KeyCounts, NumberSample
from braid.state.usage import Usage

Reports = Sequence[IngestReport]


@dataclass(frozen=True)
class Offer:
    """A batch from Spark: its number, whether it is the last, the last source check, and its identity."""

    batch: int
    flush: bool
    check: SourceCheck | None
    planned: str | None


@dataclass(frozen=True)
class Start:
    """How a step begins: its batch as Spark planned it, the clock, watermarks, where new rows are stored, row ids.

    `sort_orders` are those of the step before.
    """

    batch: int
    planned: str | None
    now_ms: int
    times: StepTimes
    spread: Spread
    row_ids: RowIds
    sort_orders: tuple[SortOrder, ...]


def ingest_command(plan: JoinPlan, manifest: Manifest, run: str, start: Start, tasks: int) -> IngestCommand:
    """What the ingest tasks of the step after `manifest` do; there are so many."""
    return IngestCommand(
        step=manifest.step + 1,
        run=run,
        watermarks=start.times.watermarks,
        layout=start.spread.layout,
        newest_us=latest_times(plan, start.now_ms),
        row_ids=start.row_ids,
        sort_orders=start.sort_orders,
        sampled_rows=rows_to_sample(tasks),
        payloads_apart=streams_apart(choose_payloads(plan, start.spread.layout, manifest)),
    )


def delta_of(
    plan: JoinPlan,
    manifest: Manifest,
    run: str,
    start: Start,
    decision: OrderDecision | None,
    reports: Reports,
    choose: ChooseSequences | None = None,
) -> DeltaRecord:
    """The record of the step after `manifest`, from the reports of its ingest tasks."""
    start = start if any(report.block is not None for report in reports) else _without_push(start, manifest)
    step, ingested = manifest.step + 1, start.spread.layout
    samples = _number_samples(plan, manifest, ingested, reports)
    layout, chosen = _first_ranges(plan, manifest, ingested, samples)
    paths = _decide_paths(plan, manifest, start, reports)
    delta = DeltaRecord(
        step=step,
        batch=start.batch,
        run=run,
        now_ms=start.now_ms,
        watermarks=start.times.watermarks,
        idle=start.times.idle,
        layout=layout,
        read_under=None if layout is ingested else ingested,
        join_orders=_join_orders(in_shape(plan, layout.tree), manifest),
        check_order=choose_check_order(plan, manifest.check_costs),
        blocks=tuple(_ingested(report, report.block, step, start) for report in reports if report.block is not None),
        newest=newest_times(plan, reports),
        input_rows=tuple(sum(r.rows for r in reports if r.stream == stream.number) for stream in plan.streams),
        late_rows=tuple(sum(r.late_rows for r in reports if r.stream == stream.number) for stream in plan.streams),
        late_files=_late_moves(plan, reports, step, start.now_ms),
        next_row_id=start.row_ids.first_after(report.rows for report in reports),
        ingest=tuple(sum((r.usage for r in reports if r.stream == s.number), Usage()) for s in plan.streams),
        adaptations=(*start.spread.adaptations, *chosen, *paths.adaptations, *_adaptations(decision)),
        key_counts=_key_counts(plan, manifest, layout, reports),
        number_samples=samples,
        sort_orders=paths.sort_orders,
        path_shares=paths.shares,
        follows=identity_of(manifest),
        planned=start.planned,
    )
    delta = _with_memory(_with_payloads(plan, manifest, delta, ingested, reports), start.spread)
    delta = _with_covers(plan, manifest, delta if decision is None else _with_decision(delta, decision, reports))
    return replace(_with_sequences(manifest, delta, choose), ingest_sent=ingest_sent(plan, layout, reports))


def _adaptations(decision: OrderDecision | None) -> tuple[str, ...]:
    return () if decision is None else decision.adaptations


def _with_memory(delta: DeltaRecord, spread: Spread) -> DeltaRecord:
    """What the controllers of memory decided, and when they look again."""
    return replace(
        delta,
        memory=spread.memory,
        pushed=spread.pushed,
        sample_ends=spread.sample_ends,
        pressures=spread.pressures,
        checked_ms=spread.checked_ms,
    )


def _without_push(start: Start, manifest: Manifest) -> Start:
    """The start of a step without rows: it has no lookups, before which groups could be put apart."""
    if not start.spread.pushed:
        return start
    return replace(start, spread=Spread(start.spread.layout, (), (), manifest.checked_ms))


def interleaved(plan: JoinPlan, manifest: Manifest, delta: DeltaRecord, most: int, slots: int) -> DeltaRecord:
    """The record with how many steps, at most so many, may be under way; ordered results wait for what is unfinished.

    A step without input, a flush and a change of the layout finish all terms. So do steps with buffered rows, since
    what a term sees of them depends on the frontier of its step; trees, whose rounds store rows that later steps look
    up; and layouts whose routes stay in their slots, where one job runs all rounds.
    """
    whole = (
        delta.flush
        or delta.batch == manifest.batch
        or delta.layout.epoch != manifest.layout.epoch
        or delta.layout.tree is not None
        or delta.buffered_kind == "rows"
        or any(block.buffered for block in manifest.blocks)
        or routes_stay_local(delta.layout, len(plan.streams), slots)
    )
    interleave = 1 if whole else most
    terms = (*manifest.terms, *([term_of(delta)] if delta.blocks else []))
    before = None if manifest.order_state is None else manifest.order_state.frontier_us
    frontier = frontier_before(plan, unfinished_after(terms, interleave), before, delta.frontier_us)
    return replace(delta, interleave=interleave, frontier_us=frontier)


def _with_sequences(manifest: Manifest, delta: DeltaRecord, choose: ChooseSequences | None) -> DeltaRecord:
    """The record with the sequences between sites, where its layout has any."""
    if delta.layout.kind != "sites" or choose is None:
        return replace(delta, site_plan=None)
    choice = choose(manifest)
    orders = tuple(tuple(step.stream for step in sequence.steps) for sequence in choice.plan.sequences)
    adaptations = (*delta.adaptations, *choice.adaptations)
    return replace(delta, site_plan=choice.plan, join_orders=orders, adaptations=adaptations)


def for_storage_of(
    plan: JoinPlan,
    chosen: Layout,
    manifest: Manifest,
    delta: DeltaRecord,
    choose: ChooseSequences | None = None,
) -> tuple[Manifest, DeltaRecord]:
    """A step that was recorded by a query with other keys or sort orders, as the `chosen` layout continues it.

    Its rows become rows of an older layout, which every row visits. This follows from the record and the query alone,
    so a replay decides the same; without such a difference both records are returned unchanged.
    """
    if delta.layout.stored_as == chosen.stored_as:
        return manifest, delta
    tree = delta.layout.tree if chosen.tree is not None and delta.layout.tree is not None else chosen.tree
    layout = replace(chosen, epoch=max(delta.layout.epoch, manifest.layout.epoch) + 1, tree=tree)
    older = [known for known in manifest.layouts if known.epoch != delta.layout.epoch]
    # The last one is the layout of the manifest, whose tree its intermediate results have.
    layouts = (delta.layout, *older) if delta.layout.epoch > manifest.layout.epoch else (*older, delta.layout)
    join_orders = _join_orders(in_shape(plan, tree), manifest)
    delta = replace(delta, layout=layout, join_orders=join_orders, key_counts=(), number_samples=(), path_shares=())
    delta = replace(delta, covers=())  # no row is stored under the new layout yet
    manifest = replace(manifest, layouts=layouts)
    delta = _with_sequences(manifest, delta, choose)
    return manifest, replace(delta, sort_orders=(SortOrder(),) * len(plan.streams))


def newest_times(plan: JoinPlan, reports: Reports) -> tuple[int | None, ...]:
    """The largest event time of each stream's new rows; None: no rows."""
    return tuple(
        max((r.newest_us for r in reports if r.stream == stream.number and r.newest_us is not None), default=None)
        for stream in plan.streams
    )


def sort_orders_of(plan: JoinPlan, manifest: Manifest, spread: Spread) -> tuple[SortOrder, ...]:
    """The sort orders of the step before; for rows that are stored otherwise now, those that a query begins with."""
    same = manifest.layout.stored_as == spread.layout.stored_as
    return (manifest.sort_orders if same else ()) or (SortOrder(),) * len(plan.streams)


def _decide_paths(plan: JoinPlan, manifest: Manifest, start: Start, reports: Reports) -> PathDecision:
    layout = start.spread.layout
    known = manifest.path_shares if manifest.layout.stored_as == layout.stored_as else ()
    samples = [[r.sample for r in reports if r.stream == stream.number] for stream in plan.streams]
    expressions = [sampled_expressions(plan, stream.number) for stream in plan.streams]
    return decide_paths(plan, access_paths(plan), expressions, layout, start.sort_orders, known, samples)


def _ingested(report: IngestReport, block: WrittenBlock, step: int, start: Start) -> Block:
    """An ingest file as a block, in the sort order in which its rows were written."""
    layout = start.spread.layout
    return stored_block(
        block,
        report.stream,
        (step, step),
        layout.epoch,
        report.units,
        is_sorted=report.units is not None or not layout.by_value,
        choices=start.sort_orders[report.stream].choices,
        copies=report.copies,
        addressed=report.payload is not None,
    )


def _with_payloads(
    plan: JoinPlan, manifest: Manifest, delta: DeltaRecord, layout: Layout, reports: Reports
) -> DeltaRecord:
    """The record with what ingest tasks have stored of payloads, and what was decided of them."""
    payloads = tuple(report.payload for report in reports if report.payload is not None)
    read = {report.stream for report in reports if report.kept}
    # With a shuffle rows are stored once, with their payloads, whatever was chosen.
    apart = (set(manifest.payloads_apart) - read) | {payload.stream for payload in payloads}
    choices = [choice for choice in choose_payloads(plan, layout, manifest) if choice.apart == (choice.stream in apart)]
    return replace(
        delta,
        payloads=payloads,
        payload_widths=_payload_widths(plan, manifest, reports),
        payloads_apart=tuple(sorted(apart)),
        adaptations=(*delta.adaptations, *changes_of(plan, manifest.payloads_apart, choices)),
    )


def _payload_widths(plan: JoinPlan, manifest: Manifest, reports: Reports) -> tuple[float, ...]:
    """The bytes of a row's payload in each stream: those of this step, or as known where it has no rows."""
    known = manifest.payload_widths or (0.0,) * len(plan.streams)
    found = []
    for stream in plan.streams:
        own = [report for report in reports if report.stream == stream.number]
        rows, size = sum(report.kept for report in own), sum(report.payload_bytes for report in own)
        found.append(round(size / rows, 1) if rows else known[stream.number])
    return tuple(found)


def _with_covers(plan: JoinPlan, manifest: Manifest, delta: DeltaRecord) -> DeltaRecord:
    """The record with the copies that its lookups visit, where its layout leaves a choice."""
    if delta.layout.kind != "coordinated":
        return delta
    began = time.thread_time()
    shape = in_shape(plan, manifest.layout.tree)
    live = (*split_expired(shape, manifest, delta.watermarks)[0], *delta.blocks)
    known = manifest.unit_pairs if manifest.layout.epoch == delta.layout.epoch else ()
    covers = decide_covers(plan, delta.layout, live, admission_of(delta, manifest), known)
    return replace(delta, covers=covers, covering_seconds=time.thread_time() - began)


def _with_decision(delta: DeltaRecord, decision: OrderDecision, reports: Reports) -> DeltaRecord:
    return replace(
        delta,
        frontier_us=decision.frontier_us,
        buffered_kind=decision.buffered_kind,
        flush=decision.flush,
        arrivals=arrivals_of(reports, delta.now_ms),
        arrival_logs=arrival_logs_of(reports),
    )


def _join_orders(plan: JoinPlan, manifest: Manifest) -> tuple[tuple[int, ...], ...]:
    """The probe order of each delta stream: given by the tree, or the best sequence by what was observed."""
    return best_orders(plan, manifest.fanouts, manifest.check_costs) if plan.tree is None else tree_orders(plan)


def _key_counts(plan: JoinPlan, manifest: Manifest, layout: Layout, reports: Reports) -> tuple[KeyCounts, ...]:
    known = manifest.key_counts if manifest.layout.stored_as == layout.stored_as else ()
    before = known or (KeyCounts(),) * len(plan.streams)
    seen = [[r.keys for r in reports if r.stream == stream.number] for stream in plan.streams]
    return tuple(add_counts(*pair) for pair in zip(before, seen, strict=True))


def _number_samples(plan: JoinPlan, manifest: Manifest, layout: Layout, reports: Reports) -> tuple[NumberSample, ...]:
    if layout.ranges is None:
        return ()
    known = manifest.number_samples if manifest.layout.stored_as == layout.stored_as else ()
    before = known or (NumberSample(),) * len(plan.streams)
    seen = [[r.numbers for r in reports if r.stream == stream.number] for stream in plan.streams]
    return tuple(add_samples(*pair) for pair in zip(before, seen, strict=True))


def _first_ranges(
    plan: JoinPlan, manifest: Manifest, layout: Layout, samples: Sequence[NumberSample]
) -> tuple[Layout, tuple[str, ...]]:
    """The layout of the step, with its first ranges if the rows just read suffice to choose them.

    The slots place the rows when they gather them. Otherwise all later rows would visit all units, as long as these
    rows live. The layout that they were read under must be in the records.
    """
    if layout.has_ranges or layout.epoch != manifest.layout.epoch:
        return layout, ()
    ranging = decide_ranges(layout, samples, len(manifest.layouts))
    if ranging is None:
        return layout, ()
    adaptation = ranging.describe([stream.name for stream in plan.streams])
    return replace(ranging.layout, epoch=layout.epoch + 1), (adaptation,)


def _late_moves(plan: JoinPlan, reports: Reports, step: int, now_ms: int) -> tuple[Move, ...]:
    moves = []
    for number, report in enumerate(report for report in reports if report.late_file is not None):
        stream = plan.streams[report.stream].name
        target = f"late/{stream}/{now_ms:015d}-{step:012d}-{number}.parquet"
        moves.append(Move(f"staging/{report.late_file}", target, inside=True))
    return tuple(moves)
