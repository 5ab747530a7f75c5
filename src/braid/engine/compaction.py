"""What the merges of a step leave: live blocks, merges that later steps continue, and files no longer needed.

The parts of an unfinished merge are named by the manifest, but nothing reads them before the merge is complete. So a
crash between two slices loses nothing, and a merge that is given up costs only its parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from braid.engine.reports import ProbeReport
from braid.state.manifest import Block, Merge


@dataclass(frozen=True)
class Compacted:
    """The blocks that merges have completed, what is still unfinished, and the files that are no longer needed."""

    blocks: tuple[Block, ...] = ()
    unfinished: tuple[Merge, ...] = ()
    unneeded: frozenset[str] = frozenset()


def compacted_by(merges: Sequence[Merge], reports: Sequence[ProbeReport]) -> Compacted:
    """What the merges of a step have made."""
    written: dict[int, list[Block]] = defaultdict(list)
    for report in reports:
        for merged in report.merged:
            written[merged.number] += [block for block in (merged.block, merged.apart) if block is not None]
    blocks: list[Block] = []
    unfinished: list[Merge] = []
    unneeded: set[str] = set()
    for merge in merges:
        new = written[merge.number]
        if not merge.is_final:
            unfinished.append(replace(merge, parts=(*merge.parts, *new), number=0))
            continue
        unneeded.update(merge.files, (part.file for part in merge.copied))
        blocks += new
        # Each part of a move has rows of all units of the new layout; the slots merge them later.
        blocks += () if merge.into is None else merge.parts
    return Compacted(tuple(blocks), tuple(unfinished), frozenset(unneeded))


def given_up(before: Sequence[Merge], continued: Sequence[Merge]) -> Iterator[str]:
    """The parts of unfinished merges that are not continued."""
    return (part.file for begun in before if begun not in continued for part in begun.parts)


def slot_times(reports: Sequence[ProbeReport]) -> list[float]:
    """How long each slot worked in the probe jobs of a step."""
    seconds: dict[int, float] = defaultdict(float)
    for report in reports:
        seconds[report.slot] += report.usage.seconds
    return list(seconds.values())


def merge_times(reports: Sequence[ProbeReport]) -> Iterator[tuple[int, int, float]]:
    """What the slots merged, as (stream, rows, seconds)."""
    return ((merged.stream, merged.rows, merged.seconds) for report in reports for merged in report.merged)
