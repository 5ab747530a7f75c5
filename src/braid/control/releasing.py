"""How a release is distributed: which interval of result time each slot writes, and which files are compacted."""

from __future__ import annotations

from collections.abc import Sequence

from braid.state.order_state import BufferedBlock

# Fewer rows are not worth a task of their own.
MIN_ROWS_PER_SLOT = 50_000
# A release opens every file with due rows: this bounds their number.
MAX_FILES = 16
# Bounds what compaction adds to the duration of a step.
MAX_ROWS_REWRITTEN = 1_000_000


def decide_cuts(due: Sequence[tuple[BufferedBlock, int]], until_us: int, slots: int) -> tuple[int, ...]:
    """The end times of all intervals but the last. Intervals have about equally many rows; few rows make one interval.

    `due` has blocks, each with the time up to which its rows were emitted.
    """
    weights: dict[int, float] = {}
    for block, after_us in due:
        for cut in block.cuts:
            if after_us < cut <= until_us:
                weights[cut] = weights.get(cut, 0.0) + block.rows / len(block.cuts)
    total = sum(weights.values())
    intervals = int(min(slots, max(1, total // MIN_ROWS_PER_SLOT)))
    cuts: list[int] = []
    passed = 0.0
    for cut in sorted(weights):
        passed += weights[cut]
        if len(cuts) < intervals - 1 and cut < until_us and passed >= total * (len(cuts) + 1) / intervals:
            cuts.append(cut)
    return tuple(cuts)


def decide_compaction(blocks: Sequence[BufferedBlock]) -> tuple[BufferedBlock, ...]:
    """The smallest files, to be rewritten as one per slot, where there are too many."""
    if len(blocks) <= MAX_FILES:
        return ()
    chosen: list[BufferedBlock] = []
    for block in sorted(blocks, key=lambda block: block.rows):
        if sum(other.rows for other in chosen) + block.rows > MAX_ROWS_REWRITTEN:
            break
        chosen.append(block)
    return tuple(chosen) if len(chosen) > 1 else ()
