"""An ordered aggregation: a slot adds the released partial aggregates to its parts of the aggregate state.

Partial aggregates are buffered in blocks whose rows have a result time. A step releases the rows between two frontiers
and emits every change of its groups with the result time of the change. A later job sorts the changes of all slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.commands import AggregateCommand
from braid.engine.reports import AggregateReport, BufferedFile
from braid.engine.tasks.aggregate.partials import TIMES_OF_ALL, TableWriter, keeps_times
from braid.engine.tasks.aggregate.parts import AggregateParts, Tables, oldest_counting, since
from braid.engine.tasks.aggregate.update import open_aggregate
from braid.engine.tasks.ordered.buffering import BufferSink, released_at
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.task import SlotTask
from braid.kernels.aggregate.aggregation import (
    HASH,
    TIME,
    add_up,
    distinct_counts,
    finish,
    group_hashes,
    group_names,
    groups_without_results,
)
from braid.kernels.aggregate.changes import SMALLEST, Clock, Live, Times, changes
from braid.plan.aggregation import Aggregation

Changes = tuple[pa.RecordBatch, Times]


def run_changes(task: SlotTask, command: AggregateCommand) -> AggregateReport:
    """One task of an ordered update: write the slot's block, the changes, and the partial rows that stay buffered."""
    aggregation, store = open_aggregate(task, command)
    work = SlotChanges(aggregation, command, task.slot, task.slots, store)
    parts, name = command.aggregate.parts, task.task.file_name(command, "v")
    changed = BufferSink(*task.block_path(f"{name}.buffered"))
    block = TableWriter(aggregation, parts, *task.block_path(f"{name}.block"))
    kept = TableWriter(aggregation, parts, *task.block_path(f"{name}.partial"))
    for found, tables, leftovers in work.updates():
        if found is not None and found[0].num_rows:
            changed.add(timed_rows(*found, task.plan.sink_schema))
        block.add(tables)
        kept.add(leftovers)
    output, partials = replace(changed.close(), newest_us=work.newest), kept.close_partials()
    unreleased = None if partials is None else BufferedFile(partials)
    return AggregateReport(task.slot, output, block.close(), work.counts, unreleased)


