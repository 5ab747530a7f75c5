"""The job that adds a step's partial aggregates to the aggregate state, between the probe jobs and the sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from braid.control.aggregate_state import decide_compaction, forgettable, new_aggregate
from braid.control.slicing.terms import oldest_watermarks
from braid.engine.cluster import Cluster
from braid.engine.commands import AggregateCommand, BufferedFrom
from braid.engine.reports import AggregateReport, ProbeReport
from braid.placement.admission import ALWAYS
from braid.plan.aggregation import Aggregation
from braid.plan.join import JoinPlan
from braid.state.manifest import AggregateBlock, AggregateState, DeltaRecord, Manifest


@dataclass(frozen=True)
class AggregateUpdate:
    """The aggregate state after a step, the reports of its tasks, and the files that are no longer needed."""

    aggregate: AggregateState
    reports: tuple[AggregateReport, ...]
    dropped: tuple[str, ...]
    results: int
    sent_bytes: int

    def progress(self, modelled_bytes: int) -> dict[str, Any]:
        """What a step's progress says about its aggregation."""
        return {
            "numOutputRows": sum(report.output.results for report in self.reports),
            "bytesModelled": modelled_bytes + self.sent_bytes,
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
    manifest: Manifest,
    delta: DeltaRecord,
    run: str,
    reports: Sequence[ProbeReport],
) -> AggregateUpdate:
    """Run the job, if the step has results; otherwise nothing changes, since only results move an interval.

    Before the first step there is no aggregate state; then an aggregation without groups emits its values over nothing.
    Nothing is forgotten that the results of an unfinished term may repeat.
    """
    before = manifest.aggregate
    aggregate = before or new_aggregate(cluster.slots)
    first = before is None and aggregation.is_whole
    partials = [report.output.partial for report in reports if report.output.partial is not None]
    if not partials and not first:
        return unchanged(aggregate, reports)
    newest = [report.output.newest_us for report in reports if report.output.newest_us is not None]
    owes = bool(manifest.pushes or delta.pushed)
    command = AggregateCommand(
        step=delta.step,
        run=run,
        aggregate=aggregate,
        partials=tuple(BufferedFrom(partial.file, ALWAYS) for partial in partials),
        compacted=decide_compaction(aggregate, sum(partial.rows for partial in partials)),
        newest_us=max([*newest, *([] if aggregate.newest_us is None else [aggregate.newest_us])], default=None),
        # A deferred result may repeat any distinct row.
        forget_us=None if owes else forgettable(plan, oldest_watermarks(manifest.terms, delta.watermarks)),
        first=first,
    )
    answers = cluster.run(command)
    updated = aggregate_after(command, answers)
    return replace(
        unchanged(replace(updated.aggregate, newest_us=command.newest_us), reports),
        reports=tuple(answers),
        dropped=(*(partial.file for partial in partials), *updated.dropped),
    )


@dataclass(frozen=True)
class Updated:
    """The aggregate state with the blocks of an update, and the files that are no longer needed."""

    aggregate: AggregateState
    dropped: tuple[str, ...]


def aggregate_after(command: AggregateCommand, answers: Sequence[AggregateReport]) -> Updated:
    gone = {block.file for block in command.aggregate.blocks if block.generation in command.compacted}
    kept = [block for block in command.aggregate.blocks if block.file not in gone]
    written = [answer.block for answer in answers if answer.block is not None]
    added = [AggregateBlock(block.file, command.step, block.rows, block.size) for block in written]
    return Updated(replace(command.aggregate, blocks=(*kept, *added)), tuple(sorted(gone)))


def unchanged(aggregate: AggregateState, reports: Sequence[ProbeReport]) -> AggregateUpdate:
    """A step that found these results and emits nothing."""
    outputs = [report.output for report in reports]
    sent = sum(output.partial.size for output in outputs if output.partial is not None)
    return AggregateUpdate(aggregate, (), (), sum(output.results for output in outputs), sent)
