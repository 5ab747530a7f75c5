"""The parts of a probe command: every slot gets the blocks it needs, nothing of another slot, and little per block."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import pytest

from braid.engine.commands import ProbeCommand, RoundsCommand
from braid.engine.sending.division import divide, open_common
from braid.placement.admission import Admission
from braid.placement.units import slot_of, units_of
from braid.plan.layout import Layout
from braid.state.manifest import Block, Merge

SLOTS, STEP = 4, 50
LAYOUT = Layout(0, "partitioned", (8,), (1,))


def block(file: str, units: tuple[int, ...] | None, step: int, buffered: bool = False) -> Block:
    return Block(file, 0, step, step, 0, units, 10, 100, 0, 50, buffered)


PROBE = ProbeCommand(
    step=5,
    run="r",
    layouts=(LAYOUT,),
    blocks=(block("new", None, 5), block("all", None, 1), block("of 1 and 5", (1, 5), 2), block("of 2", (2,), 3)),
    join_orders=((1,), (0,)),
    merges=(Merge(0, ("all", "of 2"), 0, None), Merge(0, ("of 1 and 5",), 0, None)),
    first_round=0,
    last_round=0,
    exchanged=("x",),
    admission=Admission(5),
)


def parts_of(command: ProbeCommand, slots: int) -> list[ProbeCommand]:
    division = divide(command, slots)
    joined = open_common(ProbeCommand, division.common)
    return [joined(own, slot) for slot, own in enumerate(division.own)]


def test_a_slot_gets_new_blocks_and_those_with_rows_of_its_units() -> None:
    found = [[b.file for b in part.blocks] for part in parts_of(PROBE, SLOTS)]
    assert found == [
        ["new", "all"],
        ["new", "all", "of 1 and 5"],
        ["new", "all", "of 2"],
        ["new", "all"],
    ]


def test_rounds_of_several_terms_share_the_blocks_and_each_sees_those_up_to_its_step() -> None:
    earlier = replace(PROBE, blocks=(), merges=(), first_round=1, last_round=1, admission=Admission(2))
    division = divide(RoundsCommand(5, "r", (PROBE, earlier)), SLOTS)
    joined = open_common(RoundsCommand, division.common)
    for slot, (own, alone) in enumerate(zip(division.own, parts_of(PROBE, SLOTS), strict=True)):
        first, second = joined(own, slot).probes
        assert first == alone
        assert second == replace(earlier, blocks=tuple(b for b in alone.blocks if b.first_step <= 2))
    assert [[b.file for b in joined(own, n).probes[1].blocks] for n, own in enumerate(division.own)] == [
        ["all"],
        ["all", "of 1 and 5"],
        ["all"],
        ["all"],
    ]


def test_all_slots_get_a_block_whose_buffered_rows_probe() -> None:
    probe = replace(PROBE, blocks=(block("late", (2,), 3, buffered=True),), admission=Admission(5, 10, 40))
    assert [len(part.blocks) for part in parts_of(probe, SLOTS)] == [1] * SLOTS


def test_a_later_round_starts_from_exchanged_rows_and_not_from_the_blocks_of_the_step() -> None:
    stored = replace(PROBE, blocks=(block("stored", (2,), 5),), join_orders=((1, 2), (0, 2), (0, 1)), merges=())
    first = replace(stored, first_round=0, last_round=0)
    assert [len(part.blocks) for part in parts_of(first, SLOTS)] == [1] * SLOTS
    second = replace(stored, first_round=1, last_round=1)
    assert [len(part.blocks) for part in parts_of(second, SLOTS)] == [0, 0, 1, 0]


def test_a_slot_merges_only_its_own_blocks() -> None:
    assert [[merge.files for merge in part.merges] for part in parts_of(PROBE, SLOTS)] == [
        [("all",)],
        [("all",), ("of 1 and 5",)],
        [("all", "of 2")],
        [("all",)],
    ]


def test_units_of_fewer_slots_than_before_stay_covered() -> None:
    assert [[b.file for b in part.blocks] for part in parts_of(PROBE, 1)] == [[b.file for b in PROBE.blocks]]


def a_command(chance: random.Random, slots: int) -> ProbeCommand:
    """Blocks of two layouts with names of tasks, of the same and of other numbers of slots, and other names."""
    layouts = (Layout(0, "partitioned", (8,), (1,)), Layout(1, "biclique", (slots, 2 * slots), (slots, slots)))
    blocks = []
    for number in range(chance.randrange(60)):
        layout = chance.choice(layouts)
        stream = chance.randrange(2)
        units = [unit for unit in units_of(layout, 2) if stream in unit.streams]
        slot = chance.randrange(slots)
        own = tuple(unit.number for unit in units if slot_of(unit, slots) == slot)
        some = tuple(sorted(chance.sample([unit.number for unit in units], chance.randrange(1, len(units) + 1))))
        step = chance.randrange(STEP - 9, STEP + 1)
        writer = chance.choice((slot, slot, chance.randrange(100_001)))
        attempt = chance.choice((number + 7, 0, 10**17))
        name = f"0a1b2c3d-{step:012d}-0-s{writer:05d}-{attempt}-{chance.choice('gm')}{stream}.block"
        blocks.append(
            Block(
                file=chance.choice((name, name, name, f"odd {number:05d}-1", f"0a1b2c3d-{step:012d}-m00001-007")),
                stream=stream,
                first_step=step - chance.randrange(3),
                last_step=step,
                epoch=layout.epoch,
                units=chance.choice((own, own, own, some, None)),
                rows=chance.randrange(1000),
                size=chance.randrange(10**6),
                min_time=chance.randrange(-50, 50),
                max_time=chance.randrange(50, 99),
                buffered=chance.random() < 0.2,
                is_sorted=chance.random() < 0.9,
            )
        )
    named = list({made.file: made for made in blocks}.values())
    files = [made.file for made in named if made.last_step < STEP]
    merges = []
    for n in range(4):
        if files[n::5]:
            slices = chance.randint(1, 9)
            last = chance.choice((slices, chance.randint(1, slices)))
            parts = tuple(replace(made, file=f"{made.file}-p{n}") for made in chance.sample(named, len(named) // 5))
            merge = Merge(n % 2, tuple(files[n::5][: chance.randrange(1, 9)]), n % 2, chance.choice((None, 9)))
            first = chance.randrange(last)
            merges.append(replace(merge, first=first, last=last, slices=slices, parts=parts, number=len(merges)))
    gathers = tuple(
        Merge(stream, found, 1, None)
        for stream in range(2)
        if (found := tuple(b.file for b in named if b.units is None and b.last_step == STEP and b.stream == stream))
    )
    exchanged = tuple(f"0a1b2c3d-{STEP:012d}-0-s{n:05d}-{n * 3}.exchanged" for n in range(chance.randrange(20)))
    admission = Admission(STEP, chance.randrange(-60, 90), chance.choice((60, 95)))
    return ProbeCommand(
        STEP, "r", layouts, tuple(named), ((1,), (0,)), tuple(merges), 0, 0, exchanged, admission, gathers=gathers
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_parts_of_a_random_command_are_what_its_slots_need(seed: int) -> None:
    chance = random.Random(seed)
    slots = chance.choice((1, 2, 5, 16))
    command = a_command(chance, slots)
    owners = {(lay.epoch, unit.number): slot_of(unit, slots) for lay in command.layouts for unit in units_of(lay, 2)}
    parts = parts_of(command, slots)
    assert len(parts) == slots
    for slot, part in enumerate(parts):

        def is_needed(made: Block, slot: int = slot) -> bool:
            is_own = made.units is None or slot in {owners[made.epoch, unit] for unit in made.units}
            return is_own or command.admission.starting(made) is not None

        needed = {made.file: made for made in command.blocks if is_needed(made)}
        assert {made.file for made in part.blocks} == set(needed)
        assert len(part.blocks) == len(needed)
        for made in part.blocks:
            known = needed[made.file]
            assert made.min_time <= known.min_time <= known.max_time <= made.max_time
            kept = {field.name for field in fields(Block)} - {"rows", "size", "copies", "min_time", "max_time"}
            assert all(getattr(made, name) == getattr(known, name) for name in kept)
        expected = [(m.stream, m.epoch, m.oldest_us, {f for f in m.files if f in needed}) for m in command.merges]
        found = [(m.stream, m.epoch, m.oldest_us, set(m.files)) for m in part.merges]
        assert found == [entry for entry in expected if entry[3]]
        for merge in part.merges:
            whole = command.merges[merge.number]
            assert (merge.first, merge.last, merge.slices) == (whole.first, whole.last, whole.slices)
            assert {made.file for made in merge.parts} == {made.file for made in whole.copied if is_needed(made)}
        assert [(g.stream, set(g.files)) for g in part.gathers] == [(g.stream, set(g.files)) for g in command.gathers]
        assert part.exchanged == command.exchanged
        assert replace(part, blocks=(), merges=(), gathers=()) == replace(command, blocks=(), merges=(), gathers=())


def a_step(slots: int, live: int) -> ProbeCommand:
    """A step of a join by key in its steady state: `live` steps are stored, each a block for every slot and stream."""
    layout = Layout(0, "biclique", (slots, slots), (slots, slots))
    ingested = tuple(
        Block(f"0a1b2c3d-{STEP:012d}-{s}-{n:05d}-{9000 + 3 * n}.block", s, STEP, STEP, 0, None, 9, 99, n, 900 + n)
        for s in (0, 1)
        for n in range(slots)
    )
    stored = tuple(
        Block(
            f"0a1b2c3d-{step:012d}-0-s{n:05d}-{step * 700 + n}-g{s}.block",
            s,
            step,
            step,
            0,
            (n + s * slots,),
            9,
            9,
            n,
            n,
        )
        for step in range(STEP - live, STEP)
        for s in (0, 1)
        for n in range(slots)
    )
    gathers = tuple(Merge(s, tuple(made.file for made in ingested if made.stream == s), 0, None) for s in (0, 1))
    return ProbeCommand(
        STEP, "r", (layout,), (*ingested, *stored), ((1,), (0,)), (), 0, 0, (), Admission(STEP), gathers=gathers
    )


def test_all_parts_together_grow_in_proportion_to_the_slots() -> None:
    sizes = {}
    for slots in (16, 64, 256):
        division = divide(a_step(slots, 12), slots)
        sizes[slots] = len(division.common) + sum(map(len, division.own))
        assert max(map(len, division.own)) == min(map(len, division.own)) < 24 * 6 + 10
    assert sizes[256] < 16 * sizes[16]
    assert sizes[256] < 256 * 24 * 6 + 8000
