"""The job that lets held results out in order, between the probe jobs and the sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from braid.control.releasing import decide_absorbed, decide_cuts
from braid.placement.admission import ALWAYS
from braid.plan.join import JoinPlan
from braid.runtime.cluster import Cluster
from braid.runtime.orders import HeldFrom, ReleaseOrder
from braid.runtime.rounds import require_success
from braid.state.waiting import HeldBlock


@dataclass(frozen=True)
class Released:
    """What left and what still waits after a step, and the files that are no longer needed.

    `counts` has the rows that left of each file.
    """

    files: list[dict[str, Any]]
    rows: int
    newest_us: int | None
    waiting: tuple[HeldBlock, ...]
    dropped: tuple[str, ...]
    counts: dict[str, int]


def release(
    plan: JoinPlan,
    cluster: Cluster,
    *,
    step: int,
    run: str,
    held: Sequence[HeldBlock],
    fresh: Sequence[HeldBlock],
    before_us: int,
    until_us: int,
) -> Released:
    """Let out what is due of the blocks `held` before, which left up to `before_us`, and of the `fresh` ones."""
    sources = [HeldFrom(block.file, before_us) for block in held] + [HeldFrom(block.file, ALWAYS) for block in fresh]
    blocks = [*held, *fresh]
    due = [(b, s) for b, s in zip(blocks, sources, strict=True) if b.min_time <= until_us and b.max_time > s.after_us]
    staying = [block for block in blocks if block.max_time > until_us]
    absorbed = decide_absorbed(staying)
    if not due and not absorbed:
        return Released([], 0, None, tuple(staying), _gone(blocks, staying), {})
    order = ReleaseOrder(
        step=step,
        run=run,
        blocks=tuple(source for _, source in due),
        until_us=until_us,
        cuts=decide_cuts([(block, source.after_us) for block, source in due], until_us, cluster.slots),
        absorbed=tuple(block.file for block in absorbed),
    )
    answers = cluster.release(order)
    require_success(plan, answers, step)
    arrived = min((block.arrived_ms for block in absorbed), default=0)
    rewritten = [HeldBlock.from_json({**answer["held"], "arrived_ms": arrived}) for answer in answers if answer["held"]]
    names = {block.file for block in absorbed}
    staying = [block for block in staying if block.file not in names]
    newest = [answer["newest_result"] for answer in answers if answer["newest_result"] is not None]
    counts: dict[str, int] = {}
    for answer in answers:
        for file, rows in answer["counts"].items():
            counts[file] = counts.get(file, 0) + rows
    after = (*remaining(staying, counts), *rewritten)
    return Released(
        files=[file for answer in sorted(answers, key=lambda answer: answer["slot"]) for file in answer["files"]],
        rows=sum(answer["results"] for answer in answers),
        newest_us=max(newest, default=None),
        waiting=after,
        dropped=_gone(blocks, after),
        counts=counts,
    )


def held_blocks(reports: Sequence[dict[str, Any]], arrived_ms: int) -> tuple[HeldBlock, ...]:
    """The blocks of results that tasks have written to be held."""
    return tuple(
        HeldBlock.from_json({**report["held"], "arrived_ms": arrived_ms}) for report in reports if report.get("held")
    )


def remaining(blocks: Sequence[HeldBlock], counts: dict[str, int]) -> tuple[HeldBlock, ...]:
    """The blocks with the rows that have not left."""
    return tuple(replace(block, rows=block.rows - counts.get(block.file, 0)) for block in blocks)


def _gone(before: Sequence[HeldBlock], after: Sequence[HeldBlock]) -> tuple[str, ...]:
    kept = {block.file for block in after}
    return tuple(block.file for block in before if block.file not in kept)
