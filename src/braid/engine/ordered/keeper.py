"""The order of a step's results: what is admitted, emitted and buffered, and how long rows waited."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from braid.control.ordering import (
    OrderDecision,
    Ordering,
    blend,
    decide_order,
    lookup_delay,
    modelled_delay,
    nothing_buffered,
)
from braid.control.responses import Waits, describe_waits, remember, respond, spread
from braid.control.standing import rows_waiting
from braid.control.watermarks import StepTimes, advance_marks, later
from braid.engine.aggregate.changes import release_changes
from braid.engine.aggregate.update import AggregateUpdate
from braid.engine.cluster import Cluster
from braid.engine.ordered.ranking import Ranked, rank
from braid.engine.ordered.release import Released, buffered_blocks, release
from braid.engine.reports import IngestReport, ProbeReport
from braid.engine.rounds import BufferedResults, Found
from braid.placement.admission import ALWAYS, NEVER, Admission
from braid.plan.instants import iso_time
from braid.plan.join import JoinPlan
from braid.state.manifest import AggregateState, Block, DeltaRecord, Manifest, Mark
from braid.state.order_state import Arrival, ArrivalLog, BufferedBlock, OrderState, Pace, RankIndexFile


@dataclass(frozen=True)
class OrderedStep:
    """The released results and the order state after a step, and the update of an ordered aggregation."""

    released: Released
    order_state: OrderState
    progress: dict[str, Any]
    summed: AggregateUpdate | None


class OrderKeeper:
    """Keeps the results of one query in order.

    Where rounds of several steps `interleave`, the adaptive policy buffers results: what buffered rows see depends on
    the step, so such steps run all their rounds.
    """

    def __init__(self, plan: JoinPlan, cluster: Cluster, ordering: Ordering, run: str, interleave: int = 1) -> None:
        self._plan = plan
        self._cluster = cluster
        self._ordering = ordering
        self._run = run
        adaptive = interleave > 1 and ordering.policy == "adaptive"
        self._deciding = replace(ordering, policy="filter-order") if adaptive else ordering

    def decision(
        self, manifest: Manifest, times: StepTimes, newest: Sequence[int | None], now_ms: int, flush: bool = False
    ) -> OrderDecision:
        """The order decision of a step whose rows reach up to `newest`."""
        marks = advance_marks(manifest.marks, times, newest, now_ms)
        order_state = self.order_state(manifest)
        decision = decide_order(self._plan, self._deciding, order_state, marks, times.idle)
        return replace(decision, flush=True) if flush else decision

    def order_state(self, manifest: Manifest) -> OrderState:
        return manifest.order_state or nothing_buffered(len(self._plan.streams))

    def is_due(self, manifest: Manifest, decision: OrderDecision) -> bool:
        """Whether a step without input would emit something."""
        order_state = self.order_state(manifest)
        if decision.flush and order_state.flushed:
            return False
        before, until = _bound(order_state.frontier_us), release_until(decision.frontier_us, decision.flush)
        spans = [(block.min_time, block.max_time) for block in order_state.results]
        spans += [(block.min_time, block.max_time) for block in manifest.blocks if block.buffered]
        return any(max(before, oldest - 1) < min(until, newest) for oldest, newest in spans)

    def rank(self, manifest: Manifest, delta: DeltaRecord) -> Ranked:
        """Rank the rows that the step admits, for row-based windows."""
        before = self.order_state(manifest)
        if not self._plan.row_based:
            return Ranked()
        return rank(
            self._cluster,
            step=delta.step,
            run=self._run,
            rank_indexes=before.rank_indexes,
            arrival_logs=before.arrival_logs,
            fresh=delta.arrival_logs,
            before_us=_bound(before.frontier_us),
            until_us=release_until(delta.frontier_us, delta.flush),
        )

    def emit(
        self,
        manifest: Manifest,
        delta: DeltaRecord,
        ranked: Ranked,
        aggregate: AggregateState | None,
        looked: Found,
        clock: Callable[[], int],
    ) -> OrderedStep:
        """Release what is due, and compute the order state; `aggregate` is the state of an ordered aggregation.

        The waiting time of emitted results ends with their release.
        """
        before, reports = self.order_state(manifest), looked.reports
        until = release_until(delta.frontier_us, delta.flush)
        found_ms = clock()
        arrivals, found = respond((*before.arrivals, *delta.arrivals), until, found_ms)
        fresh = _fresh_blocks(looked.buffered, delta, _mean_arrival(delta, found, found_ms))
        released, summed = self._release(before, delta, aggregate, reports, fresh)
        now_ms = clock()
        waits = [(wait + now_ms - found_ms, rows) for wait, rows in found]
        frontier = later(before.frontier_us, released.newest_us if delta.flush else delta.frontier_us)
        pace = self._pace(manifest, delta, reports, moved=frontier != before.frontier_us)
        arrival_logs, rank_indexes = self._counting(before, delta, ranked, frontier)
        after = OrderState(
            frontier_us=frontier,
            buffered_kind=delta.buffered_kind,
            results=released.buffered,
            arrivals=remember(arrivals),
            pace=pace,
            arrival_logs=arrival_logs,
            rank_indexes=rank_indexes,
            flushed=delta.flush,
        )
        late = waits if delta.buffered_kind == "rows" else []
        own = {results.file.block.file for results in looked.buffered if results.step == delta.step}
        results = _result_waits(released.counts, (*before.results, *fresh), own, late, now_ms)
        over = [
            arrival_log.file
            for arrival_log in (*before.arrival_logs, *delta.arrival_logs)
            if arrival_log not in arrival_logs
        ]
        released = replace(released, dropped=(*released.dropped, *ranked.replaced, *over))
        return OrderedStep(released, after, self._progress(after, released, waits, results, now_ms), summed)

    def _counting(
        self, before: OrderState, delta: DeltaRecord, ranked: Ranked, frontier_us: int | None
    ) -> tuple[tuple[ArrivalLog, ...], tuple[RankIndexFile, ...]]:
        """The arrival logs without final ranks, and the rank indexes; rows past a flush's frontier are ranked again."""
        arrival_logs = tuple(
            arrival_log
            for arrival_log in (*before.arrival_logs, *delta.arrival_logs)
            if arrival_log.max_time > _bound(frontier_us)
        )
        if not delta.flush:
            return arrival_logs, ranked.rank_indexes
        first = {rank_index.stream: rank_index.first_us for rank_index in before.rank_indexes}
        return arrival_logs, tuple(
            replace(rank_index, first_us=first.get(rank_index.stream)) for rank_index in ranked.rank_indexes
        )

    def _release(
        self,
        before: OrderState,
        delta: DeltaRecord,
        aggregate: AggregateState | None,
        reports: Sequence[ProbeReport],
        fresh: tuple[BufferedBlock, ...],
    ) -> tuple[Released, AggregateUpdate | None]:
        after_us, until_us = _bound(before.frontier_us), release_until(delta.frontier_us, delta.flush)
        if aggregate is not None:
            return release_changes(
                self._plan,
                self._cluster,
                aggregate,
                delta,
                self._run,
                reports,
                buffered=before.results,
                fresh=fresh,
                before_us=after_us,
                until_us=until_us,
            )
        released = release(
            self._cluster,
            step=delta.step,
            run=self._run,
            buffered=before.results,
            fresh=fresh,
            before_us=after_us,
            until_us=until_us,
        )
        return released, None

    def _pace(self, manifest: Manifest, delta: DeltaRecord, reports: Sequence[ProbeReport], moved: bool) -> Pace:
        """The pace after a step. The first step of a run is ignored: its rows came in an unknown time."""
        before = self.order_state(manifest).pace
        if manifest.step < 0 or manifest.run != self._run:
            return before
        busy = _busy(reports, len(self._plan.streams))
        return blend(
            before,
            seconds=max(0.0, (delta.now_ms - manifest.written_ms) / 1000),
            rows=delta.input_rows,
            busy=[sum(by_slot.values()) for by_slot in busy],
            # All rows of a step are emitted at its end, so the slot that takes longest delays every row.
            delays=[max(by_slot.values(), default=0.0) for by_slot in busy],
            compared=sum(lookup.earlier_compared for report in reports for lookup in report.lookups),
            moved=moved,
        )

    def _progress(
        self,
        after: OrderState,
        released: Released,
        waits: Waits,
        results: Waits,
        now_ms: int,
    ) -> dict[str, Any]:
        plan = self._plan
        windows = {stream.window_us for stream in plan.streams}
        window = windows.pop() if len(windows) == 1 else None
        oldest = [a.arrived_ms for a in after.arrivals] + [block.arrived_ms for block in after.results]
        return {
            "numOutputRows": released.rows,
            "held": {
                "rows": {stream.name: rows_waiting(after, stream.number) for stream in plan.streams},
                "results": sum(block.rows for block in after.results),
                "bytes": sum(block.size for block in after.results),
                "oldestMs": max(0, now_ms - min(oldest)) if oldest else 0,
            },
            "order": {
                "policy": self._ordering.policy,
                "alpha": self._ordering.alpha,
                "holds": after.buffered_kind,
                "frontier": iso_time(after.frontier_us),
                "lookupDelay": lookup_delay(after.pace),
                "modelledDelay": modelled_delay(after.pace, window, self._cluster.slots),
                "rowResponse": describe_waits(waits),
                "resultResponse": describe_waits(results),
            },
        }


