"""What a slot counts of its partition groups: bytes, new rows and results, by footers of blocks and by pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from braid.engine.reports import GroupCount
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.grouping import groups_of_keys
from braid.kernels.keys import part_keys
from braid.kernels.rows import Pairs, Rows
from braid.placement.deferral import PartView, Shown
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block


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

    def stored(self, blocks: Iterable[Block]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows and bytes of each group in these blocks, of newest parts and then of earlier ones.

        They are 0 for groups of other slots.
        """
        count = len(self._units)
        rows, sizes = np.zeros((2, count)), np.zeros((2, count))
        for block in blocks:
            groups, own_rows, own_bytes = self._store.reader(block.file).group_totals
            newest = self._view.in_memory(block.first_step)
            shown = np.ones(count, bool) if newest is None else newest
            for part, chosen in enumerate((shown, ~shown)):
                rows[part] += np.bincount(groups, own_rows, count) * chosen
                sizes[part] += np.bincount(groups, own_bytes, count) * chosen
        rows[:, ~self._owned] = sizes[:, ~self._owned] = 0
        return rows.round().astype(np.int64), sizes.round().astype(np.int64)

    def by_unit(self, blocks: Iterable[Block]) -> Iterator[tuple[int, int, int]]:
        """The unit, rows and bytes of this slot's groups in these blocks."""
        rows, sizes = (totals.sum(axis=0) for totals in self.stored(blocks))
        for unit in np.unique(self._units[self._owned]).tolist():
            own = self._units == unit
            yield unit, int(rows[own].sum()), int(sizes[own].sum())

    def report(self, blocks: Iterable[Block], new: Iterable[Block]) -> tuple[GroupCount, ...]:
        """The counts of every group of the slot; `blocks` are all that are stored, `new` those of the step."""
        (_, pushed_rows), (sizes, pushed_sizes) = self.stored(blocks)
        counted = sizes, self.stored(new)[0][0], self._results, pushed_rows, pushed_sizes
        columns = (np.flatnonzero(self._owned), *(column[self._owned] for column in counted))
        return tuple(GroupCount(*row) for row in zip(*(column.tolist() for column in columns), strict=True))
