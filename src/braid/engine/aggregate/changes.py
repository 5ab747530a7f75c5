"""The jobs that let the changes of an ordered summary out: one adds what is released to the view, one sorts.

Partial summaries wait for their order in the place of results. What of them is released in a step becomes the whole
sequence of changes between the old and the new frontier, held by the slots that found it until it is sorted, in the
same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from braid.control.views import decide_absorbed, forgettable_in_order
from braid.control.watermarks import later
from braid.engine.aggregate.update import Summed, unchanged, view_after
from braid.engine.cluster import Cluster
from braid.engine.commands import ViewOrder
from braid.engine.ordered.release import (
    Released,
    arrived_first,
    held_blocks,
    newest_released,
    release,
    released_rows,
    remaining,
    sort_out,
)
from braid.engine.rounds import require_success
from braid.placement.admission import ALWAYS, NEVER
from braid.plan.join import JoinPlan
from braid.state.manifest import DeltaRecord, View
from braid.state.waiting import HeldBlock


def release_changes(
    plan: JoinPlan,
    cluster: Cluster,
    view: View,
    delta: DeltaRecord,
    run: str,
    reports: list[dict[str, Any]],
    *,
    held: Sequence[HeldBlock],
    fresh: Sequence[HeldBlock],
    before_us: int,
    until_us: int,
) -> tuple[Released, Summed]:
    """Let out what the released results change; what waits are partial summaries."""
    found = sort_out(held, fresh, before_us, until_us)
    if not found.due and not found.absorbed:
        return Released([], 0, None, found.staying, found.gone(found.staying), {}), unchanged(view, reports)
    order = ViewOrder(
        step=delta.step,
        run=run,
        view=view,
        partials=tuple(source for _, source in found.due),
        absorbed=decide_absorbed(view, sum(block.rows for block, _ in found.due)) if found.due else (),
        newest_us=None,
        forget_us=forgettable_in_order(plan, delta.frontier_us),
        until_us=until_us,
        rewritten=tuple(block.file for block in found.absorbed),
    )
    answers = cluster.update_view(order)
    require_success(plan, answers, delta.step)
    changed = held_blocks(answers, delta.now_ms)
    shown = release(plan, cluster, step=delta.step, run=run, held=(), fresh=changed, before_us=ALWAYS, until_us=NEVER)
    counts, newest = released_rows(answers), newest_released(answers)
    rest = held_blocks(answers, arrived_first(found.absorbed), "rest")
    after = (*remaining(found.untouched, counts), *rest)
    released = replace(
        shown,
        newest_us=newest,
        waiting=after,
        dropped=(*shown.dropped, *found.gone(after)),
        counts=counts,
    )
    updated = view_after(order, answers)
    moved = replace(updated.view, newest_us=later(view.newest_us, newest))
    return released, replace(unchanged(moved, reports), reports=answers, dropped=updated.dropped)
