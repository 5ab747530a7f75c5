"""An update of the aggregate state: a slot adds the step's partial aggregates to its parts.

Blocks of the aggregate state have partial totals; the value of a group is the sum of its rows in all blocks. So a step
writes only what it adds and looks up only the groups it touches. Older blocks are compacted from time to time.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.commands import AggregateCommand
from braid.engine.reports import AggregateReport
from braid.engine.tasks.aggregate.partials import TableWriter, part_of
from braid.engine.tasks.aggregate.parts import Tables, oldest_counting, since
from braid.engine.tasks.aggregate.piece import PieceUpdate, Update, aggregation_of, open_pieces
from braid.engine.tasks.results import result_files
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.allowance import after_piece
from braid.kernels.aggregate.aggregation import (
    add_up,
    distinct_counts,
    empty_total,
    finish,
    group_hashes,
    marked_as,
    only_group,
)
from braid.kernels.aggregate.columns import FRESH, TIME
from braid.kernels.keys import Keys
from braid.kernels.sizes import table_pieces


def run_update(task: SlotTask, command: AggregateCommand) -> AggregateReport:
    """One task of an update: add the step's partial aggregates to the slot's parts, and emit the changed groups."""
    aggregation, name = aggregation_of(task), task.task.file_name(command, "v")
    results = result_files(task, name, aggregation.schema, command.step)
    block = TableWriter(aggregation, command.aggregate.parts, *task.block_path(f"{name}.block"))
    store, pieces = open_pieces(task, command)
    for parts in pieces:
        emitted, tables = UnorderedUpdate(aggregation, command, parts, store).run()
        block.add(tables)
        for rows in emitted or ():
            results.add(rows)
        after_piece()
    return AggregateReport(task.slot, results.close(), block.close())


class UnorderedUpdate(PieceUpdate[list[pa.RecordBatch]]):
    """Emits the new values of the groups that the step touched."""

    def run(self) -> Update[list[pa.RecordBatch]]:
        emitted, added = super().run()
        if self._command.first and self._has_only_group and not any(rows.num_rows for rows in emitted or ()):
            emitted = [empty_total(self._aggregation)]
        return emitted, added

    @property
    def _has_only_group(self) -> bool:
        """Whether this piece has the single group of an aggregation without groups."""
        part = int(part_of(self._aggregation, only_group(), self._command.aggregate.parts)[0])
        return part in self._parts.numbers and self._parts.in_piece(only_group()).num_rows > 0

    def _fresh(self) -> Tables:
        tables: dict[int, list[pa.Table]] = {}
        for partial in self._command.partials:
            for number, table in self._tables(partial.file):
                tables.setdefault(number, []).append(table)
        return {number: add_up(self._aggregation, number, parts) for number, parts in tables.items()}

    def _distinct(self, fresh: Tables) -> Update[list[pa.RecordBatch]]:
        if 0 not in fresh:
            return None, {}
        novel = self._parts.novel(0, fresh[0])
        return [finish(self._aggregation, rows, {}) for rows in table_pieces(novel)], {0: novel}

    def _total(self, fresh: Tables) -> Update[list[pa.RecordBatch]]:
        """A distinct value adds to its group's count only if it is not stored yet."""
        if 0 not in fresh:
            return None, {}
        main, added = [fresh[0]], {}
        for number in range(1, 1 + len(self._aggregation.sets)):
            if number in fresh:
                added[number] = self._parts.novel(number, fresh[number])
                main.append(distinct_counts(self._aggregation, number, added[number]))
        added[0] = add_up(self._aggregation, 0, main)
        known = self._parts.known(0, added[0], group_hashes(self._aggregation, added[0]))
        totals = add_up(self._aggregation, 0, [marked_as(1, added[0]), marked_as(0, known)])
        return [self._values(totals, {})], added

    def _slide(self, fresh: Tables) -> Update[list[pa.RecordBatch]]:
        """Groups that gained or lost results are computed again from live rows."""
        cut = self._oldest_counting
        added = {number: since(table, cut) for number, table in fresh.items()}
        before = oldest_counting(self._command.aggregate.newest_us, self._aggregation.over_us)
        groups = self._touched_groups(added.get(0), before, cut)
        if groups is None:
            return None, added
        hashes = group_hashes(self._aggregation, groups)
        live = [marked_as(0, table.drop_columns([TIME])) for table in self._live(0, hashes, added)]
        totals = add_up(self._aggregation, 0, [marked_as(1, groups), *live])
        sets = {}
        for number, call in enumerate(self._aggregation.sets, start=1):
            tables = self._live(number, hashes, added)
            sets[call] = add_up(self._aggregation, number, tables) if tables else groups.slice(0, 0)
        return [self._values(totals, sets)], added

    def _oldest_kept(self) -> int | None:
        return self._oldest_counting if self._aggregation.slides else self._command.forget_us

    @property
    def _oldest_counting(self) -> int:
        return oldest_counting(self._command.newest_us, self._aggregation.over_us)

    def _live(self, number: int, hashes: Keys, added: Tables) -> list[pa.Table]:
        """The live rows with these hashes, including the step's own."""
        tables = [since(table, self._oldest_counting) for table in self._parts.found(number, hashes)]
        return [*tables, *([added[number]] if number in added else [])]

    def _values(self, totals: pa.Table, sets: dict[int, pa.Table]) -> pa.RecordBatch:
        """The values of the groups that the step touched; a group that only has the same hash is filtered out."""
        totals = totals.filter(pc.equal(totals[FRESH], 1)).drop_columns([FRESH])
        return finish(self._aggregation, totals.combine_chunks(), sets)
