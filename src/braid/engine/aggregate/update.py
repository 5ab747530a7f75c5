"""The job that adds a step's partial summaries to the view, between the probe jobs and the sink."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from braid.control.views import decide_absorbed, forgettable, new_view
from braid.engine.cluster import Cluster
from braid.engine.commands import HeldFrom, ViewOrder
from braid.engine.rounds import require_success
from braid.placement.admission import ALWAYS
from braid.plan.join import JoinPlan
from braid.plan.summary import Summary
from braid.state.manifest import DeltaRecord, View, ViewBlock


@dataclass(frozen=True)
class Summed:
    """The view after a step, the reports of its tasks, and the files that are no longer needed."""

    view: View
    reports: list[dict[str, Any]]
    dropped: tuple[str, ...]
    results: int
    sent_bytes: int

    def progress(self, moved_bytes: int) -> dict[str, Any]:
        """What a step's progress says of its summary."""
        return {
            "numOutputRows": sum(report["results"] for report in self.reports),
            "bytesMoved": moved_bytes + self.sent_bytes,
            "summary": {
                "results": self.results,
                "updateBytes": self.sent_bytes,
                "viewRows": sum(block.rows for block in self.view.blocks),
                "viewBytes": sum(block.size for block in self.view.blocks),
                "viewBlocks": len(self.view.blocks),
            },
        }


def update_view(
    plan: JoinPlan,
    summary: Summary,
    cluster: Cluster,
    before: View | None,
    delta: DeltaRecord,
    run: str,
    reports: list[dict[str, Any]],
) -> Summed:
    """Run the job, if the step has results; without any nothing changes, since views slide with results alone.

    Before the first step there is no view; then an aggregation without groups has values of nothing to let out.
    """
    view = before or new_view(cluster.slots)
    first = before is None and summary.is_whole
    partials = tuple(report["partial"] for report in reports if report.get("partial"))
    if not partials and not first:
        return unchanged(view, reports)
    fresh_rows = sum(report.get("partial_rows", 0) for report in reports)
    newest = [report["newest_result"] for report in reports if report.get("newest_result") is not None]
    order = ViewOrder(
        step=delta.step,
        run=run,
        view=view,
        partials=tuple(HeldFrom(file, ALWAYS) for file in partials),
        absorbed=decide_absorbed(view, fresh_rows),
        newest_us=max([*newest, *([] if view.newest_us is None else [view.newest_us])], default=None),
        forget_us=forgettable(plan, delta.watermarks),
        first=first,
    )
    answers = cluster.update_view(order)
    require_success(plan, answers, delta.step)
    updated = view_after(order, answers)
    return replace(
        unchanged(replace(updated.view, newest_us=order.newest_us), reports),
        reports=answers,
        dropped=(*partials, *updated.dropped),
    )


@dataclass(frozen=True)
class Updated:
    """A view with what the tasks of an update have written, and the files that are no longer needed."""

    view: View
    dropped: tuple[str, ...]


def view_after(order: ViewOrder, answers: list[dict[str, Any]]) -> Updated:
    gone = {block.file for block in order.view.blocks if block.generation in order.absorbed}
    kept = [block for block in order.view.blocks if block.file not in gone]
    added = [ViewBlock(generation=order.step, **answer["view"]) for answer in answers if answer["view"]]
    return Updated(replace(order.view, blocks=(*kept, *added)), tuple(sorted(gone)))


def unchanged(view: View, reports: list[dict[str, Any]]) -> Summed:
    """A step that found these results and lets nothing out."""
    results = sum(report["results"] for report in reports)
    return Summed(view, [], (), results, sum(report.get("partial_bytes", 0) for report in reports))
