"""The job that emits buffered results in order, between the probe jobs and the sink."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from braid.control.releasing import decide_compaction, decide_cuts
from braid.engine.cluster import Cluster
from braid.engine.commands import BufferedFrom, ReleaseCommand
from braid.engine.reports import AggregateReport, BufferedFile, ReleaseReport, ResultFile
from braid.placement.admission import ALWAYS
from braid.state.order_state import BufferedBlock


@dataclass(frozen=True)
class Released:
    """What a step emitted and what is still buffered, and the files that are no longer needed.

    `counts` has the released rows of each file.
    """

    files: tuple[ResultFile, ...]
    rows: int
    newest_us: int | None
    buffered: tuple[BufferedBlock, ...]
    dropped: tuple[str, ...]
    counts: dict[str, int]


@dataclass(frozen=True)
class SortedBlocks:
    """Buffered blocks by what a step does with them: `due` ones with what is due, `staying` and compacted ones.

    A block may be both due and staying.
    """

    blocks: tuple[BufferedBlock, ...]
    due: tuple[tuple[BufferedBlock, BufferedFrom], ...]
    staying: tuple[BufferedBlock, ...]
    compacted: tuple[BufferedBlock, ...]

    @property
    def untouched(self) -> tuple[BufferedBlock, ...]:
        """The blocks that stay and are not compacted."""
        names = {block.file for block in self.compacted}
        return tuple(block for block in self.staying if block.file not in names)

    def unneeded(self, after: Sequence[BufferedBlock]) -> tuple[str, ...]:
        """The files that are no longer needed when these blocks stay."""
        kept = {block.file for block in after}
        return tuple(block.file for block in self.blocks if block.file not in kept)


def sort_blocks(
    buffered: Sequence[BufferedBlock], fresh: Sequence[BufferedBlock], before_us: int, until_us: int
) -> SortedBlocks:
    """What is due up to `until_us`, of `buffered` blocks released up to `before_us`, and of `fresh` ones."""
    sources = [BufferedFrom(block.file, before_us) for block in buffered] + [
        BufferedFrom(block.file, ALWAYS) for block in fresh
    ]
    blocks = (*buffered, *fresh)
    due = [(b, s) for b, s in zip(blocks, sources, strict=True) if b.min_time <= until_us and b.max_time > s.after_us]
    staying = tuple(block for block in blocks if block.max_time > until_us)
    return SortedBlocks(blocks, tuple(due), staying, decide_compaction(staying))


def release(
    cluster: Cluster,
    *,
    step: int,
    run: str,
    buffered: Sequence[BufferedBlock],
    fresh: Sequence[BufferedBlock],
    before_us: int,
    until_us: int,
) -> Released:
    """Emit what is due of the `buffered` blocks, released up to `before_us`, and of the `fresh` ones."""
    found = sort_blocks(buffered, fresh, before_us, until_us)
    if not found.due and not found.compacted:
        return Released((), 0, None, found.staying, found.unneeded(found.staying), {})
    command = ReleaseCommand(
        step=step,
        run=run,
        blocks=tuple(source for _, source in found.due),
        frontier_us=until_us,
        cuts=decide_cuts([(block, source.after_us) for block, source in found.due], until_us, cluster.slots),
        compacted=tuple(block.file for block in found.compacted),
    )
    answers = sorted(cluster.run(command), key=lambda answer: answer.slot)
    counts = released_rows(answers)
    kept = buffered_blocks((answer.kept for answer in answers), arrived_first(found.compacted))
    after = (*remaining(found.untouched, counts), *kept)
    return Released(
        files=tuple(file for answer in answers for file in answer.output.files),
        rows=sum(answer.output.results for answer in answers),
        newest_us=newest_released(answers),
        buffered=after,
        dropped=found.unneeded(after),
        counts=counts,
    )


def buffered_blocks(written: Iterable[BufferedFile | None], arrived_ms: int) -> tuple[BufferedBlock, ...]:
    """The buffered blocks that tasks have written, if they had rows to buffer."""
    return tuple(
        BufferedBlock(**vars(file.block), arrived_ms=arrived_ms, cuts=file.cuts) for file in written if file is not None
    )


def arrived_first(blocks: Sequence[BufferedBlock]) -> int:
    return min((block.arrived_ms for block in blocks), default=0)


def released_rows(answers: Sequence[ReleaseReport | AggregateReport]) -> dict[str, int]:
    """The released rows of each file, over all slots."""
    counts: dict[str, int] = {}
    for answer in answers:
        for file, rows in answer.released.items():
            counts[file] = counts.get(file, 0) + rows
    return counts


def newest_released(answers: Sequence[ReleaseReport | AggregateReport]) -> int | None:
    return max((a.output.newest_us for a in answers if a.output.newest_us is not None), default=None)


def remaining(blocks: Sequence[BufferedBlock], counts: dict[str, int]) -> tuple[BufferedBlock, ...]:
    """The blocks with the number of their unreleased rows."""
    return tuple(replace(block, rows=block.rows - counts.get(block.file, 0)) for block in blocks)
