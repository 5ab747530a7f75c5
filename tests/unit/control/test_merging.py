"""Which merges are due: few blocks, few rewrites, nothing mixed. How much of it a step does is tested elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.control.merging import LARGEST_ROWS, archive_periods, due_merges, due_moves, oldest_useful
from braid.control.watermarks import is_expired
from braid.optimizer.build import build_plan
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, Merge
from braid.testing import Draft

SECOND = 1_000_000


def plan(*windows_us: int | None) -> JoinPlan:
    draft = Draft()
    for number, window in enumerate(windows_us):
        draft.stream(f"s{number}", {}, window_us=window)
    return build_plan(draft.logical_plan())


def block(name: str, stream: int, step: int, rows: int, min_time: int, max_time: int) -> Block:
    return Block(name, stream, step, step, 0, None, rows, rows * 40, min_time, max_time)


def largest(stream: int) -> int:
    return LARGEST_ROWS


class Simulation:
    """Steps of one second each; blocks are merged as one slot does it, expiry as a step does."""

    def __init__(self, made: JoinPlan) -> None:
        self.plan = made
        self.blocks: list[Block] = []
        self.rewritten = 0
        self.most = 0

    def step(self, number: int, rows: int) -> None:
        now = number * SECOND
        marks = tuple(now for _ in self.plan.streams)
        self.blocks = [b for b in self.blocks if not is_expired(self.plan, b.stream, b.max_time, marks)]
        merges = due_merges(self.plan, self.blocks, marks, largest)
        for count, merge in enumerate(merges):
            self._merge(merge, f"m{number}-{count}")
        for stream in self.plan.streams:
            self.blocks.append(block(f"{number}-{stream.number}", stream.number, number, rows, now, now + SECOND - 1))
        self.most = max(self.most, sum(b.stream == 0 for b in self.blocks))

    def _merge(self, merge: Merge, name: str) -> None:
        inputs = [b for b in self.blocks if b.file in merge.files]
        assert len(inputs) == len(merge.files) > 1
        assert {(b.stream, b.epoch, b.units) for b in inputs} == {(merge.stream, merge.epoch, inputs[0].units)}
        self.blocks = [b for b in self.blocks if b.file not in merge.files]
        rows = sum(b.rows for b in inputs)
        self.rewritten += rows
        oldest, newest = min(b.min_time for b in inputs), max(b.max_time for b in inputs)
        self.blocks.append(replace(inputs[0], file=name, rows=rows, min_time=oldest, max_time=newest, units=(0,)))


@pytest.mark.parametrize(
    ("window_us", "rows", "most", "rewrites"),
    [(600 * SECOND, 1000, 60, 4), (10 * SECOND, 50_000, 25, 4), (None, 20, 25, 5), (None, 5000, 60, 5)],
)
def test_blocks_stay_few_over_thousands_of_steps(window_us: int | None, rows: int, most: int, rewrites: int) -> None:
    simulation = Simulation(plan(window_us, window_us))
    for number in range(5000):
        simulation.step(number, rows)
    assert simulation.most <= most
    assert simulation.rewritten <= rewrites * 5000 * rows * 2
    if window_us is None:
        assert sum(b.rows for b in simulation.blocks) == 5000 * rows * 2


def test_blocks_of_other_layouts_units_and_streams_stay_apart() -> None:
    base = [block(f"a{n}", 0, n, 10, 0, 9) for n in range(7)]
    others = [
        replace(base[0], file="x", epoch=1),
        replace(base[0], file="y", units=(0,)),
        replace(base[0], file="z", stream=1),
    ]
    assert due_merges(plan(None, None), [*base, *others], (0, 0), largest) == []
    more = [*base, block("a7", 0, 7, 10, 0, 9)]
    (merge,) = due_merges(plan(None, None), [*more, *others], (0, 0), largest)
    assert set(merge.files) == {b.file for b in more}


def test_a_merge_makes_no_block_that_is_too_large_and_large_blocks_are_left_alone() -> None:
    blocks = [block(str(n), 0, n, rows, n, n) for n, rows in enumerate([300] * 20)]
    merges = due_merges(plan(None, None), blocks, (0, 0), lambda stream: 1000)
    assert [len(merge.files) for merge in merges] == [2, 3, 3, 3, 3, 3, 3]
    assert len({file for merge in merges for file in merge.files}) == 20
    assert due_merges(plan(None, None), blocks, (0, 0), lambda stream: 599) == []


def test_blocks_move_one_by_one_oldest_first() -> None:
    layouts = [Layout(0, "partitioned", (2,), (1, 1)), Layout(1, "partitioned", (3,), (1, 1))]
    blocks = [replace(block(str(n), n % 2, 9 - n, 5, 0, 9), epoch=n % 2) for n in range(4)]
    assert [move.files for move in due_moves(plan(None, None), blocks, layouts, (0, 0))] == [("2",), ("0",)]
    assert {move.into for move in due_moves(plan(None, None), blocks, layouts, (0, 0))} == {1}
    assert due_moves(plan(5, 5), blocks, layouts, (0, 0)) == []


def test_archive_periods_and_the_oldest_useful_time() -> None:
    assert archive_periods(plan(100, 300)) == (10, 30)
    assert archive_periods(plan(None, 5)) == (None, 1)
    made = plan(100, 50, None)
    assert oldest_useful(made, 0, (0, 900, 800)) == 700
    assert oldest_useful(made, 0, (0, 900, None)) is None
    assert oldest_useful(made, 2, (900, 900, 900)) is None
