"""The job that adds a step's partial aggregates to the aggregate state, between the probe jobs and the sink."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from braid.control.aggregate_state import decide_compaction, forgettable, new_aggregate
from braid.engine.cluster import Cluster
from braid.engine.commands import AggregateCommand, BufferedFrom
from braid.engine.rounds import require_success
from braid.placement.admission import ALWAYS
from braid.plan.aggregation import Aggregation
from braid.plan.join import JoinPlan
from braid.state.manifest import AggregateBlock, AggregateState, DeltaRecord


@dataclass(frozen=True)
class AggregateUpdate:
    """The aggregate state after a step, the reports of its tasks, and the files that are no longer needed."""

    aggregate: AggregateState
    reports: list[dict[str, Any]]
    dropped: tuple[str, ...]
    results: int
    sent_bytes: int

    def progress(self, moved_bytes: int) -> dict[str, Any]:
        """What a step's progress says about its aggregation."""
        return {
            "numOutputRows": sum(report["results"] for report in self.reports),
            "bytesMoved": moved_bytes + self.sent_bytes,
            "summary": {
                "results": self.results,
                "updateBytes": self.sent_bytes,
                "viewRows": sum(block.rows for block in self.aggregate.blocks),
                "viewBytes": sum(block.size for block in self.aggregate.blocks),
                "viewBlocks": len(self.aggregate.blocks),
            },
        }


def update_aggregate(
    plan: JoinPlan,
    aggregation: Aggregation,
    cluster: Cluster,
    before: AggregateState | None,
    delta: DeltaRecord,
    run: str,
    reports: list[dict[str, Any]],
) -> AggregateUpdate:
    """Run the job, if the step has results; otherwise nothing changes, since only results move an interval.

    Before the first step there is no aggregate state; then an aggregation without groups emits its values over nothing.
    """
    aggregate = before or new_aggregate(cluster.slots)
    first = before is None and aggregation.is_whole
    partials = tuple(report["partial"] for report in reports if report.get("partial"))
    if not partials and not first:
        return unchanged(aggregate, reports)
    fresh_rows = sum(report.get("partial_rows", 0) for report in reports)
    newest = [report["newest_result"] for report in reports if report.get("newest_result") is not None]
    command = AggregateCommand(
        step=delta.step,
        run=run,
        aggregate=aggregate,
        partials=tuple(BufferedFrom(file, ALWAYS) for file in partials),
        compacted=decide_compaction(aggregate, fresh_rows),
        newest_us=max([*newest, *([] if aggregate.newest_us is None else [aggregate.newest_us])], default=None),
        forget_us=forgettable(plan, delta.watermarks),
        first=first,
    )
    answers = cluster.update_aggregate(command)
    require_success(answers)
    updated = aggregate_after(command, answers)
    return replace(
        unchanged(replace(updated.aggregate, newest_us=command.newest_us), reports),
        reports=answers,
        dropped=(*partials, *updated.dropped),
    )


@dataclass(frozen=True)
class Updated:
    """The aggregate state with the blocks of an update, and the files that are no longer needed."""

    aggregate: AggregateState
    dropped: tuple[str, ...]


def aggregate_after(command: AggregateCommand, answers: list[dict[str, Any]]) -> Updated:
    gone = {block.file for block in command.aggregate.blocks if block.generation in command.compacted}
    kept = [block for block in command.aggregate.blocks if block.file not in gone]
    added = [AggregateBlock(generation=command.step, **answer["block"]) for answer in answers if answer["block"]]
    return Updated(replace(command.aggregate, blocks=(*kept, *added)), tuple(sorted(gone)))


def unchanged(aggregate: AggregateState, reports: list[dict[str, Any]]) -> AggregateUpdate:
    """A step that found these results and emits nothing."""
    results = sum(report["results"] for report in reports)
    return AggregateUpdate(aggregate, [], (), results, sum(report.get("partial_bytes", 0) for report in reports))
