"""An ordered aggregation: a slot adds the released partial aggregates to its parts of the aggregate state.

Partial aggregates are buffered in blocks whose rows have a result time. A step releases the rows between two frontiers
and emits every change of its groups with the result time of the change. A later job sorts the changes of all slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.commands import AggregateCommand
from braid.engine.reports import AggregateReport, BufferedFile
from braid.engine.tasks.aggregate.partials import TIMES_OF_ALL, TableWriter, keeps_times
from braid.engine.tasks.aggregate.parts import AggregateParts, Tables, oldest_counting, since
from braid.engine.tasks.aggregate.piece import PieceUpdate, Update, aggregation_of, open_pieces
from braid.engine.tasks.ordered.buffering import BufferSink, released_at
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.allowance import after_piece
from braid.kernels.aggregate.aggregation import add_up, distinct_counts, finish, group_hashes
from braid.kernels.aggregate.changes import SMALLEST, Changes, Clock, Live, Times, changes
from braid.kernels.aggregate.columns import HASH, TIME
from braid.kernels.sizes import table_pieces
from braid.plan.aggregation import Aggregation


def run_changes(task: SlotTask, command: AggregateCommand) -> AggregateReport:
    """One task of an ordered update: write the slot's block, the changes, and the partial rows that stay buffered."""
    aggregation, name = aggregation_of(task), task.task.file_name(command, "v")
    changed = BufferSink(*task.block_path(f"{name}.buffered"))
    block = TableWriter(aggregation, command.aggregate.parts, *task.block_path(f"{name}.block"))
    kept = TableWriter(aggregation, command.aggregate.parts, *task.block_path(f"{name}.partial"))
    released: Counter[str] = Counter()
    newest: list[int] = []
    store, pieces = open_pieces(task, command)
    for parts in pieces:
        work = OrderedUpdate(aggregation, command, parts, store)
        found, tables = work.run()
        for values, times in found or ():
            changed.add(timed_rows(values, times, task.plan.sink_schema))
        block.add(tables)
        kept.add(work.leftovers())
        released += work.released
        newest += [] if work.newest is None else [work.newest]
        after_piece()
    partials = kept.close_partials()
    return AggregateReport(
        slot=task.slot,
        output=replace(changed.close(), newest_us=max(newest, default=None)),
        block=block.close(),
        released=dict(released),
        kept=None if partials is None else BufferedFile(partials),
    )


