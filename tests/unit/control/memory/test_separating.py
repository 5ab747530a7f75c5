"""Which blocks are rewritten when groups are pushed, which are hidden, and which return after a clean-up."""

from __future__ import annotations

from dataclasses import replace

from braid.control.memory.separating import Hidden, returns, separations
from braid.plan.layout import Layout
from braid.state.manifest import Block, Merge
from braid.state.observed.groups import Push

OLDER = Layout(0, "partitioned", (2,), (2,), group_units=(0, 0, 1, 1))
NEWEST = Layout(1, "partitioned", (2,), (2,), group_units=(0, 1, 1, 1))


def block(
    file: str, stream: int = 0, last: int = 3, epoch: int = 1, unit: int = 0, apart: tuple[int, ...] = ()
) -> Block:
    return Block(file, stream, 0, last, epoch, (unit,), 10, 100, 0, 9, apart=apart)


def oldest(stream: int) -> int:
    return 40 + stream


def test_a_push_rewrites_the_blocks_that_may_have_rows_of_its_groups_once_for_each_stream() -> None:
    blocks = [
        block("a", unit=1),
        block("b", 1, unit=1),
        block("other unit"),
        block("moved", epoch=0),
        block("apart", unit=1, apart=(1,)),
        replace(block("any unit", 1), units=None),
    ]
    first, second = separations((1,), blocks, (OLDER, NEWEST), oldest)
    assert first == Merge(0, ("a", "moved"), 1, 40, 1, number=0, apart=(1,))
    assert second == Merge(1, ("b", "any unit"), 1, 41, 1, number=1, apart=(1,))
    assert separations((), blocks, (OLDER, NEWEST), oldest) == ()


def test_rows_of_a_block_apart_are_hidden_by_pushes_after_its_last_step() -> None:
    hidden = Hidden((Push(2, (0, 1)), Push(5, (1, 2))))
    assert hidden.groups(block("a", last=1, apart=(0, 1))) == (0, 1)
    assert hidden.whole(block("a", last=1, apart=(0, 1)))
    assert hidden.groups(block("b", last=4, apart=(0, 1, 2))) == (1, 2)
    assert not hidden.whole(block("b", last=4, apart=(0, 1, 2)))
    assert hidden.groups(block("c", last=7, apart=(1,))) == ()
    assert hidden.groups(block("not apart", last=1)) == ()
    assert not hidden.whole(block("not apart", last=1))


def test_what_is_seen_again_is_merged_and_the_rest_stays_apart() -> None:
    hidden = Hidden((Push(2, (1,)), Push(5, (1, 2))))
    blocks = [
        block("all hidden", apart=(1, 2)),
        block("a", apart=(0, 1)),
        block("b", apart=(0, 1), unit=1, last=4),
        block("earlier part", apart=(0, 1), last=1),
        block("c", apart=(0, 3)),
        block("d", apart=(0, 3), last=1),
        block("not apart"),
        block("other layout", epoch=7, apart=(0,)),
    ]
    other = Layout(7, "biclique", (1, 1), (1, 1))
    assert returns(hidden, blocks, (other, NEWEST), oldest) == [
        Merge(0, ("c", "d"), 1, 40, 1),
        Merge(0, ("earlier part",), 1, 40, 1, apart=(1,)),
        Merge(0, ("a", "b"), 1, 40, 1, apart=(1,)),
    ]
    assert returns(hidden, blocks, (NEWEST, other), oldest) == []
