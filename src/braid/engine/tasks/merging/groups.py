"""Merges by partition groups: each slot takes the rows of its own groups from blocks of several assignments."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from braid.engine.tasks.lookup.row_ranges import Part, group_parts
from braid.engine.tasks.merging.slot_merge import SlotMerge, at_places
from braid.kernels.grouping import groups_of_keys
from braid.kernels.keys import common_keys
from braid.kernels.rows import Rows
from braid.plan.layout import Layout
from braid.state.manifest import Block

NO_UNIT = -1


@dataclass(frozen=True)
class GroupMerge:
    """A slot's merge under a layout with partition groups.

    `opened` has, for the epoch of each layout that shares the groups, the units that may have rows of this slot's
    groups. A slice is a range of groups, whichever units own them.
    """

    slot_merge: SlotMerge
    layout: Layout
    opened: Mapping[int, Collection[int]]

    def merge_groups(self) -> Block | None:
        """The block of this slot's units, without the groups apart."""
        units = self._sliced_units()
        units[list(self.slot_merge.merge.apart)] = NO_UNIT
        return self._write({(unit, unit): self._rows(units == unit) for unit in self.slot_merge.owned})

    def merge_apart(self) -> Block | None:
        """The block of the groups apart: every segment has rows of one of them."""
        apart, units = self.slot_merge.merge.apart, self._sliced_units()
        chosen = np.zeros(len(units), bool)
        chosen[list(apart)] = True
        block = self._write({(unit, unit): self._by_group(chosen & (units == unit)) for unit in self.slot_merge.owned})
        return None if block is None else replace(block, apart=apart)

    def _write(self, by_place: Mapping[tuple[int, int], Iterator[Rows]]) -> Block | None:
        slot_merge = self.slot_merge
        return slot_merge.write(slot_merge.open_writer(), self.layout, slot_merge.units, at_places(by_place))

    def _sliced_units(self) -> npt.NDArray[np.int64]:
        """The unit of each partition group, where it is in the slices of this step."""
        merge, units = self.slot_merge.merge, np.array(self.layout.group_units)
        first, last = (-(-len(units) * number // merge.slices) for number in (merge.first, merge.last))
        units[:first] = units[last:] = NO_UNIT
        return units

    def _by_group(self, wanted: npt.NDArray[np.bool_]) -> Iterator[Rows]:
        """The rows of the wanted groups, those of each group apart from others."""
        for rows in self._rows(wanted):
            groups = self._groups_of(rows)
            order = np.argsort(groups, kind="stable")
            edges = np.flatnonzero(np.diff(groups[order])) + 1
            yield from (rows.take(own) for own in np.split(order, edges))

    def _rows(self, wanted: npt.NDArray[np.bool_]) -> Iterator[Rows]:
        """The rows of the wanted groups that may still join."""
        for rows in self.slot_merge.useful_rows(self._parts(wanted)):
            # Segments that are not sorted yet were read whole.
            own = wanted[self._groups_of(rows)]
            if own.any():
                yield rows if own.all() else rows.take(np.flatnonzero(own))

    def _parts(self, wanted: npt.NDArray[np.bool_]) -> Iterator[Part]:
        """The rows of the wanted groups: ranges of segments that are sorted by group, the others whole."""
        for block in self.slot_merge.inputs:
            reader = self.slot_merge.store.reader(block.file)
            for segment in reader.segments_of(self.opened[block.epoch]):
                yield from group_parts(reader, block.file, segment, wanted)

    def _groups_of(self, rows: Rows) -> npt.NDArray[np.int64]:
        keys = common_keys(self.slot_merge.plan, self.slot_merge.stream, rows)
        if keys is None:
            raise ValueError("partition groups need a key that all streams share")
        return groups_of_keys(keys, len(self.layout.group_units))
