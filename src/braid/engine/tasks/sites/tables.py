"""The tables of partial tuples of a unit in a step: as they were stored, with the changes of this step.

A table is a sequence of files: the first has all of it, or what it began with, later ones change it. The changes of a
step are written once, after its last round; until then they pass from round to round with the unit's messages.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from braid.engine.commands import SiteCommand
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.sites.messages import batch_table, tuple_batch
from braid.kernels.semijoins.tuple_tables import TupleTable
from braid.plan.sites import Partial
from braid.state.blocks import BlockWriter
from braid.state.files import Files
from braid.state.site_state import TableRole, TupleFiles

# Of tuples with counts: how many rows have them, whether these were requested, and at a copy which unit stores them.
COUNT, REQUESTED, STORED_AT = "count", "requested", "at"
# Of tuples whose rows were sent: all of steps before one, and of later ones those up to an event time; and the newest
# event time of all of them.
BUFFERED_SINCE, STEP, UNTIL, NEWEST = "buffered", "step", "until", "newest"
NUMBERS: dict[TableRole, tuple[str, ...]] = {
    "home": (COUNT, REQUESTED),
    "remote": (COUNT, REQUESTED, STORED_AT),
    "shipped": (BUFFERED_SINCE, STEP, UNTIL, NEWEST),
}
Place = tuple[int, TableRole]
# A table is written as a whole when its changes have this many times its rows; reading them costs as much.
MOST_CHANGES = 2
MIN_CHANGED_ROWS = 4096


class UnitTables:
    """The tables at one unit; `changes` are those of earlier rounds of the step."""

    def __init__(
        self, command: SiteCommand, unit: int, store: SegmentStore, changes: Mapping[Place, TupleTable]
    ) -> None:
        self._command = command
        self._unit = unit
        self._store = store
        self._files = {(table.copy, table.role): table.files for table in command.tables if table.unit == unit}
        self._tables: dict[Place, TupleTable] = {}
        self.changes = dict(changes)

    def table(self, copy: int, role: TableRole) -> TupleTable:
        """A table as it is now."""
        found = self._tables.get((copy, role))
        if found is None:
            found = self._stored(copy, role)
            pending = self.changes.get((copy, role))
            if pending is not None:
                found = self._kept(copy, role, found.changed(pending.tuples, pending.numbers))
            self._tables[copy, role] = found
        return found

    def change(self, copy: int, role: TableRole, changes: TupleTable) -> None:
        """Give distinct tuples other numbers."""
        if changes.length == 0:
            return
        table = self.table(copy, role)
        self._tables[copy, role] = self._kept(copy, role, table.changed(changes.tuples, changes.numbers))
        known = self.changes.get((copy, role), TupleTable.empty(changes.tuples.shape[1], NUMBERS[role]))
        self.changes[copy, role] = known.changed(changes.tuples, changes.numbers)

    def write(self, files: Files, path: str) -> tuple[TupleFiles, ...]:
        """Write the changes of the step, or whole tables that have changed much; the files of all tables."""
        places = dict.fromkeys([*self._files, *self.changes])
        return tuple(
            TupleFiles(copy, role, self._unit, self._written(copy, role, files, f"{path}-{copy}{role}.tuples"))
            for copy, role in places
        )

    def _written(self, copy: int, role: TableRole, files: Files, path: str) -> tuple[str, ...]:
        known, changes = self._files.get((copy, role), ()), self.changes.get((copy, role))
        if changes is None:
            return known
        table = self.table(copy, role)
        rows = changes.length + sum(s.rows for file in known for s in self._store.reader(file).segments)
        whole = rows > max(MIN_CHANGED_ROWS, MOST_CHANGES * table.length)
        with BlockWriter(files, path) as writer:
            own = table if whole else changes
            if own.length:
                writer.add(self._unit, 0, tuple_batch(own.tuples, own), 0, 0)
        name = path.rsplit("/", 1)[1]
        return (name,) if whole else (*known, name)

    def _stored(self, copy: int, role: TableRole) -> TupleTable:
        partial = self._command.copies[copy].partial or Partial(0)
        table = TupleTable.empty(partial.width, NUMBERS[role])
        for file in self._files.get((copy, role), ()):
            reader = self._store.reader(file)
            for segment in reader.segments:
                changed = batch_table(reader.batch(segment))
                table = self._kept(copy, role, table.changed(changed.tuples, changed.numbers))
        return self._kept(copy, role, table)

    def _kept(self, copy: int, role: TableRole, table: TupleTable) -> TupleTable:
        """The table without tuples that no live row has."""
        if role != "shipped":
            return table.where(table.numbers[COUNT] > 0)
        departed = self._command.departed_before[self._command.copies[copy].stream]
        return table if departed is None else table.where(table.numbers[NEWEST] >= departed)


def with_flag(tuples: TupleTable, requested: npt.NDArray[np.int64]) -> TupleTable:
    """Tuples with whether their rows were requested."""
    return TupleTable(tuples.tuples, {**tuples.numbers, REQUESTED: requested})
