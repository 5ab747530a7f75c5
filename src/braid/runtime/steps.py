"""Steps: how a batch becomes results and committed state, exactly once.

The commit steps are numbered in `StepRunner.run` and `_complete`. A tick is a step without input. Whatever a step
decides is written in its delta record before it acts, so a replay repeats the same step; the manifest commits it;
publishing and sweeping may be repeated at will.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from braid.control.elasticity import Elasticity
from braid.control.layouts import Spread, next_layout
from braid.control.merging import Merge, decide_merges, decide_moves
from braid.control.ordering import Ordering
from braid.control.views import new_view
from braid.control.watermarks import StepTimes, advance_marks, decide_times, is_expired, lookup_marks
from braid.errors import RecoveryError
from braid.optimizer.sequences import Order, choose_orders
from braid.optimizer.trees import derivation, in_shape, tree_orders
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.runtime.cluster import Cluster
from braid.runtime.loads import subgroup_loads
from braid.runtime.ordering import (
    InOrder,
    OrderKeeper,
    admission_of,
    arrivals_of,
    outnumbered,
    raised,
    rolls_of,
    settled,
)
from braid.runtime.orders import IngestOrder, ProbeOrder
from braid.runtime.progress import Phases, step_progress
from braid.runtime.ranking import Ranked
from braid.runtime.rebuilding import rebuild_derived
from braid.runtime.rounds import Found, require_success, run_rounds
from braid.runtime.sinks import Sink
from braid.runtime.summaries import Summed, update_view
from braid.state.checkpoint import Checkpoint
from braid.state.manifest import Block, DeltaRecord, Fanout, Manifest, Mark, Move, View
from braid.state.waiting import RulerFile

MERGE_ROWS_A_STEP = 1_000_000
FADING = 0.9
NOTHING = Found([], (), (), (), 0)


class StepRunner:
    """Runs the steps of one query, one at a time."""

    def __init__(
        self,
        plan: JoinPlan,
        checkpoint: Checkpoint,
        cluster: Cluster,
        sink: Sink,
        run: str,
        layout: Layout,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
        elasticity: Elasticity | None = None,
        ordering: Ordering | None = None,
    ) -> None:
        self._plan = plan
        self._checkpoint = checkpoint
        self._cluster = cluster
        self._sink = sink
        self._run = run
        self._now_ms = now_ms
        self._layout = layout
        self._elasticity = elasticity
        self._keeper = OrderKeeper(plan, cluster, ordering, run) if ordering is not None else None
        self.manifest = self._recover()

    def run(self, batch: int, flush: bool = False) -> dict[str, Any] | None:
        """The step of a Spark batch; None when it was committed before and only had to be published.

        With `flush` nothing is expected after it, and nothing waits.
        """
        if batch <= self.manifest.batch:
            return None
        phases = Phases()
        # 1. Ingest, or what an interrupted run of this step already fixed; a tick that was cut short comes first.
        with phases.phase("ingest"):
            delta = self._checkpoint.read_delta(self.manifest.step + 1)
            if delta is not None and delta.batch < batch:
                self._complete(delta, Phases())
                delta = None
            if delta is None:
                delta = self._ingest(batch, flush)
        return self._complete(delta, phases)

    def tick(self) -> dict[str, Any] | None:
        """A step without input, if one is due: streams fell idle, and rows wait for them in vain. None if not."""
        phases = Phases()
        delta = self._checkpoint.read_delta(self.manifest.step + 1)
        if delta is not None:
            return self._complete(delta, phases) if delta.batch == self.manifest.batch else None
        now = self._now_ms()
        times = decide_times(self._plan, self.manifest.marks, now)
        if not any(times.idle) or not (self._split_expired(times.watermarks)[1] or self._release_is_due(times, now)):
            return None
        delta = self._fix(self.manifest.batch, now, times, self._next_layout(now), [])
        return self._complete(delta, phases)

    def flush(self) -> dict[str, Any] | None:
        """A step without input that lets everything out that waits for its order; None if nothing does."""
        delta = self._checkpoint.read_delta(self.manifest.step + 1)
        if delta is not None and delta.batch > self.manifest.batch:
            raise RecoveryError(
                f"Batch {delta.batch} was taken in but not finished, so nothing can be let out before it.",
                hint="Start the query again: it finishes the batch first.",
            )
        if delta is not None:
            self._complete(delta, Phases())
        now = self._now_ms()
        times = decide_times(self._plan, self.manifest.marks, now)
        if not self._release_is_due(times, now, flush=True):
            return None
        delta = self._fix(self.manifest.batch, now, times, self._next_layout(now), [], flush=True)
        return self._complete(delta, Phases())

    def _release_is_due(self, times: StepTimes, now_ms: int, flush: bool = False) -> bool:
        if self._keeper is None:
            return False
        nothing = [None] * len(self._plan.streams)
        return self._keeper.is_due(self.manifest, self._keeper.turn(self.manifest, times, nothing, now_ms, flush))

    def _complete(self, delta: DeltaRecord, phases: Phases) -> dict[str, Any]:
        """From the delta record to the end of the step."""
        previous = self.manifest
        # 2. Probe, and hand results to a sink that is not files.
        with phases.phase("probe"):
            plan = in_shape(self._plan, delta.layout.tree)
            live, gone = self._live_blocks(plan, delta)
            ranked = Ranked() if self._keeper is None else self._keeper.rank(self.manifest, delta)
            rebuilt = self._rebuild(plan, delta, live)
            live = (*live, *rebuilt.derived)
            found = self._probe(plan, delta, live, ranked.rulers)
            summed = self._update_view(delta, found.reports)
            leaving = found.reports if summed is None else summed.reports
            ordered = self._let_out(delta, ranked, leaving)
        with phases.phase("sink"):
            files = [file for report in leaving for file in report["files"]]
            if ordered is not None and self._plan.ordered:
                files = ordered.released.files
            moves = self._sink.deliver(delta.step, files)
        # 3. Commit.
        with phases.phase("commit"):
            dropped = (*(block.file for block in gone), *rebuilt.carried, *found.merged, *found.carried)
            manifest = self._next_manifest(plan, delta, live, found, moves, dropped)
            carried = rebuilt.carried_bytes + found.carried_bytes
            progress = step_progress(plan, delta, manifest, found.reports, carried, phases)
            if summed is not None:
                manifest = replace(manifest, view=summed.view, dropped=(*manifest.dropped, *summed.dropped))
                progress |= summed.progress(progress["bytesMoved"])
            if ordered is not None:
                manifest = _in_order(self._plan, manifest, delta, ordered)
                progress |= ordered.progress if self._plan.ordered else {}
            manifest = replace(manifest, progress=progress)
            self._checkpoint.write_manifest(manifest)
            self.manifest = manifest
            # 4. Publish.
            self._publish(manifest)
            # 5. Forget what no kept record needs.
            self._checkpoint.forget(manifest, previous)
        return {**progress, "durationMs": phases.milliseconds()}

    def _recover(self) -> Manifest:
        """The state to go on from: the last manifest, its results published, what nothing names swept."""
        manifest = self._checkpoint.last_manifest()
        delta = self._checkpoint.read_delta(manifest.step + 1 if manifest else 0)
        self._checkpoint.sweep(manifest, delta)
        if manifest is not None:
            self._publish(manifest)
            self._sink.sweep({move.source for move in manifest.moves})
            return manifest
        self._sink.sweep(set())
        now = self._now_ms()
        marks = tuple(Mark(None, None, now) for _ in self._plan.streams)
        return Manifest(-1, -1, self._run, now, marks, (self._layout,), ())

    def _next_layout(self, now_ms: int) -> Spread:
        """The layout new rows are stored under, and what was adapted for it."""
        return next_layout(self._plan, self.manifest, self._layout, self._elasticity, now_ms)

    def _layouts(self, delta: DeltaRecord, blocks: Sequence[Block]) -> tuple[Layout, ...]:
        """The layouts that hold rows, the step's own last."""
        epochs = {block.epoch for block in blocks}
        older = [x for x in self.manifest.layouts if x.epoch in epochs and x.epoch != delta.layout.epoch]
        return (*older, delta.layout)

    def _ingest(self, batch: int, flush: bool) -> DeltaRecord:
        """Take the rows of a batch in, and fix the step."""
        now = self._now_ms()
        times = decide_times(self._plan, self.manifest.marks, now)
        spread = self._next_layout(now)
        step = self.manifest.step + 1
        reports = self._cluster.ingest(IngestOrder(step, self._run, times.watermarks, spread.layout))
        require_success(self._plan, reports, step)
        return self._fix(batch, now, times, spread, reports, flush)

    def _fix(
        self,
        batch: int,
        now_ms: int,
        times: StepTimes,
        spread: Spread,
        reports: list[dict[str, Any]],
        flush: bool = False,
    ) -> DeltaRecord:
        """Write down what the step has decided and taken in."""
        step, layout = self.manifest.step + 1, spread.layout
        newest = tuple(_newest(reports, stream.number) for stream in self._plan.streams)
        turn = None if self._keeper is None else self._keeper.turn(self.manifest, times, newest, now_ms, flush)
        delta = DeltaRecord(
            step=step,
            batch=batch,
            run=self._run,
            now_ms=now_ms,
            watermarks=times.watermarks,
            idle=times.idle,
            layout=layout,
            orders=self._choose_orders(layout),
            blocks=tuple(_input_block(report, step, layout.epoch) for report in reports if report["block"]),
            newest=newest,
            input_rows=tuple(_total(reports, stream.number, "rows") for stream in self._plan.streams),
            late_rows=tuple(_total(reports, stream.number, "late") for stream in self._plan.streams),
            late_files=self._late_moves(reports, step, now_ms),
            moved_bytes=sum(report["block"]["size"] for report in reports if report["block"]),
            adaptations=(*spread.adaptations, *(() if turn is None else turn.adaptations)),
            pressures=spread.pressures,
            checked_ms=spread.checked_ms,
        )
        if turn is not None:
            delta = replace(
                delta,
                frontier_us=turn.frontier_us,
                holds=turn.holds,
                flush=turn.flush,
                arrivals=arrivals_of(reports, now_ms),
                rolls=rolls_of(reports),
            )
        self._checkpoint.write_delta(delta)
        return delta

    def _choose_orders(self, layout: Layout) -> tuple[Order, ...]:
        """What each head looks up: as the tree has it, or as fewest matches are expected."""
        plan = in_shape(self._plan, layout.tree)
        return choose_orders(plan, self.manifest.fanouts) if plan.tree is None else tree_orders(plan)

    def _probe(
        self, plan: JoinPlan, delta: DeltaRecord, live: tuple[Block, ...], rulers: tuple[RulerFile, ...]
    ) -> Found:
        """Look the step's rows up, if any are due."""
        order = self._order(delta, (*live, *delta.blocks))
        if not any(order.admission.starting(block) for block in order.blocks):
            return NOTHING
        merges = self._rewrites(plan, delta, live, order.layouts)
        return run_rounds(plan, self._cluster, replace(order, merges=merges, rulers=rulers))

    def _order(self, delta: DeltaRecord, blocks: tuple[Block, ...]) -> ProbeOrder:
        return ProbeOrder(
            step=delta.step,
            run=self._run,
            layouts=self._layouts(delta, blocks),
            blocks=blocks,
            orders=delta.orders,
            merges=(),
            first_round=0,
            last_round=0,
            carried=(),
            admission=admission_of(delta, self.manifest),
            view_parts=self._view.parts if self._plan.summary else 0,
        )

    def _rebuild(self, plan: JoinPlan, delta: DeltaRecord, live: tuple[Block, ...]) -> Found:
        """Make the derived streams of a tree from what is stored, if those that are there do not fit it."""
        if plan.tree is None or not live or self._derived_fit(plan, delta.step):
            return NOTHING
        return rebuild_derived(plan, self._cluster, self._order(delta, live))

    def _rewrites(
        self, plan: JoinPlan, delta: DeltaRecord, live: tuple[Block, ...], layouts: tuple[Layout, ...]
    ) -> tuple[Merge, ...]:
        """Blocks to be written anew: those that move to another layout, and small ones that become one."""
        marks = self._lookup_marks(delta.watermarks)
        moves = decide_moves(plan, live, layouts, marks, MERGE_ROWS_A_STEP)
        moving = {file for move in moves for file in move.files}
        resting = [block for block in live if block.file not in moving]
        archive = delta.layout.archive_us
        counted = outnumbered(self.manifest)
        return (*moves, *decide_merges(plan, resting, marks, MERGE_ROWS_A_STEP, archive, counted))

    @property
    def _view(self) -> View:
        return self.manifest.view or new_view(self._cluster.slots)

    def _update_view(self, delta: DeltaRecord, reports: list[dict[str, Any]]) -> Summed | None:
        """Add the step's results to the summary, if the query has one."""
        if self._plan.summary is None:
            return None
        return update_view(self._plan, self._cluster, self._view, delta, self._run, reports)

    def _live_blocks(self, plan: JoinPlan, delta: DeltaRecord) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        """The blocks that a step goes on with, and those it drops."""
        live, gone = self._split_expired(delta.watermarks)
        if self._derived_fit(plan, delta.step):
            return live, gone
        count = len(plan.streams)
        useless = tuple(block for block in live if block.stream >= count)
        return tuple(block for block in live if block.stream < count), (*gone, *useless)

    def _derived_fit(self, plan: JoinPlan, step: int) -> bool:
        """Whether the stored derived streams are those of the plan. A predicate that failed may have been corrected."""
        return self.manifest.derivation == derivation(plan) and not self._checkpoint.has_failed(step)

    def _split_expired(self, watermarks: Sequence[int | None]) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        plan, marks = in_shape(self._plan, self.manifest.layout.tree), self._lookup_marks(watermarks)
        counted = outnumbered(self.manifest)
        dead = [
            not b.held
            and (is_expired(plan, b.stream, b.max_time, marks) or b.max_time < counted.get(b.stream, b.max_time))
            for b in self.manifest.blocks
        ]
        live = tuple(block for block, gone in zip(self.manifest.blocks, dead, strict=True) if not gone)
        return live, tuple(block for block, gone in zip(self.manifest.blocks, dead, strict=True) if gone)

    def _lookup_marks(self, watermarks: Sequence[int | None]) -> tuple[int | None, ...]:
        waiting = self.manifest.waiting
        return lookup_marks(watermarks, self.manifest.blocks, None if waiting is None else waiting.frontier_us)

    def _let_out(self, delta: DeltaRecord, ranked: Ranked, reports: list[dict[str, Any]]) -> InOrder | None:
        """Let out in order what is due, if the query is ordered."""
        if self._keeper is None:
            return None
        return self._keeper.let_out(self.manifest, delta, ranked, reports, self._now_ms)

    def _next_manifest(
        self,
        plan: JoinPlan,
        delta: DeltaRecord,
        live: tuple[Block, ...],
        found: Found,
        moves: tuple[Move, ...],
        dropped: tuple[str, ...],
    ) -> Manifest:
        resting = (block for block in live if block.file not in set(found.merged))
        blocks = (*resting, *found.blocks, *delta.blocks, *found.derived)
        times = StepTimes(delta.watermarks, delta.idle)
        return Manifest(
            step=delta.step,
            batch=delta.batch,
            run=self._run,
            written_ms=delta.now_ms,
            marks=advance_marks(self.manifest.marks, times, delta.newest, delta.now_ms),
            layouts=self._layouts(delta, blocks),
            blocks=blocks,
            moves=(*delta.late_files, *moves),
            dropped=dropped,
            fanouts=_blend(plan, self._usable_fanouts(plan), delta.orders, found.reports),
            view=self.manifest.view,
            waiting=self.manifest.waiting,
            loads=subgroup_loads(self._plan, self._layouts(delta, blocks), found.reports) or self.manifest.loads,
            pressures=delta.pressures,
            checked_ms=delta.checked_ms,
            derivation=derivation(plan),
        )

    def _usable_fanouts(self, plan: JoinPlan) -> tuple[Fanout, ...]:
        """What was seen of lookups that mean the same now: the numbers of derived streams are those of one tree."""
        same = self.manifest.layout.tree == plan.tree
        return tuple(f for f in self.manifest.fanouts if same or f.stream < len(plan.streams))

    def _late_moves(self, reports: list[dict[str, Any]], step: int, now_ms: int) -> tuple[Move, ...]:
        moves = []
        for number, report in enumerate(report for report in reports if report["late_file"]):
            stream = self._plan.streams[report["stream"]].name
            target = f"late/{stream}/{now_ms:015d}-{step:012d}-{number}.parquet"
            moves.append(Move(f"staging/{report['late_file']}", target, inside=True))
        return tuple(moves)

    def _publish(self, manifest: Manifest) -> None:
        self._checkpoint.publish(manifest.moves, self._sink.files)
        self._sink.published(manifest.step)


