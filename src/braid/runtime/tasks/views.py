"""The merged view of a summary: a slot adds the step's partial summaries of its parts to what the view knows.

Blocks of the view hold partial totals, and a group's value is what all its rows in all blocks come to. So a step
writes only what it adds, looks up only the groups it touches, and takes in older blocks now and then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.keys import Keys
from braid.kernels.summing import (
    FRESH,
    HASH,
    TIME,
    add_up,
    finish,
    group_hashes,
    group_names,
    marked_as,
    newly_counted,
    nothing_of,
    only_group,
    total_of_nothing,
    unseen,
    with_hashes,
)
from braid.plan.summary import Summary
from braid.runtime.orders import ViewOrder
from braid.runtime.tasks.partials import part_of, write_tables
from braid.runtime.tasks.results import ResultWriter
from braid.runtime.tasks.segments import SegmentStore
from braid.state.blocks import Segment
from braid.state.files import Files

Tables = dict[int, pa.Table]


class SlotView:
    """A slot's part in one update of the view."""

    def __init__(self, summary: Summary, order: ViewOrder, slot: int, slots: int, store: SegmentStore) -> None:
        self._summary = summary
        self._order = order
        self._store = store
        self._parts = [part for part in range(order.view.parts) if part % slots == slot]

    def update(self) -> tuple[pa.RecordBatch | None, Tables]:
        """What leaves, if anything, and the tables of this slot's new block."""
        fresh = self._fresh()
        if self._summary.is_distinct:
            leaving, added = self._let_out_once(fresh)
        elif self._summary.slides:
            leaving, added = self._slide(fresh)
        else:
            leaving, added = self._total(fresh)
        if self._order.first and self._has_only_group and (leaving is None or leaving.num_rows == 0):
            leaving = total_of_nothing(self._summary)
        return leaving, self._absorb(added)

    @property
    def _has_only_group(self) -> bool:
        """Whether the one group of an aggregation without groups is in a part of this slot."""
        return int(part_of(only_group(), self._order.view.parts)[0]) in self._parts

    def _let_out_once(self, fresh: Tables) -> tuple[pa.RecordBatch | None, Tables]:
        if 0 not in fresh:
            return None, {}
        known = self._known(0, fresh[0], _hashes(self._summary, 0, fresh[0]))
        novel = unseen(self._summary, 0, fresh[0], known)
        return finish(self._summary, novel, {}), {0: novel}

    def _total(self, fresh: Tables) -> tuple[pa.RecordBatch | None, Tables]:
        """Over all results: a set adds to its group's count what it had not seen."""
        if 0 not in fresh:
            return None, {}
        main, added = [fresh[0]], {}
        for number, call in enumerate(self._summary.sets, start=1):
            if number in fresh:
                known = self._known(number, fresh[number], _hashes(self._summary, number, fresh[number]))
                added[number] = unseen(self._summary, number, fresh[number], known)
                main.append(newly_counted(call, added[number]))
        added[0] = add_up(self._summary, 0, main)
        known = self._known(0, added[0], group_hashes(added[0]))
        totals = add_up(self._summary, 0, [marked_as(1, added[0]), marked_as(0, known)])
        return self._leaving(totals, {}), added

    def _slide(self, fresh: Tables) -> tuple[pa.RecordBatch | None, Tables]:
        """Over a stretch of result time: groups that gained or lost results are counted anew from what is live."""
        added = {number: _since(table, self._cut) for number, table in fresh.items()}
        touched = [*([added[0]] if 0 in added else []), *self._lost()]
        touched = [table for table in touched if table.num_rows]
        if not touched:
            return None, added
        groups = nothing_of(pa.concat_tables([table.select(group_names(table)) for table in touched]))
        hashes = group_hashes(groups)
        live = [marked_as(0, table.drop_columns([TIME])) for table in self._live(0, hashes, added)]
        totals = add_up(self._summary, 0, [marked_as(1, groups), *live])
        sets = {}
        for number, call in enumerate(self._summary.sets, start=1):
            tables = self._live(number, hashes, added)
            sets[call] = add_up(self._summary, number, tables) if tables else groups.slice(0, 0)
        return self._leaving(totals, sets), added

    def _live(self, number: int, hashes: Keys, added: Tables) -> list[pa.Table]:
        """The rows under these hashes that count, the step's own among them."""
        tables = [_since(table, self._cut) for table in self._found(number, hashes)]
        return [*tables, *([added[number]] if number in added else [])]

    def _leaving(self, totals: pa.Table, sets: dict[int, pa.Table]) -> pa.RecordBatch:
        """The groups that the step touched; one that only shares a hash with them was looked up in vain."""
        totals = totals.filter(pc.equal(totals[FRESH], 1)).drop_columns([FRESH])
        return finish(self._summary, totals.combine_chunks(), sets)

    @property
    def _cut(self) -> int:
        """The oldest result time that still counts."""
        return _before(self._order.newest_us, self._summary.over_us)

    def _lost(self) -> Iterator[pa.Table]:
        """Rows of table 0 that counted after the step before and no longer do."""
        since = _before(self._order.view.newest_us, self._summary.over_us)
        for file, segment in self._segments(0):
            if segment.min_time < self._cut:
                table = self._table(file, segment)
                times = table[TIME].to_numpy()
                yield table.filter(pa.array((times >= since) & (times < self._cut)))

    def _fresh(self) -> Tables:
        """The step's partial summaries of this slot's parts, added up."""
        tables: dict[int, list[pa.Table]] = {}
        for file in self._order.partials:
            for segment in self._store.reader(file).segments_of(None, self._parts):
                tables.setdefault(segment.unit, []).append(self._table(file, segment))
        return {number: add_up(self._summary, number, parts) for number, parts in tables.items()}

    def _known(self, number: int, like: pa.Table, hashes: Keys) -> pa.Table:
        """What the view knows under these hashes, with the columns of `like`."""
        found = [table.select([n for n in table.column_names if n != HASH]) for table in self._found(number, hashes)]
        return pa.concat_tables([like.slice(0, 0), *found], promote_options="default")

    def _found(self, number: int, hashes: Keys) -> list[pa.Table]:
        wanted = np.unique(hashes)
        found = []
        for file, segment in self._segments(number):
            table = self._table(file, segment)
            stored = table[HASH].to_numpy()
            places = _places(np.searchsorted(stored, wanted, "left"), np.searchsorted(stored, wanted, "right"))
            if len(places):
                found.append(table.take(pa.array(places)))
        return found

    def _absorb(self, added: Tables) -> Tables:
        """The step's own tables with those of the generations it takes in, without what is no longer needed."""
        tables = {number: [table] for number, table in added.items() if table.num_rows}
        for number in range(1 + len(self._summary.sets)):
            for file, segment in self._segments(number, self._order.absorbed):
                tables.setdefault(number, []).append(self._table(file, segment))
        kept = {}
        for number, parts in tables.items():
            whole = add_up(self._summary, number, parts)
            if self._summary.slides:
                whole = _since(whole, self._cut)
            elif self._order.forget_us is not None and TIME in whole.column_names:
                whole = _since(whole, self._order.forget_us)
            if whole.num_rows:
                kept[number] = whole
        return kept

    def _segments(self, number: int, generations: Sequence[int] | None = None) -> Iterator[tuple[str, Segment]]:
        for block in self._order.view.blocks:
            if generations is None or block.generation in generations:
                for segment in self._store.reader(block.file).segments_of([number], self._parts):
                    yield block.file, segment

    def _table(self, file: str, segment: Segment) -> pa.Table:
        return pa.Table.from_batches([self._store.reader(file).batch(segment)])


