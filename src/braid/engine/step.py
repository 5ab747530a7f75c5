"""Steps: how a batch becomes results and committed state, exactly once.

The commit steps are numbered in `StepRunner`; `History` performs the last three. A tick is a step without input. Every
decision of a step is in its delta record before it acts, so a replay repeats the same step. The manifest commits it.
Publishing and sweeping can be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from braid.control.aggregate_state import new_aggregate
from braid.control.elasticity import Elasticity
from braid.control.idleness import Silence, SourceCheck
from braid.control.keeping import split_expired
from braid.control.layouts import Spread, next_layout
from braid.control.memory.adapting import Decide
from braid.control.memory.deferring import Returning
from braid.control.ordering import Ordering
from braid.control.watermarks import decide_times
from braid.engine.aggregate.update import AggregateUpdate, update_aggregate
from braid.engine.cluster import Cluster
from braid.engine.delta import (
    Offer,
    Start,
    delta_of,
    for_storage_of,
    ingest_command,
    interleaved,
    newest_times,
    sort_orders_of,
)
from braid.engine.history import History
from braid.engine.memory.disk import DiskLimit
from braid.engine.memory.due import DueCleanUps
from braid.engine.metered_cluster import Cores, MeteredCluster, RunningJob
from braid.engine.next_manifest import before_first_step, next_manifest, with_order
from braid.engine.ordered.keeper import OrderedStep, OrderKeeper
from braid.engine.ordered.ranking import Ranked
from braid.engine.progress import Phases, recorded, step_progress
from braid.engine.reports import IngestReport, ProbeReport
from braid.engine.restart.consistency import contested, require_continuing, require_same_rows, require_without_input
from braid.engine.restart.fingerprint import storage_digest
from braid.engine.rounds import Found
from braid.engine.row_ids import RowIds
from braid.engine.sinks import Sink
from braid.engine.sites.step import look_up_step
from braid.engine.step_names import Input, failing_in, name_step
from braid.errors import StepCommittedError
from braid.optimizer.ring_estimates import with_measured_rings
from braid.optimizer.semijoins.choice import ChooseSequences
from braid.optimizer.trees import in_shape
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.checkpoint import Checkpoint
from braid.state.manifest import DeltaRecord, Manifest
from braid.state.ownership import Ownership


class StepRunner:
    """Runs the steps of one query, one at a time, for the run that owns the checkpoint.

    `idle` are the streams that were idle at the last check. Rounds of `interleave` steps may be under way at once.
    `memory` decides about partition groups, where there are any, and `returning` which pushed ones have room again. A
    clean-up has about `clean_up_bytes`, the checkpoint at most `disk_bytes`; None: any. `choose_sequences` chooses
    those between sites.
    """

    def __init__(
        self,
        plan: JoinPlan,
        checkpoint: Checkpoint,
        cluster: Cluster,
        sink: Sink,
        owner: Ownership,
        layout: Layout,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
        elasticity: Elasticity | None = None,
        ordering: Ordering | None = None,
        read: Input = "streaming",
        interleave: int = 1,
        memory: Decide | None = None,
        returning: Returning = lambda _: (),
        disk_bytes: int | None = None,
        clean_up_bytes: int | None = None,
        choose_sequences: ChooseSequences | None = None,
    ) -> None:
        self._plan = plan
        self._checkpoint = checkpoint
        disk = DiskLimit(checkpoint.files, checkpoint.path, disk_bytes)
        self._cluster = MeteredCluster(cluster, disk)
        self._sink = sink
        self._owner = owner
        self._run = owner.run
        self._now_ms = now_ms
        self._read = read
        self._elasticity = elasticity
        self._interleave = interleave
        self._memory = memory
        self._choose_sequences = choose_sequences
        self._keeper = None if ordering is None else OrderKeeper(plan, self._cluster, ordering, owner.run, interleave)
        self._cores = Cores(self._cluster, elastic=elasticity is not None)
        self._history = History(checkpoint, sink, owner)
        self._layout = replace(layout, stored_as=storage_digest(plan))
        self.manifest = self._recover()
        self._contested = partial(contested, owner, checkpoint, lambda: self.manifest.step + 1)
        require_continuing(plan, self.manifest, self._layout)
        self._due = DueCleanUps(self.manifest, returning, disk, clean_up_bytes)
        self._layout = with_measured_rings(plan, self._layout, self.manifest)
        self._silence = Silence(plan, now_ms())
        self.idle = self._silence.none_idle

    def run(
        self, batch: int, flush: bool = False, check: SourceCheck | None = None, planned: str | None = None
    ) -> dict[str, Any] | None:
        """The step of a Spark batch; None if it was committed before and only had to be published.

        `flush`: no batch follows, so all buffered results are emitted. `check` is the source check by which the batch
        was planned; by default the batch has all available rows. `planned` identifies the rows of the batch: if the
        batch was committed with other rows, it is refused.
        """
        while batch > self.manifest.batch:
            try:
                with self._contested():
                    return self._run_batch(Offer(batch, flush, check, planned))
            except StepCommittedError:
                self.manifest = self._recover()
        if batch == self.manifest.batch:
            require_same_rows(batch, self.manifest.planned, planned)
        return None

    @property
    def running_job(self) -> RunningJob | None:
        """The job that the step under way waits for, if any; other threads may ask."""
        return self._cluster.running

    def tick(self, check: SourceCheck | None = None, trailing: bool = True) -> dict[str, Any] | None:
        """A step without input; None if none is due.

        One is due if streams became idle and take the watermark of the others, and, unless `trailing` is false, if
        earlier steps have rounds left, or deferred results. `check` is the last one of the sources; default: empty now.
        """
        return self._run_without_input(lambda: self._tick(check or self._silence.all_read(self._now_ms()), trailing))

    def flush(self) -> dict[str, Any] | None:
        """A step without input that emits all buffered results; None if there are none."""
        return self._run_without_input(self._flush)

    def clean_up(self) -> dict[str, Any] | None:
        """A step without input that finds deferred results of some partition groups; None if none are deferred."""
        return self._run_without_input(self._clean_up)

    def _run_without_input(self, step: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
        try:
            with self._contested():
                return step()
        except StepCommittedError:
            self.manifest = self._recover()
            return None

    def _run_batch(self, offer: Offer) -> dict[str, Any]:
        phases = Phases()
        # 1. Ingest, or read what an interrupted run of this step recorded; an interrupted tick is finished first.
        with phases.phase("ingest"):
            self._owner.require()
            self._cores.follow()
            self._clean_up_first()
            delta = self._taken_in(offer)
            while delta.batch < offer.batch:
                self._complete(delta, Phases())
                delta = self._taken_in(offer)
        require_same_rows(offer.batch, delta.planned, offer.planned)
        return self._complete(delta, phases)

    def _clean_up_first(self) -> None:
        """Find deferred results that are due before a batch; one that was interrupted comes before that."""
        while self._checkpoint.read_delta(self.manifest) is None and self._due.before_batch(self.manifest):
            self._clean_up()

    def _taken_in(self, offer: Offer) -> DeltaRecord:
        return self._checkpoint.read_delta(self.manifest) or self._ingest(offer)

    def _tick(self, check: SourceCheck, trailing: bool) -> dict[str, Any] | None:
        phases = Phases()
        with phases.meter.counting():
            delta = self._checkpoint.read_delta(self.manifest) or self._due_tick(check, trailing)
        if delta is None and trailing and self.manifest.pushes:
            return self._clean_up(self._due.between(self.manifest))
        return self._complete(delta, phases) if delta is not None and delta.batch == self.manifest.batch else None

    def _due_tick(self, check: SourceCheck, trailing: bool) -> DeltaRecord | None:
        """The record of a step without input; None if none is due."""
        idle = self.idle = self._silence.idle(self.manifest.marks, check)
        start = self._begin(self.manifest.batch, self.manifest.planned, idle)
        raises = self._silence.raises(self.manifest.marks, start.times)
        shape, watermarks = in_shape(self._plan, self.manifest.layout.tree), start.times.watermarks
        expired = split_expired(shape, self.manifest, watermarks)[1] if any(idle) else ()
        silent = any(idle) and (raises or bool(expired) or self._release_is_due(start))
        if not silent and not (trailing and self._is_behind(start)):
            return None
        self._owner.require()
        self._cores.follow()
        return self._fix(start, [])

    def _flush(self) -> dict[str, Any] | None:
        self._finish_interrupted()
        start = self._begin(self.manifest.batch, self.manifest.planned, self._silence.none_idle)
        if not self._release_is_due(start, flush=True) and not self.manifest.terms:
            return None
        return self._fix_and_complete(start, flush=True)

    def _clean_up(self, chosen: tuple[int, ...] | None = None) -> dict[str, Any] | None:
        """Find the deferred results of the chosen groups; None: of those that are next."""
        self._finish_interrupted()
        if self.manifest.groups is None or not self.manifest.pushes or chosen == ():
            return None
        start = self._begin(self.manifest.batch, self.manifest.planned, self._silence.none_idle)
        # Nothing else is changed in this step.
        start = replace(start, spread=Spread(self.manifest.layout, (), (), self.manifest.checked_ms))
        cleaned = self._due.following(self.manifest) if chosen is None else chosen
        return self._fix_and_complete(start, cleaned=cleaned)

    def _finish_interrupted(self) -> None:
        """Complete a step without input that a crash interrupted; that of a batch needs the batch."""
        self._owner.require()
        delta = self._checkpoint.read_delta(self.manifest)
        if delta is not None:
            require_without_input(delta, self.manifest)
            self._complete(delta, Phases())

    def _fix_and_complete(self, start: Start, flush: bool = False, cleaned: tuple[int, ...] = ()) -> dict[str, Any]:
        """A whole step without input."""
        phases = Phases()
        with phases.meter.counting():
            delta = self._fix(start, [], flush, cleaned)
        return self._complete(delta, phases)

    def _begin(self, batch: int, planned: str | None, idle: tuple[bool, ...]) -> Start:
        """The clock, watermarks and layout of the next step."""
        now = self._now_ms()
        times = decide_times(self._plan, self.manifest.marks, idle)
        spread = next_layout(self._plan, self.manifest, self._layout, self._elasticity, now, self._memory)
        row_ids = RowIds(self.manifest.next_row_id, self._cluster.ingest_tasks)
        return Start(batch, planned, now, times, spread, row_ids, sort_orders_of(self._plan, self.manifest, spread))

    def _release_is_due(self, start: Start, flush: bool = False) -> bool:
        """Whether a step without input would emit something."""
        if self._keeper is None:
            return False
        decision = self._keeper.decision(self.manifest, start.times, self._silence.no_rows, start.now_ms, flush)
        return self._keeper.is_due(self.manifest, decision)

    def _is_behind(self, start: Start) -> bool:
        """Whether rounds of earlier steps are left, or results that waited for them."""
        return bool(self.manifest.terms) or (self._interleave > 1 and self._release_is_due(start))

    def _complete(self, delta: DeltaRecord, phases: Phases) -> dict[str, Any]:
        """From the delta record to the end of the step."""
        previous = self.manifest
        self._cluster.begin()
        self.manifest, delta = for_storage_of(self._plan, self._layout, previous, delta, self._choose_sequences)
        requests = self._cores.request(delta.layout)
        batch = delta.batch if delta.batch > previous.batch else None
        failing = partial(failing_in, self._plan, name_step(delta.step, batch, self._read))
        # 2. Probe, and hand results to a sink that is not files.
        with phases.phase("probe"), failing():
            ranked = Ranked() if self._keeper is None else self._keeper.rank(self.manifest, delta)
            corrected = self._checkpoint.has_failed(delta.step)
            looked = look_up_step(self._plan, self._cluster, self.manifest, delta, self._run, ranked, corrected)
            ordered = self._emit(delta, ranked, looked.found)
            summed = self._update_aggregate(delta, looked.found.reports, ordered)
            outputs = [report.output for report in (looked.found.reports if summed is None else summed.reports)]
        with phases.phase("sink"), failing():
            files = tuple(file for output in outputs for file in output.files)
            if ordered is not None and self._plan.ordered:
                files = ordered.released.files
            moves = self._sink.deliver(delta.step, self._owner.number, files)
        # 3. Commit.
        with phases.phase("commit"):
            manifest = next_manifest(self._plan, self.manifest, delta, self._run, looked, moves)
            progress = step_progress(looked, delta, batch, manifest, self._cluster.used, self._cluster.memory(), phases)
            if summed is not None:
                manifest = replace(manifest, aggregate=summed.aggregate, dropped=(*manifest.dropped, *summed.dropped))
                progress |= summed.progress(progress["bytesModelled"])
            if ordered is not None:
                manifest = with_order(self._plan, manifest, delta, ordered)
                progress |= ordered.progress if self._plan.ordered else {}
            progress["adaptations"] += requests + self._history.withdrawal(delta.step)
            manifest = self._history.commit(replace(manifest, progress=recorded(phases.complete(progress))))
            self.manifest = manifest
            # 4. Publish, and 5. forget what no kept record needs.
            self._history.publish(manifest)
            self._history.forget(manifest, previous)
        return phases.complete(progress)

    def _recover(self) -> Manifest:
        return self._history.recover() or before_first_step(self._plan, self._run, self._layout, self._now_ms())

    def _ingest(self, offer: Offer) -> DeltaRecord:
        """Ingest the rows of a batch, and record the step.

        Rows are late by the watermarks of streams that are not idle: a stream with new rows is not idle.
        """
        start = self._begin(offer.batch, offer.planned, self._silence.none_idle)
        command = ingest_command(self._plan, self.manifest, self._run, start, self._cluster.ingest_tasks)
        with failing_in(self._plan, name_step(command.step, offer.batch, self._read)):
            reports = self._cluster.ingest(command)
        check = offer.check or self._silence.all_read(self._now_ms())
        idle = self.idle = self._silence.idle(self.manifest.marks, check, newest_times(self._plan, reports))
        times = decide_times(self._plan, self.manifest.marks, idle)
        return self._fix(replace(start, times=times), reports, offer.flush)

    def _fix(
        self, start: Start, reports: Sequence[IngestReport], flush: bool = False, cleaned: tuple[int, ...] = ()
    ) -> DeltaRecord:
        """Record what the step has read and decided; a record that another run wrote first wins."""
        decision = None
        if self._keeper is not None:
            newest = newest_times(self._plan, reports)
            decision = self._keeper.decision(self.manifest, start.times, newest, start.now_ms, flush)
        delta = delta_of(self._plan, self.manifest, self._run, start, decision, reports, self._choose_sequences)
        delta, most = replace(delta, cleaned=cleaned), 1 if flush else self._interleave
        delta = interleaved(self._plan, self.manifest, delta, most, self._cluster.slots)
        fixed = self._checkpoint.write_delta(delta, self.manifest)
        # If the step is already committed and its record removed, the new record has no effect.
        if self._checkpoint.is_committed(delta.step):
            raise StepCommittedError(f"Step {delta.step} was committed by another run.")
        return fixed

    def _update_aggregate(
        self, delta: DeltaRecord, reports: Sequence[ProbeReport], ordered: OrderedStep | None
    ) -> AggregateUpdate | None:
        """Add the step's results to the aggregate state, if there is one; an ordered step has already done so."""
        aggregation = self._plan.aggregation
        if aggregation is None or (ordered is not None and ordered.summed is not None):
            return None if ordered is None else ordered.summed
        return update_aggregate(self._plan, aggregation, self._cluster, self.manifest, delta, self._run, reports)

    def _emit(self, delta: DeltaRecord, ranked: Ranked, found: Found) -> OrderedStep | None:
        """Emit due results in order, if the query is ordered."""
        if self._keeper is None:
            return None
        summed = self._plan.ordered and self._plan.aggregation is not None
        aggregate = (self.manifest.aggregate or new_aggregate(self._cluster.slots)) if summed else None
        return self._keeper.emit(self.manifest, delta, ranked, aggregate, found, self._now_ms)