def check_in_step(manifest_batch: int, spark_batch: int) -> None:
    """Braid's last batch must be Spark's last committed one, or one ahead of it."""
    if manifest_batch in (spark_batch, spark_batch + 1):
        return
    raise RecoveryError(
        f"The checkpoint does not fit together: Spark has committed batch {spark_batch}, Braid batch {manifest_batch}.",
        hint="Restore the whole checkpoint directory from one copy, or start with a new one.",
    )


def _in_order(plan: JoinPlan, manifest: Manifest, delta: DeltaRecord, ordered: InOrder) -> Manifest:
    """The manifest with what waits for its order."""
    marks = raised(plan, manifest.marks, ordered.waiting.frontier_us) if delta.flush else manifest.marks
    return replace(
        manifest,
        marks=marks,
        blocks=tuple(settled(block, delta) if block.stream < len(plan.streams) else block for block in manifest.blocks),
        waiting=ordered.waiting,
        dropped=(*manifest.dropped, *ordered.released.dropped),
    )


def _input_block(report: dict[str, Any], step: int, epoch: int) -> Block:
    return Block(stream=report["stream"], first_step=step, last_step=step, epoch=epoch, units=None, **report["block"])


def _newest(reports: Sequence[dict[str, Any]], stream: int) -> int | None:
    return max((r["newest"] for r in reports if r["stream"] == stream and r["newest"] is not None), default=None)


def _total(reports: Sequence[dict[str, Any]], stream: int, what: str) -> int:
    return sum(report[what] for report in reports if report["stream"] == stream)


def _blend(
    plan: JoinPlan, fanouts: tuple[Fanout, ...], orders: tuple[Order, ...], reports: list[dict[str, Any]]
) -> tuple[Fanout, ...]:
    """Earlier observations fade; this step's are added."""
    seen = {(f.head, f.stream, f.joined): (f.probes * FADING, f.matches * FADING) for f in fanouts}
    for report in reports:
        for lookup in report["lookups"]:
            head, stream = lookup["head"], lookup["stream"]
            before = orders[head][: orders[head].index(stream)]
            joined = (head, *(member for number in before for member in plan.members(number)))
            key = (head, stream, tuple(sorted(joined)))
            probes, matches = seen.get(key, (0.0, 0.0))
            seen[key] = (probes + lookup["probes"], matches + lookup["matched"])
    return tuple(Fanout(*key, *counts) for key, counts in sorted(seen.items()))
