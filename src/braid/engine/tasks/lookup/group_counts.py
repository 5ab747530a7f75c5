"""What a slot counts of its partition groups: bytes, new rows and results, by footers of blocks and by pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from braid.engine.reports import GroupCount
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.grouping import groups_of_keys
from braid.kernels.keys import part_keys
from braid.kernels.rows import Pairs, Rows
from braid.placement.deferral import Mask, PartView, Shown
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block

Counts = npt.NDArray[np.int64]


class VisibleRows:
    """The probing rows whose groups are visible in some blocks: one selection for all blocks that show the same."""

    def __init__(self, plan: JoinPlan, view: PartView, stream: int, rows: Rows) -> None:
        self._plan = plan
        self._view = view
        self._stream = stream
        self._rows = rows
        self._known: dict[Shown, Rows] = {}

    @cached_property
    def _groups(self) -> npt.NDArray[np.int64]:
        part = self._plan.common_part
        if part is None:
            raise ValueError("partition groups need a key that all streams share")
        return groups_of_keys(part_keys(self._plan.parts[part], self._stream, self._rows), self._view.count)

    def of(self, shown: Shown) -> Rows:
        """The rows that see what blocks show."""
        found = self._known.get(shown)
        if found is None:
            seeing = self._view.mask(shown)[self._groups]
            found = self._known[shown] = self._rows if seeing.all() else self._rows.take(np.flatnonzero(seeing))
        return found


class GroupCounts:
    """The partition groups of a slot, whose units in the newest layout are `own`."""

    def __init__(
        self, plan: JoinPlan, layout: Layout, own: frozenset[int], view: PartView, store: SegmentStore
    ) -> None:
        self._plan = plan
        self._view = view
        self._store = store
        self._units = np.array(layout.group_units, np.int64)
        self._owned = np.isin(self._units, list(own))
        self._results = np.zeros(len(self._units), np.int64)

    def add(self, stream: int, pairs: Pairs) -> None:
        """Count results that rows of a stream have found. What the JVM leaves of them is not known here."""
        if self._plan.common_part is not None:
            keys = part_keys(self._plan.parts[self._plan.common_part], stream, pairs)
            count = len(self._units)
            self._results += np.bincount(groups_of_keys(keys, count), minlength=count)

    def stored(self, blocks: Iterable[Block], which: Callable[[Block], Mask | None]) -> tuple[Counts, Counts]:
        """The rows and bytes of each group in these blocks, of those of its groups that count; None: all.

        They are 0 for groups of other slots.
        """
        count = len(self._units)
        rows, sizes = np.zeros(count), np.zeros(count)
        for block in blocks:
            chosen = which(block)
            if chosen is not None and not chosen.any():
                continue
            groups, own_rows, own_bytes = self._store.reader(block.file).groups.totals
            rows += np.bincount(groups, own_rows, count) * (1 if chosen is None else chosen)
            sizes += np.bincount(groups, own_bytes, count) * (1 if chosen is None else chosen)
        rows[~self._owned] = sizes[~self._owned] = 0
        return rows.round().astype(np.int64), sizes.round().astype(np.int64)

    def _in_memory(self, block: Block) -> Mask | None:
        return self._view.in_memory(block.last_step)

    def by_unit(self, blocks: Iterable[Block]) -> Iterator[tuple[int, int, int]]:
        """The unit, rows and bytes of this slot's groups in these blocks, of newest parts."""
        rows, sizes = self.stored(blocks, self._in_memory)
        for unit in np.unique(self._units[self._owned]).tolist():
            own = self._units == unit
            yield unit, int(rows[own].sum()), int(sizes[own].sum())

    def report(self, blocks: Sequence[Block], step: int) -> tuple[GroupCount, ...]:
        """The counts of every group of the slot, of the blocks that a step reads and stores."""
        new = [block for block in blocks if block.first_step == step]
        pushed = self.stored(blocks, lambda block: self._view.pushed_at(step, block.last_step))
        sizes, inserted = self.stored(blocks, self._in_memory)[1], self.stored(new, self._in_memory)[0]
        counted = sizes, inserted, self._results, *pushed
        columns = (np.flatnonzero(self._owned), *(column[self._owned] for column in counted))
        return tuple(GroupCount(*row) for row in zip(*(column.tolist() for column in columns), strict=True))
