"""An update of the aggregate state: a slot adds the step's partial aggregates to its parts.

Blocks of the aggregate state have partial totals; the value of a group is the sum of its rows in all blocks. So a step
writes only what it adds and looks up only the groups it touches. Older blocks are compacted from time to time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.commands import AggregateCommand
from braid.engine.reports import AggregateReport
from braid.engine.tasks.aggregate.partials import TableWriter, part_of
from braid.engine.tasks.aggregate.parts import AggregateParts, Tables, oldest_counting, since
from braid.engine.tasks.results import result_files
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.cache import segment_store
from braid.kernels.aggregate.aggregation import (
    FRESH,
    TIME,
    add_up,
    distinct_counts,
    empty_total,
    finish,
    group_hashes,
    group_names,
    groups_without_results,
    marked_as,
    only_group,
)
from braid.kernels.keys import Keys
from braid.plan.aggregation import Aggregation


def run_update(task: SlotTask, command: AggregateCommand) -> AggregateReport:
    """One task of an update: add the step's partial aggregates to the slot's parts, and emit the changed groups."""
    aggregation, store = open_aggregate(task, command)
    name = task.task.file_name(command, "v")
    results = result_files(task, name, aggregation.schema, command.step)
    block = TableWriter(aggregation, command.aggregate.parts, *task.block_path(f"{name}.block"))
    for output, tables in SlotUpdate(aggregation, command, task.slot, task.slots, store).updates():
        block.add(tables)
        if output is not None and output.num_rows:
            results.add(output)
    return AggregateReport(task.slot, results.close(), block.close())


def open_aggregate(task: SlotTask, command: AggregateCommand) -> tuple[Aggregation, SegmentStore]:
    """The aggregation, and the open blocks of its state and of the step's partial aggregates."""
    if task.plan.aggregation is None:
        raise RuntimeError("this join has no aggregation")
    store = segment_store(task.plan, task.locations, f"{command.run} aggregate")
    partials = [partial.file for partial in command.partials]
    store.use([*(block.file for block in command.aggregate.blocks), *partials, *command.rewritten], command.step)
    return task.plan.aggregation, store


class SlotUpdate:
    """One slot's work in an update of the aggregate state."""

    def __init__(
        self, aggregation: Aggregation, command: AggregateCommand, slot: int, slots: int, store: SegmentStore
    ) -> None:
        self._aggregation = aggregation
        self._command = command
        self._store = store
        self._whole = self._parts = AggregateParts(aggregation, command.aggregate, slot, slots, store)

    def updates(self) -> Iterator[tuple[pa.RecordBatch | None, Tables]]:
        """The emitted rows, if any, and the tables of the slot's new block, in pieces of the slot's groups."""
        for piece in self._whole.pieces(self._command):
            self._parts = piece
            yield self._update()

    def _update(self) -> tuple[pa.RecordBatch | None, Tables]:
        fresh = self._fresh()
        if self._aggregation.is_distinct:
            output, added = self._emit_distinct(fresh)
        elif self._aggregation.slides:
            output, added = self._slide(fresh)
        else:
            output, added = self._total(fresh)
        if self._command.first and self._has_only_group and (output is None or output.num_rows == 0):
            output = empty_total(self._aggregation)
        cut = self._cut if self._aggregation.slides else self._command.forget_us
        return output, self._parts.compact(added, self._command.compacted, cut)

    @property
    def _has_only_group(self) -> bool:
        """Whether this slot and this piece own the single group of an aggregation without groups."""
        is_here = int(part_of(only_group(), self._command.aggregate.parts)[0]) in self._parts.numbers
        return is_here and self._parts.in_piece(only_group()).num_rows > 0

    def _emit_distinct(self, fresh: Tables) -> tuple[pa.RecordBatch | None, Tables]:
        if 0 not in fresh:
            return None, {}
        novel = self._parts.novel(0, fresh[0])
        return finish(self._aggregation, novel, {}), {0: novel}

    def _total(self, fresh: Tables) -> tuple[pa.RecordBatch | None, Tables]:
        """Over all results: a distinct value adds to its group's count only if it is not stored yet."""
        if 0 not in fresh:
            return None, {}
        main, added = [fresh[0]], {}
        for number, call in enumerate(self._aggregation.sets, start=1):
            if number in fresh:
                added[number] = self._parts.novel(number, fresh[number])
                main.append(distinct_counts(call, added[number]))
        added[0] = add_up(self._aggregation, 0, main)
        known = self._parts.known(0, added[0], group_hashes(added[0]))
        totals = add_up(self._aggregation, 0, [marked_as(1, added[0]), marked_as(0, known)])
        return self._touched_groups(totals, {}), added

    def _slide(self, fresh: Tables) -> tuple[pa.RecordBatch | None, Tables]:
        """Over an interval of result time: groups that gained or lost results are computed again from live rows."""
        added = {number: since(table, self._cut) for number, table in fresh.items()}
        before = oldest_counting(self._command.aggregate.newest_us, self._aggregation.over_us)
        touched = [*([added[0]] if 0 in added else []), *self._parts.lost(before, self._cut)]
        touched = [table for table in touched if table.num_rows]
        if not touched:
            return None, added
        groups = groups_without_results(pa.concat_tables([table.select(group_names(table)) for table in touched]))
        hashes = group_hashes(groups)
        live = [marked_as(0, table.drop_columns([TIME])) for table in self._live(0, hashes, added)]
        totals = add_up(self._aggregation, 0, [marked_as(1, groups), *live])
        sets = {}
        for number, call in enumerate(self._aggregation.sets, start=1):
            tables = self._live(number, hashes, added)
            sets[call] = add_up(self._aggregation, number, tables) if tables else groups.slice(0, 0)
        return self._touched_groups(totals, sets), added

    def _live(self, number: int, hashes: Keys, added: Tables) -> list[pa.Table]:
        """The live rows with these hashes, including the step's own."""
        tables = [since(table, self._cut) for table in self._parts.found(number, hashes)]
        return [*tables, *([added[number]] if number in added else [])]

    def _touched_groups(self, totals: pa.Table, sets: dict[int, pa.Table]) -> pa.RecordBatch:
        """The values of the groups that the step touched; a group that only has the same hash is filtered out."""
        totals = totals.filter(pc.equal(totals[FRESH], 1)).drop_columns([FRESH])
        return finish(self._aggregation, totals.combine_chunks(), sets)

    @property
    def _cut(self) -> int:
        return oldest_counting(self._command.newest_us, self._aggregation.over_us)

    def _fresh(self) -> Tables:
        """The step's partial aggregates of this slot's parts, added up."""
        tables: dict[int, list[pa.Table]] = {}
        for buffered in self._command.partials:
            for segment in self._store.reader(buffered.file).segments_of(None, self._parts.numbers):
                tables.setdefault(segment.unit, []).append(self._parts.table(buffered.file, segment))
        return {number: add_up(self._aggregation, number, parts) for number, parts in tables.items()}