def admission_of(delta: DeltaRecord, manifest: Manifest) -> Admission:
    """Which rows a step looks up: all new rows, or those up to the frontier."""
    before = None if manifest.order_state is None else manifest.order_state.frontier_us
    now = NEVER if delta.flush or delta.buffered_kind == "results" else _bound(delta.frontier_us)
    return Admission(delta.step, _bound(before), now)


def with_pending_rows(plan: JoinPlan, block: Block, delta: DeltaRecord, frontier_us: int | None) -> Block:
    """A block after a step, marked if some of its rows still wait to be looked up.

    A flush looks up all rows. With row-based windows, rows newer than the last result wait again: rows that arrive
    before them may still be counted.
    """
    waits = (
        delta.buffered_kind == "rows"
        and block.max_time > _bound(frontier_us)
        and (bool(plan.row_based) or not delta.flush)
    )
    fresh = block.last_step == delta.step
    return replace(block, buffered=waits and (fresh or block.buffered))


def marks_after_flush(plan: JoinPlan, marks: Sequence[Mark], frontier_us: int | None) -> tuple[Mark, ...]:
    """The marks after a flush: rows earlier than the last emitted result are late.

    Where results are emitted per timestamp, rows of the same time are late too.
    """
    first = frontier_us if frontier_us is None or not plan.per_timestamp else frontier_us + 1
    return tuple(replace(mark, watermark_us=later(mark.watermark_us, first)) for mark in marks)


