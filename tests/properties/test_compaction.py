"""Compaction over hundreds of simulated steps: no slot exceeds its share, blocks stay few, and no row is lost.

Rows are simulated by blocks alone, so that a case of millions of rows takes milliseconds. A slot's work in a step is
the rows it merges, and what it copies of earlier slices.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest

from braid.control import compaction
from braid.control.compaction import durations_after, paces_after
from braid.control.keeping import decide_rewrites, split_expired
from braid.control.merging import BASE_ROWS, FAN_IN, LARGEST_ROWS
from braid.engine.compaction import compacted_by, merge_times
from braid.engine.reports import MergeReport, ProbeReport
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Partitioned
from braid.plan.layout import Layout
from braid.state.manifest import Block, Manifest, Mark, Merge
from braid.testing import Draft, equal
from tests.budget import seeds

SECOND = 1_000_000
MERGING, LOOKUP = 80e-9, 20e-9
WINDOW_STEPS, STEPS = 200, 500
# With the tiers of one open period, those that later periods have left over, and a merge that is not finished.
BLOCKS_PER_PERIOD, BLOCKS_MORE = 10, 60

Arrivals = Callable[[random.Random, int], tuple[int, int, int]]
"""The rows of a stream and slot in a step, and the oldest and newest event time, in steps."""


def even(chance: random.Random, step: int) -> tuple[int, int, int]:
    return 60_000, step, step


def small(chance: random.Random, step: int) -> tuple[int, int, int]:
    return chance.randint(1, 50), step, step


def bursts(chance: random.Random, step: int) -> tuple[int, int, int]:
    return (chance.randint(100_000, 600_000) if chance.random() < 0.1 else chance.randint(0, 2_000)), step, step


def disordered(chance: random.Random, step: int) -> tuple[int, int, int]:
    newest = max(0, step - chance.randint(0, 30))
    return chance.randint(0, 40_000), max(0, newest - chance.randint(0, 30)), newest


def mixed(chance: random.Random, step: int) -> tuple[int, int, int]:
    return chance.choice((even, small, bursts, disordered))(chance, step)


class Simulation:
    """A query of two streams with a unit for each slot."""

    def __init__(self, window_steps: int | None, slots: int, chance: random.Random) -> None:
        draft = Draft()
        window = None if window_steps is None else window_steps * SECOND
        a, b = (draft.stream(name, {"k": "int"}, window_us=window) for name in ("a", "b"))
        self.plan = build_plan(draft.on(equal(a["k"], b["k"])).logical_plan())
        self.slots, self.chance = slots, chance
        layouts: tuple[Layout, ...] = (Partitioned(slots).layout(self.plan, slots),)
        marks = (Mark(None, None, 0),) * 2
        self.manifest = Manifest(-1, -1, "run", 0, marks, layouts, (), next_row_id=0)
        self.stored = self.expired = self.rewritten = 0
        self.allowed = 0.0

    def step(self, arrivals: Arrivals) -> dict[int, float]:
        """One step; the seconds that each slot merged."""
        number, manifest = self.manifest.step + 1, self.manifest
        watermarks = (max(0, number - 60) * SECOND,) * 2
        live, gone = split_expired(self.plan, manifest, watermarks)
        self.expired += sum(block.rows for block in gone)
        merges = decide_rewrites(self.plan, manifest, live, manifest.layouts, watermarks, self.slots)
        self._remember_allowance()
        reports = [self._report(slot, merges, live) for slot in range(self.slots)]
        compacted = compacted_by(merges, reports)
        kept = [block for block in live if block.file not in compacted.unneeded]
        new = [block for slot in range(self.slots) for block in self._arriving(arrivals, slot, number)]
        spent = {report.slot: sum(merged.seconds for merged in report.merged) for report in reports}
        times = [0.02 + spent[slot] + LOOKUP * 60_000 * sum(slot in (b.units or ()) for b in live) for slot in spent]
        self.manifest = replace(
            manifest,
            step=number,
            blocks=(*kept, *compacted.blocks, *new),
            unfinished=compacted.unfinished,
            merge_paces=paces_after(manifest.merge_paces, merge_times(reports)),
            slot_seconds=durations_after(manifest.slot_seconds, times),
        )
        return spent

    def _remember_allowance(self) -> None:
        """The largest allowance of recent steps: slices were cut for the one in which their merge began."""
        seconds = compaction.SHARE * median(self.manifest.slot_seconds or (0.0,))
        self.allowed = max(0.98 * self.allowed, seconds, compaction.LEAST_ROWS * MERGING)

    def _arriving(self, arrivals: Arrivals, slot: int, number: int) -> list[Block]:
        found = []
        for stream in range(2):
            rows, oldest, newest = arrivals(self.chance, number)
            self.stored += rows
            if rows:
                name, times = f"{number}-{slot}-{stream}", (oldest * SECOND, (newest + 1) * SECOND - 1)
                found.append(Block(name, stream, number, number, 0, (slot,), rows, rows * 20, *times))
        return found

    def _report(self, slot: int, merges: tuple[Merge, ...], live: tuple[Block, ...]) -> ProbeReport:
        merged = [report for merge in merges if (report := self._merged(slot, merge, live)) is not None]
        return ProbeReport(slot, "host", (), (), (), tuple(merged), ())

    def _merged(self, slot: int, merge: Merge, live: tuple[Block, ...]) -> MergeReport | None:
        inputs = [block for block in live if block.file in merge.files]
        assert len(inputs) == len(merge.files) > 1
        assert len({(block.stream, block.epoch, block.units) for block in inputs}) == 1
        if inputs[0].units != (slot,):
            return None
        total = sum(block.rows for block in inputs)
        rows = total * merge.last // merge.slices - total * merge.first // merge.slices
        self.rewritten += rows
        is_copied = merge.is_final and not merge.is_whole
        seconds = rows * MERGING + (total * MERGING / 20 if is_copied else 0.0)
        block = replace(
            inputs[0],
            file=f"m{self.manifest.step}-{slot}-{merge.number}",
            rows=total if is_copied else rows,
            first_step=min(block.first_step for block in inputs),
            last_step=max(block.last_step for block in inputs),
            min_time=min(block.min_time for block in inputs),
            max_time=max(block.max_time for block in inputs),
        )
        return MergeReport(merge.number, merge.stream, rows, seconds, block)


@pytest.mark.parametrize("arrivals", [even, small, bursts, disordered, mixed])
@pytest.mark.parametrize("window_steps", [WINDOW_STEPS, None])
@pytest.mark.parametrize("seed", seeds(100, 1))
def test_blocks_stay_few_within_the_share_of_every_slot(
    arrivals: Arrivals, window_steps: int | None, seed: int
) -> None:
    chance = random.Random(seed)
    simulation = Simulation(window_steps, chance.choice((1, 2, 3)), chance)
    for step in range(STEPS):
        spent = simulation.step(arrivals)
        # The pace is known after the first merges; the last slice of a merge may be measured a little slower.
        assert step < 20 or max(spent.values()) <= 1.1 * simulation.allowed
        by_slot: dict[tuple[int, int], list[Block]] = defaultdict(list)
        for block in simulation.manifest.blocks:
            by_slot[(block.units or (0,))[0], block.stream].append(block)
        for blocks in by_slot.values():
            periods = 1 if window_steps is None else len({b.max_time // (window_steps * SECOND // 10) for b in blocks})
            large = 4 * sum(block.rows for block in blocks) // LARGEST_ROWS
            assert len(blocks) <= BLOCKS_PER_PERIOD * periods + BLOCKS_MORE + large
    live = sum(block.rows for block in simulation.manifest.blocks)
    assert live == simulation.stored - simulation.expired
    # Besides, eight small blocks are merged with what is left of the lowest tier.
    lowest = BASE_ROWS * STEPS // FAN_IN * 2 * simulation.slots
    assert simulation.rewritten <= 6 * simulation.stored + lowest


def test_a_large_merge_is_cut_and_slots_take_turns_with_small_ones() -> None:
    simulation = Simulation(None, 2, random.Random(0))
    most_slices, finished = 0, 0
    for _ in range(300):
        before = simulation.manifest.unfinished
        simulation.step(even)
        after = simulation.manifest.unfinished
        slots = [begun.parts[0].units for begun in after]
        assert len(slots) == len(set(slots)), "a slot has at most one unfinished merge"
        most_slices = max([most_slices, *(begun.slices for begun in after)])
        finished += sum(begun.files not in {other.files for other in after} for begun in before)
    assert most_slices >= 4
    assert finished >= 10
