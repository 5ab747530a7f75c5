"""A change applied to the record before it gives the record after it, and is as small as what changed."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from braid.plan.layout import Layout
from braid.state.changes import apply, difference
from braid.state.manifest import AggregateBlock, AggregateState, Block, Load, Manifest, Mark, Move
from braid.state.order_state import BufferedBlock, OrderState, Pace
from tests.budget import seeds

SLOTS = 64


def blocks(step: int) -> tuple[Block, ...]:
    return tuple(
        Block(
            f"0a1b2c3d-{step:012d}-0-s{n:05d}-{step * 99 + n}-g0.block", 0, step, step, 0, (n,), n, n * 9, n, step + n
        )
        for n in range(SLOTS)
    )


def first() -> Manifest:
    order = OrderState(None, "results", (), (), Pace(0.5, (1.0,), (2.0,), (2.0,), 3.0, 0.0))
    every = tuple(block for step in range(20) for block in blocks(step))
    layout = Layout(0, "partitioned", (SLOTS,), (1,))
    return Manifest(19, 19, "r", 0, (Mark(1, None, 3),), (layout,), every, 0, order_state=order)


def later(chance: random.Random, before: Manifest) -> Manifest:
    """A next manifest: blocks go, come and are replaced in the middle; of the other fields some change."""
    step = before.step + 1
    kept = [block for block in before.blocks if chance.random() < 0.9]
    kept = [replace(block, buffered=not block.buffered) if chance.random() < 0.02 else block for block in kept]
    added, known_still = blocks(step)[: chance.randrange(SLOTS + 1)], set(kept)
    dropped = tuple(block.file for block in before.blocks if block not in known_still)
    after = replace(before, step=step, blocks=(*kept, *added), dropped=dropped)
    if chance.random() < 0.5:
        parts = tuple(AggregateBlock(f"{step}-{n}", step, n, n) for n in range(SLOTS))
        known = () if before.aggregate is None else before.aggregate.blocks
        after = replace(after, aggregate=AggregateState(SLOTS, (*known, *parts)[chance.randrange(9) :], step))
    if before.order_state is not None and chance.random() < 0.7:
        found = tuple(BufferedBlock(f"{step}-{n}", n, n, -n, n, 7, (n, n + 1)) for n in range(chance.randrange(20)))
        state = replace(before.order_state, results=(*before.order_state.results[3:], *found), frontier_us=step)
        after = replace(after, order_state=chance.choice((None, state, state)))
    if chance.random() < 0.5:
        after = replace(after, moves=tuple(Move(f"s/{n}", f"t/{step}/{n}") for n in range(SLOTS)))
        after = replace(after, loads=tuple(Load(0, n, chance.randrange(10**6)) for n in range(SLOTS)))
    return replace(after, progress={"numInputRows": step}, marks=chance.choice((before.marks, (Mark(step, 1, 2),))))


@pytest.mark.parametrize("seed", seeds(0, 20))
def test_a_chain_of_changes_gives_every_record(seed: int) -> None:
    chance = random.Random(seed)
    known = written = first()
    for _ in range(8):
        after = later(chance, written)
        change = json.loads(json.dumps(difference(written, after), default=vars))
        known, written = apply(known, change), after
        assert known == after


def test_a_record_that_is_equal_has_no_change() -> None:
    assert difference(first(), first()) == {}


def test_a_change_has_the_bytes_of_what_changed() -> None:
    before = first()
    after = replace(before, step=20, blocks=(*before.blocks[SLOTS:], *blocks(20)))
    change = json.dumps(difference(before, after), default=vars)
    assert len(change) < SLOTS * 12
    assert set(difference(before, after)) == {"step", "blocks"}


def test_entries_that_are_equal_but_not_the_same_are_written_again() -> None:
    """They are found by identity, which costs nothing; the result is right all the same."""
    before, again = first(), first()
    after = replace(again, blocks=again.blocks[1:])
    assert apply(before, json.loads(json.dumps(difference(before, after), default=vars))) == after
