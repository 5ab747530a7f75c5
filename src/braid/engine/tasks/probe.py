"""A probe task: a slot's lookups, then its merges, then its report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from braid.engine.commands import ProbeCommand, RoundsCommand
from braid.engine.reports import MergeReport, Output, ProbeReport, RoundsReport
from braid.engine.tasks.intermediate import IntermediateRows
from braid.engine.tasks.lookup.exchange import ExchangedRows
from braid.engine.tasks.lookup.unit_counts import unit_counts
from braid.engine.tasks.lookups import SlotLookups
from braid.engine.tasks.merging.blocks import gather_placed, merge_blocks, move_blocks
from braid.engine.tasks.merging.groups import GroupMerge
from braid.engine.tasks.merging.slot_merge import SlotMerge, merge_order, rewritten_rows
from braid.engine.tasks.segments import Begin
from braid.engine.tasks.selection import select_outputs
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.cache import segment_store
from braid.engine.tasks.worker.noting import WorkNote, noting
from braid.engine.tasks.worker.watching import watched
from braid.kernels.join import PAIRS_AT_ONCE
from braid.kernels.pacing import COMPARED
from braid.kernels.rows import Pairs, Rows, pairs_together
from braid.kernels.sizes import piece_rows
from braid.optimizer.trees import in_shape
from braid.placement.groups import opened_units
from braid.placement.units import units_by_slot
from braid.plan.layout import Layout
from braid.state.manifest import Block, Merge


class ResultSink(Protocol):
    """Where a task's results go."""

    def add(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> Output: ...


OpenSink = Callable[[SlotTask, ProbeCommand, str], ResultSink]
"""Opens the sink of a task; results may be files, buffered results or partial aggregates, named by the last argument.

It is a function of a module of its own, so that a worker imports only what its query needs.
"""


def run_probe(task: SlotTask, command: ProbeCommand, open_sink: OpenSink, note: WorkNote | None = None) -> ProbeReport:
    """A probe task that writes files: results, or rows exchanged to the next round."""
    if not _has_units(task, command):
        return ProbeReport(task.slot, task.task.host, (), (), (), (), ())
    work = SlotProbe(task, command)
    with work.watched(note):
        return work.write_results(open_sink) if work.gives_results else work.write_exchanged()


def run_rounds(task: SlotTask, command: RoundsCommand, open_sink: OpenSink) -> RoundsReport:
    """A probe task with rounds of several terms."""
    reports = []
    with noting(*task.locations.open_checkpoint(), probe_name(task, command.probes[0]), len(command.probes)) as note:
        for probe in command.probes:
            reports.append(run_probe(task, probe, open_sink, note))
            note.end_part()
    return RoundsReport(task.slot, tuple(reports))


def _has_units(task: SlotTask, command: ProbeCommand) -> bool:
    """Whether the slot has units of a layout with live rows. Without any it need not open the ingest files."""
    streams = len(task.plan.streams)
    return any(units_by_slot(layout, streams, task.slots)[task.slot] for layout in command.layouts)


def probe_name(task: SlotTask, command: ProbeCommand) -> str:
    """The name of a task's files; the rounds of an earlier step have its distance, as one task may run several.

    A step may have several jobs of a clean-up: those have the interval and the term.
    """
    earlier, job = command.step - command.admission.step, command.admission.clean_up
    which = f".{earlier}" if earlier else ""
    which = which if job is None else f".{job.first_step}.{job.term}"
    return task.task.file_name(command, f"{command.first_round}{which}-s")


class SlotProbe:
    """A slot's work in a probe job."""

    def __init__(self, task: SlotTask, command: ProbeCommand) -> None:
        self._task = task
        self._plan = in_shape(task.plan, command.layouts[-1].tree)
        self._command = command
        self._layouts = {layout.epoch: layout for layout in command.layouts}
        self._name = probe_name(task, command)
        self._began_cpu = time.process_time()
        self._store = segment_store(self._plan, task.locations, command.run)
        begin: Begin = "as it is" if command.admission.clean_up is None else "closed"
        self._store.use(self._files_read(), command.step, begin)
        self._store.fetch_from(command.payloads)
        self._stored = self._gather()
        self._separated = tuple(self._timed_merge(merge, f"p{merge.number}") for merge in command.separating)
        own = (*self._stored, *(b for merged in self._separated for b in (merged.block, merged.apart) if b is not None))
        self._store.use([block.file for block in own], command.step)
        files, path = task.block_path(self._name)
        self._intermediate = IntermediateRows(self._plan, command, files, path, command.step + task.slot)
        self._lookups = SlotLookups(command, own, task.slot, task.slots, self._store, self._keep)

    @property
    def gives_results(self) -> bool:
        """Whether this job finds complete results."""
        return self._lookups.gives_results

    @contextmanager
    def watched(self, note: WorkNote | None = None) -> Iterator[None]:
        """Leave notes of how far the task is, in the given one; and of users' calls, if the command says so."""
        place = (*self._task.locations.open_checkpoint(), self._name)
        with watched(*place, self._command.watched), nullcontext(note) if note else noting(*place) as own:
            done = self._lookups.done

            def report_share(share: float) -> None:
                done.compared(share)
                own.update(done.share)

            token = COMPARED.set(report_share)
            try:
                yield
            finally:
                COMPARED.reset(token)

    def _keep(self, joined: tuple[int, ...], rows: Rows) -> None:
        """Store rows of an intermediate result, with their payloads."""
        if self._plan.intermediate_of(joined) is not None:
            for whole in self._store.payloads.whole_rows(rows):
                self._intermediate.add(joined, whole)

    def completed(self, pairs: Pairs) -> Iterator[Pairs]:
        """What was found, with payloads that are stored apart."""
        return self._store.payloads.complete(pairs)

    def found(self) -> Iterator[tuple[int, int, Pairs]]:
        """What the lookups of this slot find, as (delta stream, route, pairs)."""
        return self._lookups.run()

    def joined(self, delta_stream: int) -> tuple[int, ...]:
        """The streams whose rows are joined in what is found for a delta stream."""
        return self._lookups.joined(delta_stream)

    def write_results(self, open_sink: OpenSink) -> ProbeReport:
        sink = open_sink(self._task, self._command, self._name)
        # A lookup in one of many blocks finds few pairs; selecting them costs as much as selecting many.
        for pairs in pairs_together((pairs for _, _, pairs in self.found()), piece_rows(PAIRS_AT_ONCE)):
            for whole in self.completed(pairs):
                sink.add(select_outputs(self._plan, whole))
        return replace(self.report(), output=sink.close())

    def write_exchanged(self) -> ProbeReport:
        exchanged = ExchangedRows(self._plan, self._command, *self._task.block_path(self._name))
        for delta_stream, route, pairs in self.found():
            rows = pairs.to_rows()
            self._keep(self.joined(delta_stream), rows)
            if not self._command.is_last:
                exchanged.add(delta_stream, route, rows)
        return replace(self.report(), exchanged=exchanged.close())

    def report(self) -> ProbeReport:
        """After the lookups: merge the due blocks, and report the work."""
        merges = self._command.following
        merged = tuple(self._timed_merge(merge, f"m{position}") for position, merge in enumerate(merges))
        cpu = time.process_time() - self._began_cpu
        return ProbeReport(
            slot=self._task.slot,
            host=self._task.task.host,
            units=unit_counts(self._lookups, cpu),
            lookups=self._lookups.counts(),
            stored=self._stored,
            merged=self._separated + merged,
            intermediate=self._intermediate.close(),
            checks=self._lookups.check_costs(),
            loads=self._lookups.loads(),
            groups=self._lookups.group_counts(),
            hidden=self._lookups.hidden,
        )

    def _files_read(self) -> list[str]:
        command = self._command
        files = [block.file for block in command.blocks] + [index.file for index in command.rank_indexes]
        return [*files, *command.exchanged]

    def _gather(self) -> tuple[Block, ...]:
        """The step's rows of this slot's units, sorted and stored as one block for each stream."""
        gathered = [self._gathered(gather, f"g{number}") for number, gather in enumerate(self._command.gathers)]
        return tuple(block for block in gathered if block is not None)

    def _timed_merge(self, merge: Merge, suffix: str) -> MergeReport:
        self._store.use([part.file for part in merge.copied], self._command.step)
        began = time.monotonic()
        by_group = merge.into == merge.epoch
        block, apart = self._merge_groups(merge, suffix) if by_group else (self._merge(merge, suffix), None)
        rows = rewritten_rows(merge, block, apart)
        return MergeReport(merge.number, merge.stream, rows, time.monotonic() - began, block, apart)

    def _gathered(self, gather: Merge, suffix: str) -> Block | None:
        if gather.into is None:
            return self._merge(gather, suffix)
        old, new = self._layouts[gather.epoch], self._layouts[gather.into]
        return gather_placed(self._slot_merge(gather, new, suffix), old, new)

    def _merge(self, merge: Merge, suffix: str) -> Block | None:
        layout = self._layouts[merge.epoch]
        slot_merge = self._slot_merge(merge, layout, suffix)
        if merge.into is not None:
            return move_blocks(slot_merge, layout, self._layouts[merge.into])
        return merge_blocks(slot_merge, layout)

    def _merge_groups(self, merge: Merge, suffix: str) -> tuple[Block | None, Block | None]:
        """The rows of this slot's partition groups; those of groups apart are a block of their own."""
        layout = self._layouts[merge.epoch]
        opened = {epoch: self._opened(own) for epoch, own in self._layouts.items() if own.shares_groups(layout)}
        block = GroupMerge(self._slot_merge(merge, layout, suffix), layout, opened).merge_groups()
        if not merge.apart:
            return block, None
        return block, GroupMerge(self._slot_merge(merge, layout, f"{suffix}-apart"), layout, opened).merge_apart()

    def _slot_merge(self, merge: Merge, layout: Layout, suffix: str) -> SlotMerge:
        """What this slot does of a merge whose rows its units of a layout own."""
        return SlotMerge(
            merge,
            merge_order(merge, self._command.sort_order(merge.stream)),
            self._owned(merge, layout),
            [block for block in self._command.blocks if block.file in merge.files],
            self._store,
            self._task.block_path(f"{self._name}-{suffix}.block"),
        )

    def _owned(self, merge: Merge, layout: Layout) -> set[int]:
        """This slot's units of the merged stream."""
        side = self._plan.members(merge.stream)[0]
        units = units_by_slot(layout, len(self._plan.streams), self._task.slots)[self._task.slot]
        return {unit.number for unit in units if side in unit.streams}

    def _opened(self, layout: Layout) -> list[int]:
        """The units of a layout whose segments this slot opens."""
        newest, streams = self._command.layouts[-1], len(self._plan.streams)
        return list(opened_units(newest, layout, streams, self._task.slots, self._task.slot))
