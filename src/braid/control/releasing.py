"""How a release is shared out: which stretch of result time each slot writes, and which files are written anew."""

from __future__ import annotations

from collections.abc import Sequence

from braid.state.order_state import BufferedBlock

MIN_ROWS_PER_SLOT = 50_000
MOST_FILES = 16
ROWS_REWRITTEN = 1_000_000


def decide_cuts(due: Sequence[tuple[BufferedBlock, int]], until_us: int, slots: int) -> tuple[int, ...]:
    """The times at which stretches end, the last one excepted: about as many rows in each, few rows in one.

    `due` has blocks, and the time after which their rows have not left.
    """
    weights: dict[int, float] = {}
    for block, after_us in due:
        for cut in block.cuts:
            if after_us < cut <= until_us:
                weights[cut] = weights.get(cut, 0.0) + block.rows / len(block.cuts)
    total = sum(weights.values())
    stretches = int(min(slots, max(1, total // MIN_ROWS_PER_SLOT)))
    cuts: list[int] = []
    passed = 0.0
    for cut in sorted(weights):
        passed += weights[cut]
        if len(cuts) < stretches - 1 and cut < until_us and passed >= total * (len(cuts) + 1) / stretches:
            cuts.append(cut)
    return tuple(cuts)


def decide_absorbed(order_state: Sequence[BufferedBlock]) -> tuple[BufferedBlock, ...]:
    """The smallest of too many files, to be written into one a slot."""
    if len(order_state) <= MOST_FILES:
        return ()
    chosen: list[BufferedBlock] = []
    for block in sorted(order_state, key=lambda block: block.rows):
        if sum(other.rows for other in chosen) + block.rows > ROWS_REWRITTEN:
            break
        chosen.append(block)
    return tuple(chosen) if len(chosen) > 1 else ()
