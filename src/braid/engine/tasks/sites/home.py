"""What the site of a stored stream does: keep the copies of other sites up to date, and answer their requests.

A row is sent to a copy once. Of a copy with requested rows, the site remembers for which partial tuples all rows up to
a step were sent; of one with counts, for which tuples rows are sent as they arrive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from braid.engine.commands import SiteCommand
from braid.engine.tasks.sites.messages import Outbox, Topic, tuple_batch
from braid.engine.tasks.sites.stored_rows import OpenSegment, UnitRows
from braid.engine.tasks.sites.tables import BUFFERED_SINCE, COUNT, NEWEST, REQUESTED, STEP, UNTIL, UnitTables, with_flag
from braid.kernels.keys import common_keys
from braid.kernels.rows import Rows, concat_rows
from braid.kernels.semijoins.reducing import matching, stored_tuples
from braid.kernels.semijoins.tuple_tables import Tuples, TupleTable, count_changes, distinct, is_among
from braid.optimizer.semijoins.reduction import Reduction
from braid.placement.sites import units_at
from braid.plan.join import JoinPlan, step_column
from braid.plan.sites import Copy, Partial

Mask = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]
NO_TIMES: Times = np.zeros(0, np.int64)
ProbingRows = Rows | None


@dataclass(frozen=True)
class Asked:
    """What is asked of a stored stream: partial tuples of probing rows, and the columns of those that have any.

    `intervals` are those of event time that the probing rows are of.
    """

    reduction: Reduction
    tuples: Tuples
    rows: ProbingRows
    intervals: int = 1


class Home:
    """The stored rows of a unit's own streams, as other sites see them."""

    def __init__(
        self, plan: JoinPlan, command: SiteCommand, tables: UnitTables, outbox: Outbox, rows: dict[int, UnitRows]
    ) -> None:
        self._plan = plan
        self._command = command
        self._layout = command.layout
        self._tables = tables
        self._outbox = outbox
        self._rows = rows

    def update_copies(self) -> None:
        """Send what the copies of this site's streams need of the step's rows, and of those that expired."""
        for number, copy in enumerate(self._command.copies):
            if copy.stream not in self._rows:
                continue
            fresh = copy.since == self._command.step
            rows = self._rows[copy.stream]
            new = self._live(copy.stream, rows.starting())
            old = self._live(copy.stream, rows.admitted_before()) if fresh else []
            gone = [] if fresh else list(rows.departing(self._command.expired))
            if copy.kind == "rows":
                self._send_rows(Topic("copied", copy=number), copy, old)
                self._send_rows(Topic("copied", copy=number, new=True), copy, new, self._when(copy, new))
            elif copy.has_values:
                self._send_counts(number, copy, [*old, *new], gone, new)
            else:
                self._send_expired(number, copy, gone, new)

    def answer_rows(self, number: int, copy: Copy, asked: Asked) -> None:
        """Send the rows that match probing tuples (SM-S1), or have the requested tuples (SM-S2), if not sent yet."""
        found: dict[bool, list[Rows]] = {False: [], True: []}
        requested: list[Tuples] = [asked.tuples[:0] if copy.kind == "mixed" else self._no_tuples(copy)]
        wanted = self._unsent_tuples(number, asked.tuples) if copy.kind == "mixed" else asked.tuples
        for opened, rows, places in self._matching(copy, replace(asked, tuples=wanted)):
            tuples = stored_tuples(self._plan, copy.stream, self._partial(copy), rows)[places]
            requested.append(distinct(tuples)[0])
            own = self._rows[copy.stream]
            times = own.times(rows)[places]
            chosen = own.is_admitted(opened.block, times) & self._is_live(copy.stream, times)
            if copy.kind == "requested":
                chosen &= ~self._was_sent(number, tuples, own.steps(rows)[places], times)
            for is_new in (False, True):
                part = places[chosen & (own.is_new(opened.block, times) == is_new)]
                if len(part):
                    found[is_new].append(rows.take(part))
        for is_new, parts in found.items():
            self._send_rows(Topic("copied", copy=number, new=is_new, intervals=asked.intervals), copy, parts)
        self._remember(number, copy, distinct(np.concatenate(requested))[0])

    def matching_tuples(self, stream: int, asked: Asked) -> Mask:
        """Which probing tuples match a stored row that the step or an earlier one has admitted (SM-D2)."""
        found = np.zeros(len(asked.tuples), bool)
        for opened in self._rows[stream].segments():
            rows: Rows | None = None
            for probing, stored in matching(
                self._plan, asked.reduction.probe, asked.tuples, asked.rows, opened.searchable
            ):
                rows = opened.read() if rows is None else rows
                times = self._rows[stream].times(rows)[stored]
                found[probing[self._rows[stream].is_admitted(opened.block, times)]] = True
        return found

    def _matching(self, copy: Copy, asked: Asked) -> Iterator[tuple[OpenSegment, Rows, npt.NDArray[np.int64]]]:
        """The segments with rows that are asked for, their rows, and the places of those."""
        if len(asked.tuples) == 0:
            return
        for opened in self._rows[copy.stream].segments():
            if copy.kind == "mixed" and copy.partial is not None and copy.partial.columns:
                rows = opened.read()
                own = stored_tuples(self._plan, copy.stream, copy.partial, rows)
                places = np.flatnonzero(is_among(own, asked.tuples))
            else:
                pairs = matching(self._plan, asked.reduction.probe, asked.tuples, asked.rows, opened.searchable)
                places = np.unique(np.concatenate([np.zeros(0, np.int64), *(stored for _, stored in pairs)]))
                rows = opened.read() if len(places) else Rows({}, {}, 0)
            if len(places):
                yield opened, rows, places

    def _send_rows(self, topic: Topic, copy: Copy, parts: Sequence[Rows], times: Times | None = None) -> None:
        """Rows to the units of the copy's site that have their keys; with `times` they are sent as they come."""
        if not parts:
            return
        rows = concat_rows(parts)
        names = [name for name in rows.columns if name != step_column(copy.stream)]
        for unit, places in self._by_unit(copy, rows):
            batch = rows.take(places).to_batch(names)
            self._outbox.send(unit, topic, batch, None if times is None else times[places])

    def _send_counts(
        self, number: int, copy: Copy, arrived: Sequence[Rows], gone: Sequence[Rows], new: Sequence[Rows]
    ) -> None:
        """The counts that changed, and the new rows of tuples that were requested before."""
        partial = self._partial(copy)
        table = self._tables.table(number, "home")
        flags = self._flags(copy, table, new)
        come, left = (self._tuples(copy, parts) for parts in (arrived, gone))
        changes = count_changes(table, come, left)
        changes = with_flag(changes, table.numbers_of(changes.tuples, REQUESTED))
        self._tables.change(number, "home", changes)
        sent = TupleTable(changes.tuples, {COUNT: changes.numbers[COUNT]})
        times = self._when(copy, new, gone)
        for unit, mask in self._units_of_tuples(copy, partial, sent.tuples, (*arrived, *gone)):
            part = sent.where(mask)
            batch = tuple_batch(part.tuples, part)
            self._outbox.send(unit, Topic("counts", copy=number), batch, times)
        if copy.kind == "mixed":
            kept = [rows.take(np.flatnonzero(flag)) for rows, flag in zip(new, flags, strict=True) if flag.any()]
            self._send_rows(Topic("copied", copy=number, new=True), copy, kept, self._when(copy, kept))

    def _when(self, copy: Copy, new: Sequence[Rows], gone: Sequence[Rows] = ()) -> Times:
        """When new rows came, and when others left: as long after their own times as those that leave last."""
        own = self._rows[copy.stream]
        came, old = (np.concatenate([NO_TIMES, *(own.times(rows) for rows in parts)]) for parts in (new, gone))
        until = self._command.departed_until[copy.stream]
        if len(came) == 0 or len(old) == 0 or until is None:
            return came
        return np.concatenate([came, np.maximum(old + (came.max() - until), came.min())])

    def _flags(self, copy: Copy, table: TupleTable, parts: Sequence[Rows]) -> list[Mask]:
        """Which rows have tuples whose rows were requested before this step."""
        partial = self._partial(copy)
        found = (stored_tuples(self._plan, copy.stream, partial, rows) for rows in parts)
        return [table.numbers_of(tuples, REQUESTED) > 0 for tuples in found]

    def _send_expired(self, number: int, copy: Copy, gone: Sequence[Rows], new: Sequence[Rows]) -> None:
        """How many of the rows that were sent have expired; the copy is a queue, of which these are the first."""
        own, expired = self._rows[copy.stream], defaultdict[int, int](int)
        for rows in gone:
            tuples = stored_tuples(self._plan, copy.stream, self._partial(copy), rows)
            sent = self._was_sent(number, tuples, own.steps(rows), own.times(rows))
            for unit, places in self._by_unit(copy, rows.take(np.flatnonzero(sent))):
                expired[unit] += len(places)
        for unit, count in sorted(expired.items()):
            batch, times = tuple_batch(np.array([[count]], np.int64)), self._when(copy, new, gone)
            self._outbox.send(unit, Topic("expired", copy=number), batch, times)

    def _remember(self, number: int, copy: Copy, tuples: Tuples) -> None:
        """That all rows of some tuples were sent."""
        count = len(tuples)
        if copy.kind == "mixed":
            counts = self._tables.table(number, "home").numbers_of(tuples, COUNT)
            marked = with_flag(TupleTable(tuples, {COUNT: counts}), np.ones(count, np.int64))
            self._tables.change(number, "home", marked)
            return
        own, until = self._rows[copy.stream], self._command.common.admission.now_us
        sent = {BUFFERED_SINCE: own.buffered_since, STEP: self._command.step, UNTIL: until, NEWEST: own.newest_us}
        numbers = {name: np.full(count, value, np.int64) for name, value in sent.items()}
        self._tables.change(number, "shipped", TupleTable(tuples, numbers))

    def _was_sent(
        self, number: int, tuples: Tuples, steps: npt.NDArray[np.int64], times: npt.NDArray[np.int64]
    ) -> Mask:
        """Which rows were sent to a copy with requested rows."""
        table = self._tables.table(number, "shipped")
        known = {name: table.numbers_of(tuples, name, default=-1) for name in (BUFFERED_SINCE, STEP, UNTIL)}
        return (steps < known[BUFFERED_SINCE]) | ((steps <= known[STEP]) & (times <= known[UNTIL]))

    def _unsent_tuples(self, number: int, tuples: Tuples) -> Tuples:
        """The requested tuples whose rows are not sent as they arrive yet."""
        unsent: Tuples = tuples[self._tables.table(number, "home").numbers_of(tuples, REQUESTED) == 0]
        return unsent

    def _live(self, stream: int, parts: Iterable[Rows]) -> list[Rows]:
        """The rows that may still find partners."""
        found = []
        for rows in parts:
            live = self._is_live(stream, self._rows[stream].times(rows))
            if live.any():
                found.append(rows if live.all() else rows.take(np.flatnonzero(live)))
        return found

    def _is_live(self, stream: int, times: npt.NDArray[np.int64]) -> Mask:
        departed = self._command.departed_until[stream]
        return np.ones(len(times), bool) if departed is None else times >= departed

    def _tuples(self, copy: Copy, parts: Sequence[Rows]) -> Tuples:
        partial = self._partial(copy)
        found = [stored_tuples(self._plan, copy.stream, partial, rows) for rows in parts]
        return np.concatenate([self._no_tuples(copy), *found])

    def _by_unit(self, copy: Copy, rows: Rows) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        """The rows of each unit of the copy's site."""
        keys = common_keys(self._plan, copy.stream, rows)
        units = units_at(self._layout, copy.site, keys, rows.length)
        for unit in np.unique(units).tolist():
            yield unit, np.flatnonzero(units == unit)

    def _units_of_tuples(
        self, copy: Copy, partial: Partial, tuples: Tuples, parts: Sequence[Rows]
    ) -> Iterator[tuple[int, Mask]]:
        """The tuples of each unit of the copy's site: those of the rows that go there."""
        if len(tuples) == 0:
            return
        rows = concat_rows([rows for rows in parts if rows.length])
        own = stored_tuples(self._plan, copy.stream, partial, rows)
        for unit, places in self._by_unit(copy, rows):
            mask = is_among(tuples, distinct(own[places])[0])
            if mask.any():
                yield unit, mask

    def _partial(self, copy: Copy) -> Partial:
        if copy.partial is None:
            raise ValueError("a copy of all rows has no partial tuples")
        return copy.partial

    def _no_tuples(self, copy: Copy) -> Tuples:
        return np.zeros((0, self._partial(copy).width), np.int64)
