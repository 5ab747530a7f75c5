"""The jobs that emit the changes of an ordered aggregation: one updates the aggregate state, one sorts.

Partial aggregates are buffered instead of results. What a step releases of them becomes all changes between the old and
the new frontier. The slots that find the changes buffer them until they are sorted, in the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from braid.control.aggregate_state import decide_compaction, forgettable_in_order
from braid.control.watermarks import later
from braid.engine.aggregate.update import AggregateUpdate, aggregate_after, unchanged
from braid.engine.cluster import Cluster
from braid.engine.commands import AggregateCommand
from braid.engine.ordered.release import (
    Released,
    SortedBlocks,
    arrived_first,
    buffered_blocks,
    newest_released,
    release,
    released_rows,
    remaining,
    sort_blocks,
)
from braid.engine.reports import ProbeReport
from braid.placement.admission import ALWAYS, NEVER
from braid.plan.join import JoinPlan
from braid.state.manifest import AggregateState, DeltaRecord
from braid.state.order_state import BufferedBlock


def release_changes(
    plan: JoinPlan,
    cluster: Cluster,
    aggregate: AggregateState,
    delta: DeltaRecord,
    run: str,
    reports: Sequence[ProbeReport],
    *,
    buffered: Sequence[BufferedBlock],
    fresh: Sequence[BufferedBlock],
    before_us: int,
    until_us: int,
) -> tuple[Released, AggregateUpdate]:
    """Emit what the released results change; the buffered blocks have partial aggregates."""
    found = sort_blocks(buffered, fresh, before_us, until_us)
    if not found.due and not found.compacted:
        return Released((), 0, None, found.staying, found.unneeded(found.staying), {}), unchanged(aggregate, reports)
    command = _command(plan, aggregate, delta, run, found, until_us)
    answers = cluster.run(command)
    changed = buffered_blocks((answer.output.buffered for answer in answers), delta.now_ms)
    sorted_changes = release(
        cluster, step=delta.step, run=run, buffered=(), fresh=changed, before_us=ALWAYS, until_us=NEVER
    )
    counts, newest = released_rows(answers), newest_released(answers)
    kept = buffered_blocks((answer.kept for answer in answers), arrived_first(found.compacted))
    after = (*remaining(found.untouched, counts), *kept)
    released = replace(
        sorted_changes,
        newest_us=newest,
        buffered=after,
        dropped=(*sorted_changes.dropped, *found.unneeded(after)),
        counts=counts,
    )
    updated = aggregate_after(command, answers)
    moved = replace(updated.aggregate, newest_us=later(aggregate.newest_us, newest))
    return released, replace(unchanged(moved, reports), reports=tuple(answers), dropped=updated.dropped)


def _command(
    plan: JoinPlan, aggregate: AggregateState, delta: DeltaRecord, run: str, found: SortedBlocks, until_us: int
) -> AggregateCommand:
    """Add the due partial aggregates up to `until_us` to the aggregate state."""
    return AggregateCommand(
        step=delta.step,
        run=run,
        aggregate=aggregate,
        partials=tuple(source for _, source in found.due),
        compacted=decide_compaction(aggregate, sum(block.rows for block, _ in found.due)) if found.due else (),
        newest_us=None,
        forget_us=forgettable_in_order(plan, delta.frontier_us),
        until_us=until_us,
        rewritten=tuple(block.file for block in found.compacted),
    )