def arrivals_of(reports: Sequence[IngestReport], now_ms: int) -> tuple[Arrival, ...]:
    """The arrival times of a step's stored rows, from the samples of its tasks."""
    return tuple(Arrival(now_ms, report.kept, report.times, report.stream) for report in reports if report.times)


def arrival_logs_of(reports: Sequence[IngestReport]) -> tuple[ArrivalLog, ...]:
    """The arrival logs of a step's streams with row-based windows."""
    return tuple(report.arrival_log for report in reports if report.arrival_log is not None)


def release_until(frontier_us: int | None, flush: bool) -> int:
    return NEVER if flush else _bound(frontier_us)


def _bound(frontier_us: int | None) -> int:
    return ALWAYS if frontier_us is None else frontier_us


def _mean_arrival(delta: DeltaRecord, waits: Waits, now_ms: int) -> int:
    """The mean arrival time of the rows behind a step's results: this step, or the mean of rows that waited."""
    rows = sum(count for _, count in waits)
    if delta.buffered_kind == "results" or not rows:
        return delta.now_ms
    return now_ms - round(sum(wait * count for wait, count in waits) / rows)


def _fresh_blocks(found: Sequence[BufferedResults], delta: DeltaRecord, own_ms: int) -> tuple[BufferedBlock, ...]:
    """What a step has found. Its own rows arrived at `own_ms` on average, those of trailing rounds with their step."""
    return tuple(
        block
        for results in found
        for block in buffered_blocks([results.file], own_ms if results.step == delta.step else results.arrived_ms)
    )


def _result_waits(
    counts: dict[str, int], blocks: Sequence[BufferedBlock], own: Collection[str], rows: Waits, now_ms: int
) -> Waits:
    """How long the emitted results have waited since their rows arrived.

    `own` files have what the rows of the step found. If `rows` waited, these results waited as long as they did.
    """
    of_rows = own if rows else ()
    known = [
        (float(max(0, now_ms - block.arrived_ms)), float(counts.get(block.file, 0)))
        for block in blocks
        if block.file not in of_rows
    ]
    return [*known, *spread(sum(counts.get(file, 0) for file in of_rows), rows)]


def _busy(reports: Sequence[ProbeReport], streams: int) -> list[dict[int, float]]:
    """The seconds that each delta stream's lookups took among rows of earlier steps, on each slot.

    Rows of one step find each other in the lookups of the plan's last stream, and no policy changes that.
    """
    busy: list[dict[int, float]] = [{} for _ in range(streams)]
    for report in reports:
        for lookup in report.lookups:
            by_slot = busy[lookup.delta_stream]
            by_slot[report.slot] = by_slot.get(report.slot, 0.0) + lookup.earlier_seconds
    return busy
