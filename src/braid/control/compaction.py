"""How much a step rewrites: at most a share of the time of its slots.

A step lasts as long as its slowest slot. That time, merging included, and the rows merged per second are measured and
recorded, and the next step decides by the records alone. Each slot rewrites the rows of its own units, and has its own
allowance. A merge that exceeds half of it is cut into slices, which several steps write. The last of them also copies
what the steps before it wrote, so a merge makes one block, however many slices it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil
from statistics import median

from braid.control import merging
from braid.placement.groups import slots_of_units
from braid.plan.layout import Layout
from braid.state.manifest import Block, Manifest, Merge, MergePace

# Of the time that the slowest slot takes in a step. Ingest, the driver and Spark take time besides.
SHARE = 0.25
# Merged without asking: this takes some milliseconds, and keeps the number of small blocks low in any case.
LEAST_ROWS = 32_768
# Until a stream's first merge was measured.
ASSUMED_ROWS_PER_SECOND = 2_000_000.0
# Copying a merged row, against merging it: measured as a twentieth and less.
COPYING = 1 / 16
# A step that is slow for another reason changes little in the median of these.
RECORDED_STEPS = 8
# The pace follows the machine within a few merges.
DECAY = 0.8


class Compaction:
    """Chooses what a step rewrites. Work is counted in shares of a slot's allowance."""

    def __init__(
        self,
        manifest: Manifest,
        live: Sequence[Block],
        layouts: Sequence[Layout],
        streams: int,
        slots: int,
        interval: merging.Interval = lambda _: 0,
    ) -> None:
        self._seconds = SHARE * median(manifest.slot_seconds) if manifest.slot_seconds else 0.0
        self._paces = {pace.stream: pace.rows / pace.seconds for pace in manifest.merge_paces if pace.seconds > 0}
        self._blocks = {block.file: block for block in live}
        self._slots = slots
        self._interval = interval
        self._slots_of_units = slots_of_units(layouts, streams, slots)
        self._spent: dict[int, float] = defaultdict(float)
        self._slots_used: dict[tuple[str, ...], frozenset[int]] = {}

    def allowance(self, stream: int) -> int:
        """The rows of a stream that a slot may merge in this step."""
        return max(LEAST_ROWS, int(self._seconds * self._paces.get(stream, ASSUMED_ROWS_PER_SECOND)))

    def largest(self, stream: int) -> int:
        """The largest block to merge to: its last slice copies it, within half of an allowance."""
        return min(merging.LARGEST_ROWS, int(self.allowance(stream) / (2 * COPYING)))

    def choose(self, unfinished: Iterable[Merge], moves: Sequence[Merge], merges: Sequence[Merge]) -> tuple[Merge, ...]:
        """A slice of every unfinished merge; then what fits of the due rewrites; then further slices.

        A slot has at most one unfinished merge, so few rows are stored twice.
        """
        sliced = [replace(begun, first=begun.last, last=begun.last + 1) for begun in unfinished]
        busy: set[int] = set()
        for merge in sliced:
            busy |= self._slots_with(merge)
            self._spend(merge)
        whole: list[Merge] = []
        for due in (*moves, *merges):
            if self._fits(due):
                self._spend(due)
                whole.append(due)
            elif not due.buffered and not busy & self._slots_with(due):
                first = replace(due, slices=ceil(2 * self._cost(due)))
                if not first.is_final and self._fits(first):
                    busy |= self._slots_with(first)
                    self._spend(first)
                    sliced.append(first)
        chosen = (*(self._extended(merge) for merge in sliced), *self._together(whole))
        return tuple(replace(merge, number=number) for number, merge in enumerate(chosen))

    def _together(self, whole: Sequence[Merge]) -> Iterable[Merge]:
        """Whole moves of one stream, layout and interval of steps are made together: they make one block per slot."""
        families: dict[tuple[object, ...], list[Merge]] = defaultdict(list)
        for merge in whole:
            own = () if merge.into not in (None, merge.epoch) else merge.files
            steps = self._interval(self._blocks[merge.files[0]])
            families[merge.stream, merge.epoch, merge.into, merge.buffered, own, steps].append(merge)
        grouped = families.values()
        return (replace(group[0], files=tuple(f for merge in group for f in merge.files)) for group in grouped)

    def _extended(self, merge: Merge) -> Merge:
        """The merge with as many further slices as still fit into this step."""
        while not merge.is_final:
            longer = replace(merge, last=merge.last + 1)
            added = self._cost(longer) - self._cost(merge)
            if any(self._spent[slot] + added > 1 for slot in self._slots_with(merge)):
                break
            for slot in self._slots_with(merge):
                self._spent[slot] += added
            merge = longer
        return merge

    def _fits(self, merge: Merge) -> bool:
        cost = self._cost(merge)
        return all(self._spent[slot] + cost <= 1 for slot in self._slots_with(merge))

    def _spend(self, merge: Merge) -> None:
        for slot in self._slots_with(merge):
            self._spent[slot] += self._cost(merge)

    def _cost(self, merge: Merge) -> float:
        """The share of its allowance that a slot needs for the slices of this step."""
        rows, slots = sum(self._blocks[file].rows for file in merge.files), len(self._slots_with(merge))
        if slots > 1:
            # Rows are spread over the slots, but not evenly.
            rows = min(rows, ceil(2 * rows / slots))
        work = (merge.last - merge.first) / merge.slices
        if merge.is_final and not merge.is_whole and merge.into is None:
            work += COPYING
        return work * rows / self.allowance(merge.stream)

    def _slots_with(self, merge: Merge) -> frozenset[int]:
        """The slots whose units have rows in the blocks of a merge."""
        known = self._slots_used.get(merge.files)
        if known is None:
            places = {(self._blocks[file].epoch, self._blocks[file].units) for file in merge.files}
            known = frozenset(range(self._slots))
            if all(units is not None for _, units in places):
                own = ((epoch, unit) for epoch, units in places for unit in units or ())
                known = frozenset(slot for place in own for slot in self._slots_of_units[place])
            self._slots_used[merge.files] = known
        return known


def paces_after(before: Sequence[MergePace], measured: Iterable[tuple[int, int, float]]) -> tuple[MergePace, ...]:
    """The paces after a step that merged rows of streams, given as (stream, rows, seconds)."""
    known = {pace.stream: (pace.rows, pace.seconds) for pace in before}
    added: dict[int, tuple[int, float]] = {}
    for stream, rows, seconds in measured:
        all_rows, all_seconds = added.get(stream, (0, 0.0))
        added[stream] = all_rows + rows, all_seconds + seconds
    for stream, (rows, seconds) in added.items():
        old_rows, old_seconds = known.get(stream, (0.0, 0.0))
        known[stream] = round(DECAY * old_rows + rows, 1), round(DECAY * old_seconds + seconds, 6)
    return tuple(MergePace(stream, rows, seconds) for stream, (rows, seconds) in sorted(known.items()))


def durations_after(before: Sequence[float], slots: Sequence[float]) -> tuple[float, ...]:
    """The time of the slowest slot in the last steps, after one with these times; a step without lookups has none."""
    return (*before, round(max(slots), 4))[-RECORDED_STEPS:] if slots else tuple(before)
