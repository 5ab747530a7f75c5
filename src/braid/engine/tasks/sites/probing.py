"""What the site of probing rows does before they are looked up: send them, or what a semijoin leaves of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.engine.commands import SiteCommand
from braid.engine.tasks.sites.home import Asked
from braid.engine.tasks.sites.messages import Outbox, Topic, tuple_batch
from braid.engine.tasks.sites.tables import COUNT, REQUESTED, STORED_AT, UnitTables, with_flag
from braid.kernels.keys import part_keys
from braid.kernels.rows import Rows
from braid.kernels.semijoins.reducing import matching, probing_tuples, tuple_rows, tuple_segment
from braid.kernels.semijoins.tuple_tables import Mask, Tuples, TupleTable, distinct, is_among
from braid.optimizer.semijoins.copies import joined_before, required_reduction
from braid.optimizer.semijoins.reduction import Reduction
from braid.placement.site_rounds import Deed
from braid.placement.sites import units_at
from braid.plan.join import JoinPlan
from braid.plan.stored_types import joined_types


class Prober:
    """Rows that are about to look up a stream of another site."""

    def __init__(self, plan: JoinPlan, command: SiteCommand, tables: UnitTables, outbox: Outbox) -> None:
        self._plan = plan
        self._command = command
        self._tables = tables
        self._outbox = outbox

    def send_rows(self, deed: Deed, rows: Rows) -> None:
        """Rows to the unit at the stored stream's site that has their keys."""
        topic = Topic("rows", deed.head, deed.position)
        times = self._times(deed, rows)
        for unit, places in self._by_unit(deed, rows):
            self._outbox.send(unit, topic, rows.take(places).to_batch(), times[places])

    def send_keys(self, deed: Deed, rows: Rows) -> None:
        """The distinct partial tuples of rows."""
        tuples, times = self.tuples(deed, rows), self._times(deed, rows)
        for unit, places in self._by_unit(deed, rows):
            batch = tuple_batch(distinct(tuples[places])[0])
            self._outbox.send(unit, Topic("keys", deed.head, deed.position), batch, times[places])

    def request_rows(self, deed: Deed, copy: int, rows: Rows) -> None:
        """Ask for the rows of those tuples of a copy that match and were not asked for before (SM-S2)."""
        table = self._tables.table(copy, "remote")
        _, matched = self._match(deed, copy, rows)
        unasked = table.where(matched & (table.numbers[REQUESTED] == 0))
        if unasked.length == 0:
            return
        asked = with_flag(unasked, np.ones(unasked.length, np.int64))
        self._tables.change(copy, "remote", asked)
        times = self._times(deed, rows)
        for unit in np.unique(unasked.numbers[STORED_AT]).tolist():
            batch = tuple_batch(unasked.tuples[unasked.numbers[STORED_AT] == unit])
            self._outbox.send(unit, Topic("keys", deed.head, deed.position), batch, times)

    def send_by_copy(self, deed: Deed, copy: int, rows: Rows) -> None:
        """The rows that match a tuple of the copy (SM-D1)."""
        probing, _ = self._match(deed, copy, rows)
        if probing.any():
            self.send_rows(deed, rows if probing.all() else rows.take(np.flatnonzero(probing)))

    def send_by_answer(self, deed: Deed, rows: Rows, answer: Tuples) -> None:
        """The rows whose tuples came back (SM-D2)."""
        matched = is_among(self.tuples(deed, rows), answer)
        if matched.any():
            self.send_rows(deed, rows.take(np.flatnonzero(matched)))

    def tuples(self, deed: Deed, rows: Rows) -> Tuples:
        reduction = self.reduction(deed)
        return probing_tuples(self._plan, reduction.probe, reduction.probing, rows)

    def reduction(self, deed: Deed) -> Reduction:
        joined = joined_before(deed.head, self._command.sequences[deed.head], deed.position)
        return required_reduction(self._plan, joined, deed.stream, deed.algorithm)

    def asked(self, deed: Deed, tuples: Tuples) -> Asked:
        """Tuples of probing rows, with their columns where a semijoin compares these."""
        reduction = self.reduction(deed)
        rows = None
        if not reduction.by_key:
            rows = self._rows_of(reduction.probing, tuples)
        return Asked(reduction, tuples, rows)

    def requested(self, deed: Deed, tuples: Tuples) -> Asked:
        """Tuples of stored rows."""
        return Asked(self.reduction(deed), tuples, None)

    def _match(self, deed: Deed, copy: int, rows: Rows) -> tuple[Mask, Mask]:
        """Which rows match a tuple of a copy, and which tuples match a row."""
        table, reduction = self._tables.table(copy, "remote"), self.reduction(deed)
        tuples = self.tuples(deed, rows)
        if reduction.by_key:
            return is_among(tuples, table.tuples), is_among(table.tuples, tuples)
        probing, stored = np.zeros(rows.length, bool), np.zeros(table.length, bool)
        segment = tuple_segment(reduction.probe, self._rows_of(reduction.stored.columns, table.tuples))
        for left, right in matching(self._plan, reduction.probe, tuples, rows, segment):
            probing[left] = stored[right] = True
        return probing, stored

    def _rows_of(self, columns: tuple[str, ...], tuples: Tuples) -> Rows:
        """Partial tuples as rows with these columns."""
        streams = range(len(self._plan.streams))
        schema = pa.schema([field for stream in streams for field in self._plan.schemas[stream]])
        return tuple_rows(tuples, columns, joined_types(self._plan, streams), schema)

    def _times(self, deed: Deed, rows: Rows) -> npt.NDArray[np.int64]:
        return rows.times(self._plan.streams[deed.head].time)

    def _by_unit(self, deed: Deed, rows: Rows) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        """The rows for each unit of the stored stream's site."""
        common = self._plan.common_part
        keys = None if common is None else part_keys(self._plan.parts[common], deed.head, rows)
        units = units_at(self._command.layout, self._command.layout.homes[deed.stream], keys, rows.length)
        for unit in np.unique(units).tolist():
            yield unit, np.flatnonzero(units == unit)


def apply_counts(tables: UnitTables, copy: int, changes: TupleTable, sender: int) -> None:
    """New counts of a copy's tuples, as a unit of the stream's site sent them."""
    requested = tables.table(copy, "remote").numbers_of(changes.tuples, REQUESTED)
    stored_at = np.full(changes.length, sender, np.int64)
    numbers = {COUNT: changes.numbers[COUNT], REQUESTED: requested, STORED_AT: stored_at}
    tables.change(copy, "remote", TupleTable(changes.tuples, numbers))