def write_update(
    view: SlotView, summary: Summary, parts: int, files: Files, path: str, results: ResultWriter | None
) -> dict[str, Any]:
    """Carry an update out: write the slot's block and what leaves, and report them."""
    leaving, tables = view.update()
    block = None
    if tables:
        rows, size = write_tables(summary, tables, parts, files, path)
        block = {"file": path.rsplit("/", 1)[1], "rows": rows, "size": size}
    count = 0 if leaving is None else leaving.num_rows
    if results is None:
        return {"results": count, "files": [], "view": block}
    if leaving is not None and count:
        results.add(leaving)
    results.close()
    return {"results": count, "files": [asdict(file) for file in results.written], "view": block}


def _hashes(summary: Summary, number: int, table: pa.Table) -> Keys:
    return np.asarray(with_hashes(summary, number, table)[HASH].to_numpy())


def _since(table: pa.Table, time_us: int) -> pa.Table:
    return table.filter(pc.greater_equal(table[TIME], time_us))


def _before(newest_us: int | None, over_us: int | None) -> int:
    least = int(np.iinfo(np.int64).min)
    return least if newest_us is None or over_us is None else max(least, newest_us - over_us)


def _places(start: npt.NDArray[np.int64], stop: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All places of all ranges."""
    counts = stop - start
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    places: npt.NDArray[np.int64] = np.repeat(start, counts) + offsets
    return places
