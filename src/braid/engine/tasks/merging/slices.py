"""Slices of a large merge: which rows of each input segment a step takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from braid.engine.tasks.lookup.row_ranges import Part, whole
from braid.engine.tasks.merging.slot_merge import SlotMerge
from braid.kernels.cutting import slice_starts
from braid.kernels.ordering import SortedIndex
from braid.state.blocks import Segment
from braid.state.manifest import Merge

# Fewer rows of a unit and route are not worth cutting: they are in one slice.
MIN_ROWS_TO_CUT = 4096


def sliced_parts(slot_merge: SlotMerge, units: AbstractSet[int] | None) -> Iterator[Part]:
    """The input segments of these units, or of all of them, each with its rows in the slices of this step."""
    merge, store = slot_merge.merge, slot_merge.store
    # Every slice must see the same runs in the same order.
    files = merge.files if merge.is_whole else sorted(merge.files)
    found = [(file, segment) for file in files for segment in store.reader(file).segments_of(units)]
    if merge.is_whole:
        yield from (whole(file, segment) for file, segment in found)
        return
    by_file = {block.file: block for block in slot_merge.inputs}
    by_place: dict[tuple[int, int], list[tuple[str, Segment]]] = defaultdict(list)
    for file, segment in found:
        by_place[segment.unit, segment.route].append((file, segment))
    for place, segments in by_place.items():
        orders = {by_file[file].choices if by_file[file].is_sorted else None for file, _ in segments}
        alike = orders.pop() if len(orders) == 1 and merge.into is None else None
        runs = None if alike is None else store.runs(segments, merge.stream, alike)
        starts, stops = (
            _slice_starts(merge, number, place, [segment.rows for _, segment in segments], runs)
            for number in (merge.first, merge.last)
        )
        for (file, segment), start, stop in zip(segments, starts, stops, strict=True):
            if start < stop:
                yield Part(file, segment, (start, stop))


def _slice_starts(
    merge: Merge, number: int, place: tuple[int, int], rows: Sequence[int], runs: Sequence[SortedIndex] | None
) -> list[int]:
    """Where a slice begins in each segment of a unit and route, which have so many rows.

    This depends on the files alone, not on the slot that has the unit: the number of slots may change before the next
    slice. Rows that are not sorted, or by several orders, or are placed again, are cut by their position.
    """
    if sum(rows) < MIN_ROWS_TO_CUT:
        return list(rows) if number > sum(place) % merge.slices else [0] * len(rows)
    if runs is None:
        return [count * number // merge.slices for count in rows]
    return slice_starts(runs, rows, number, merge.slices)