class OrderedUpdate(PieceUpdate[Iterator[Changes]]):
    """Emits every change of the groups between the old and the new frontier.

    `released` counts the due rows of each buffered file, `newest` is the newest released result time.
    """

    def __init__(
        self, aggregation: Aggregation, command: AggregateCommand, parts: AggregateParts, store: SegmentStore
    ) -> None:
        super().__init__(aggregation, command, parts, store)
        self.released: Counter[str] = Counter()
        self.newest: int | None = None

    def leftovers(self) -> Tables:
        """The unreleased rows of the blocks that are rewritten."""
        tables: dict[int, list[pa.Table]] = {}
        for file in self._command.rewritten:
            for number, table in self._tables(file):
                rows = table.filter(pa.array(table[TIME].to_numpy() > self._command.until_us))
                if rows.num_rows:
                    tables.setdefault(number, []).append(rows)
        return self._added_up(tables)

    def _fresh(self) -> Tables:
        """The due rows, added up."""
        tables: dict[int, list[pa.Table]] = {}
        for partial in self._command.partials:
            for number, table in self._tables(partial.file):
                rows = table.filter(pa.array(self._is_due(table[TIME].to_numpy(), partial.after_us)))
                if rows.num_rows:
                    self.released[partial.file] += rows.num_rows
                    tables.setdefault(number, []).append(rows)
        fresh = self._added_up(tables)
        if 0 in fresh and fresh[0].num_rows:
            self.newest = pc.max(fresh[0][TIME]).as_py()
        return fresh

    def _distinct(self, fresh: Tables) -> Update[Iterator[Changes]]:
        if 0 not in fresh:
            return None, {}
        novel = self._parts.novel(0, fresh[0])
        emitted = ((finish(self._aggregation, rows, {}), rows[TIME].to_numpy()) for rows in table_pieces(novel))
        return emitted, {0: novel}

    def _total(self, fresh: Tables) -> Update[Iterator[Changes]]:
        """A distinct value counts from its first result time."""
        if 0 not in fresh:
            return None, {}
        main, added = [fresh[0]], {}
        for number in range(1, 1 + len(self._aggregation.sets)):
            if number in fresh:
                novel = self._parts.novel(number, fresh[number])
                main.append(distinct_counts(self._aggregation, number, novel))
                added[number] = novel.drop_columns([TIME])
        rows = pa.concat_tables(main, promote_options="default")
        added[0] = add_up(self._aggregation, 0, [rows.drop_columns([TIME])])
        known = self._parts.known(0, added[0], group_hashes(self._aggregation, added[0]))
        totals = add_up(self._aggregation, 0, [known])
        base = totals.append_column(TIME, pa.array(np.full(totals.num_rows, SMALLEST)))
        return changes(self._aggregation, base, rows, Clock(np.zeros(0, np.int64), None), {}), added

    def _slide(self, fresh: Tables) -> Update[Iterator[Changes]]:
        """Groups gain released rows, and lose rows that fall out of the interval."""
        clock = Clock(self._times_of_all(), self._aggregation.over_us)
        if not len(clock.times):
            return None, {}
        self.newest = int(clock.times[-1])
        before = oldest_counting(self._command.aggregate.newest_us, self._aggregation.over_us)
        after = oldest_counting(self.newest, self._aggregation.over_us)
        added = {number: since(table, after) for number, table in fresh.items()}
        groups = self._touched_groups(fresh.get(0), before, after)
        if groups is None:
            return None, added
        hashes = group_hashes(self._aggregation, groups)
        known = [since(table, before).drop_columns([HASH]) for table in self._parts.found(0, hashes)]
        like = fresh[0] if 0 in fresh else known[0]
        whole = pa.concat_tables([like.slice(0, 0), *known], promote_options="default")
        sets = self._live_sets(fresh, before, hashes)
        return changes(self._aggregation, whole, fresh.get(0, like.slice(0, 0)), clock, sets), added

    def _live_sets(self, fresh: Tables, since_us: int, hashes: np.ndarray) -> dict[int, Live]:
        """The distinct values of the touched groups: known ones, and the step's own."""
        sets = {}
        for number, call in enumerate(self._aggregation.sets, start=1):
            seen = [since(table, since_us) for table in self._parts.found(number, hashes)]
            if seen or number in fresh:
                mine = fresh[number] if number in fresh else seen[0].drop_columns([HASH]).slice(0, 0)
                sets[call] = Live(add_up(self._aggregation, number, [mine.slice(0, 0), *seen]), mine)
        return sets

    def _oldest_kept(self) -> int | None:
        if self._aggregation.slides:
            return oldest_counting(self.newest, self._aggregation.over_us)
        return self._command.forget_us

    def _times_of_all(self) -> Times:
        """All result times that the step releases, of all groups."""
        found = [np.zeros(0, np.int64)]
        for partial in self._command.partials:
            for segment in self._store.reader(partial.file).segments_of([TIMES_OF_ALL]):
                for batch in self._store.batches(partial.file, segment):
                    times = batch.column(TIME).to_numpy()
                    found.append(times[self._is_due(times, partial.after_us)])
        return np.unique(np.concatenate(found))

    def _is_due(self, times: Times, after_us: int) -> np.ndarray:
        return (times > after_us) & (times <= self._command.until_us)

    def _added_up(self, tables: dict[int, list[pa.Table]]) -> Tables:
        by_time = keeps_times(self._aggregation)
        return {number: add_up(self._aggregation, number, parts, by_time) for number, parts in tables.items()}


def timed_rows(values: pa.RecordBatch, times: Times, sink_schema: pa.Schema) -> pa.RecordBatch:
    """Output rows with the result time as a visible column where the schema has one, and as the sort column."""
    time_columns = [pa.array(times).cast(field.type) for field in list(sink_schema)[values.num_columns :]]
    schema = sink_schema.remove_metadata().append(pa.field(released_at(sink_schema.names), pa.int64()))
    return pa.RecordBatch.from_arrays([*values.columns, *time_columns, pa.array(times)], schema=schema)