class SlotChanges:
    """One slot's work in a release of changes."""

    def __init__(
        self, aggregation: Aggregation, command: AggregateCommand, slot: int, slots: int, store: SegmentStore
    ) -> None:
        self._aggregation = aggregation
        self._command = command
        self._store = store
        self._whole = self._parts = AggregateParts(aggregation, command.aggregate, slot, slots, store)
        self.counts: dict[str, int] = {}
        self.newest: int | None = None

    def updates(self) -> Iterator[tuple[Changes | None, Tables, Tables]]:
        """The emitted changes, the tables of the slot's new block, and the unreleased partial rows.

        Unreleased rows come from blocks that are rewritten. The work is done in pieces of the slot's groups.
        """
        for piece in self._whole.pieces(self._command):
            self._parts = piece
            yield *self._update(), self._leftovers()

    def _update(self) -> tuple[Changes | None, Tables]:
        fresh = self._released()
        if self._aggregation.is_distinct:
            output, added = self._emit_distinct(fresh)
        elif self._aggregation.slides:
            output, added = self._slide(fresh)
        else:
            output, added = self._total(fresh)
        if not self._aggregation.slides and 0 in fresh and fresh[0].num_rows:
            newest = pc.max(fresh[0][TIME]).as_py()
            self.newest = newest if self.newest is None else max(self.newest, newest)
        return output, self._parts.compact(added, self._command.compacted, self._cut)

    def _leftovers(self) -> Tables:
        tables: dict[int, list[pa.Table]] = {}
        for file in self._command.rewritten:
            for number, table in self._tables(file):
                rows = table.filter(pa.array(table[TIME].to_numpy() > self._command.until_us))
                if rows.num_rows:
                    tables.setdefault(number, []).append(rows)
        return self._added_up(tables)

    def _emit_distinct(self, fresh: Tables) -> tuple[Changes | None, Tables]:
        if 0 not in fresh:
            return None, {}
        novel = self._parts.novel(0, fresh[0])
        return (finish(self._aggregation, novel, {}), novel[TIME].to_numpy()), {0: novel}

    def _total(self, fresh: Tables) -> tuple[Changes | None, Tables]:
        """Over all results: a distinct value counts from its first result time."""
        if 0 not in fresh:
            return None, {}
        main, added = [fresh[0]], {}
        for number, call in enumerate(self._aggregation.sets, start=1):
            if number in fresh:
                novel = self._parts.novel(number, fresh[number])
                main.append(distinct_counts(call, novel))
                added[number] = novel.drop_columns([TIME])
        rows = pa.concat_tables(main, promote_options="default")
        added[0] = add_up(self._aggregation, 0, [rows.drop_columns([TIME])])
        totals = add_up(self._aggregation, 0, [self._parts.known(0, added[0], group_hashes(added[0]))])
        base = totals.append_column(TIME, pa.array(np.full(totals.num_rows, SMALLEST)))
        return changes(self._aggregation, base, rows, Clock(np.zeros(0, np.int64), None), {}), added

    def _slide(self, fresh: Tables) -> tuple[Changes | None, Tables]:
        """Over an interval of result time: groups gain released rows, and lose rows that fall out of the interval."""
        clock = Clock(self._times_of_all(), self._aggregation.over_us)
        if not len(clock.times):
            return None, {}
        self.newest = int(clock.times[-1])
        before = oldest_counting(self._command.aggregate.newest_us, self._aggregation.over_us)
        after = oldest_counting(self.newest, self._aggregation.over_us)
        added = {number: since(table, after) for number, table in fresh.items()}
        touched = [*([fresh[0]] if 0 in fresh else []), *self._parts.lost(before, after)]
        touched = [table for table in touched if table.num_rows]
        if not touched:
            return None, added
        groups = groups_without_results(pa.concat_tables([table.select(group_names(table)) for table in touched]))
        hashes = group_hashes(groups)
        known = [since(table, before).drop_columns([HASH]) for table in self._parts.found(0, hashes)]
        like = touched[0].select([name for name in touched[0].column_names if name != HASH]).slice(0, 0)
        sets = {}
        for number, call in enumerate(self._aggregation.sets, start=1):
            seen = [since(table, before) for table in self._parts.found(number, hashes)]
            if seen or number in fresh:
                mine = fresh[number] if number in fresh else seen[0].drop_columns([HASH]).slice(0, 0)
                sets[call] = Live(add_up(self._aggregation, number, [mine.slice(0, 0), *seen]), mine)
        whole = pa.concat_tables([like, *known], promote_options="default")
        return changes(self._aggregation, whole, fresh.get(0, like), clock, sets), added

    @property
    def _cut(self) -> int | None:
        """The oldest result time that the aggregate state still needs; None if it needs all."""
        return (
            oldest_counting(self.newest, self._aggregation.over_us)
            if self._aggregation.slides
            else self._command.forget_us
        )

    def _released(self) -> Tables:
        """The due rows of this slot's parts, added up."""
        tables: dict[int, list[pa.Table]] = {}
        for partial in self._command.partials:
            for number, table in self._tables(partial.file):
                rows = table.filter(pa.array(self._is_due(table[TIME].to_numpy(), partial.after_us)))
                if rows.num_rows:
                    self.counts[partial.file] = self.counts.get(partial.file, 0) + rows.num_rows
                    tables.setdefault(number, []).append(rows)
        return self._added_up(tables)

    def _times_of_all(self) -> Times:
        """All result times that the step releases, of all groups."""
        found = [np.zeros(0, np.int64)]
        for partial in self._command.partials:
            for segment in self._store.reader(partial.file).segments_of([TIMES_OF_ALL]):
                times = self._parts.table(partial.file, segment)[TIME].to_numpy()
                found.append(times[self._is_due(times, partial.after_us)])
        return np.unique(np.concatenate(found))

    def _is_due(self, times: Times, after_us: int) -> np.ndarray:
        return (times > after_us) & (times <= self._command.until_us)

    def _added_up(self, tables: dict[int, list[pa.Table]]) -> Tables:
        by_time = keeps_times(self._aggregation)
        return {number: add_up(self._aggregation, number, parts, by_time) for number, parts in tables.items()}

    def _tables(self, file: str) -> Iterator[tuple[int, pa.Table]]:
        for segment in self._store.reader(file).segments_of(None, self._parts.numbers):
            yield segment.unit, self._parts.table(file, segment)


def timed_rows(values: pa.RecordBatch, times: Times, sink_schema: pa.Schema) -> pa.RecordBatch:
    """Output rows with the result time as a visible column where the schema has one, and as the sort column."""
    time_columns = [pa.array(times).cast(field.type) for field in list(sink_schema)[values.num_columns :]]
    schema = sink_schema.remove_metadata().append(pa.field(released_at(sink_schema.names), pa.int64()))
    return pa.RecordBatch.from_arrays([*values.columns, *time_columns, pa.array(times)], schema=schema)
