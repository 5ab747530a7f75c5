"""What a slot counts of its partition groups: bytes, new rows and results, by footers of blocks and by pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from braid.engine.reports import GroupCount
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.grouping import groups_of_keys
from braid.kernels.keys import part_keys
from braid.kernels.rows import Pairs
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block


class GroupCounts:
    """The partition groups of a slot, whose units in the newest layout are `own`."""

    def __init__(self, plan: JoinPlan, layout: Layout, own: frozenset[int], store: SegmentStore) -> None:
        self._plan = plan
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
        """The rows and bytes of each group in these blocks; 0 for groups of other slots."""
        count = len(self._units)
        rows, sizes = np.zeros(count), np.zeros(count)
        for block in blocks:
            groups, own_rows, own_bytes = self._store.reader(block.file).group_totals
            rows += np.bincount(groups, own_rows, count)
            sizes += np.bincount(groups, own_bytes, count)
        rows[~self._owned] = sizes[~self._owned] = 0
        return rows.round().astype(np.int64), sizes.round().astype(np.int64)

    def by_unit(self, blocks: Iterable[Block]) -> Iterator[tuple[int, int, int]]:
        """The unit, rows and bytes of this slot's groups in these blocks."""
        rows, sizes = self.stored(blocks)
        for unit in np.unique(self._units[self._owned]).tolist():
            own = self._units == unit
            yield unit, int(rows[own].sum()), int(sizes[own].sum())

    def report(self, blocks: Iterable[Block], new: Iterable[Block]) -> tuple[GroupCount, ...]:
        """The counts of every group of the slot; `blocks` are all that are stored, `new` those of the step."""
        sizes, inserted = self.stored(blocks)[1], self.stored(new)[0]
        columns = (np.flatnonzero(self._owned), sizes[self._owned], inserted[self._owned], self._results[self._owned])
        return tuple(GroupCount(*row) for row in zip(*(column.tolist() for column in columns), strict=True))
