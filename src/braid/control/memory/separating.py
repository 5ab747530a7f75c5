"""Pushed rows in blocks of their own, so that no lookup reads them: which blocks are rewritten for that, and when.

A live block has rows of newest parts alone, or it is *apart*: it has rows of pushed groups, in a segment for each. The
step that pushes groups takes their rows out of all blocks that may have some, before its lookups. So lookups never open
a block apart, and blocks are merged whatever was pushed between their steps. A clean-up joins the parts of its groups:
their segments are looked up again where they are, and the rows move to other blocks when the next merges have time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from braid.plan.layout import Layout
from braid.state.manifest import Block, Merge
from braid.state.observed.groups import Push

Oldest = Callable[[int], int | None]
"""The time below which rows of a stream are of no use any more."""


@dataclass(frozen=True)
class Hidden:
    """Which rows of live blocks are pushed."""

    pushes: tuple[Push, ...]

    def groups(self, block: Block) -> tuple[int, ...]:
        """The groups of a block apart whose rows no lookup sees; a block that is not apart has none."""
        return tuple(sorted(self._after(block.last_step).intersection(block.apart))) if block.apart else ()

    def whole(self, block: Block) -> bool:
        """Whether no row of a block is seen."""
        return bool(block.apart) and len(self.groups(block)) == len(block.apart)

    def pushes_until(self, step: int) -> int:
        """How many pushes there were up to a step: blocks of as many have the same parts."""
        return sum(push.step <= step for push in self.pushes)

    def _after(self, step: int) -> set[int]:
        """The groups that were pushed after a step."""
        return {group for push in self.pushes if push.step > step for group in push.groups}


def separations(
    pushed: tuple[int, ...], blocks: Iterable[Block], layouts: Sequence[Layout], oldest: Oldest
) -> tuple[Merge, ...]:
    """The merges that put the rows of pushed groups apart, one for each stream; none if nothing is pushed."""
    if not pushed:
        return ()
    newest, by_stream = layouts[-1], defaultdict[int, list[str]](list)
    units = {layout.epoch: {layout.group_units[group] for group in pushed} for layout in layouts if layout.group_units}
    for block in blocks:
        if not block.apart and _may_have_some(block, units):
            by_stream[block.stream].append(block.file)
    return tuple(
        Merge(stream, tuple(files), newest.epoch, oldest(stream), newest.epoch, number=number, apart=pushed)
        for number, (stream, files) in enumerate(sorted(by_stream.items()))
    )


def returns(hidden: Hidden, blocks: Iterable[Block], layouts: Sequence[Layout], oldest: Oldest) -> list[Merge]:
    """The blocks apart with rows that are looked up again: those are merged, and the others stay apart.

    Where some stay, only blocks that have the same parts of them are merged. Under a layout without these groups the
    blocks are like all others of older layouts.
    """
    newest, alike = layouts[-1], defaultdict[tuple[int, tuple[int, ...], int], list[str]](list)
    grouped = {layout.epoch for layout in layouts if layout.shares_groups(newest)}
    for block in blocks:
        if block.apart and block.epoch in grouped and not hidden.whole(block):
            apart = hidden.groups(block)
            alike[block.stream, apart, hidden.pushes_until(block.last_step) if apart else 0].append(block.file)
    return [
        Merge(stream, tuple(files), newest.epoch, oldest(stream), newest.epoch, apart=apart)
        for (stream, apart, _), files in sorted(alike.items())
    ]


def _may_have_some(block: Block, units: Mapping[int, set[int]]) -> bool:
    """Whether a block may have rows that were stored at one of these units, by epoch."""
    return block.epoch in units and (block.units is None or not units[block.epoch].isdisjoint(block.units))
