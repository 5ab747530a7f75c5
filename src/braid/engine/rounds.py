"""The probe jobs of a step: one job for all rounds where routes stay in their slots, else one job a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand
from braid.engine.tasks.task_errors import raise_task_error
from braid.placement.units import routes_stay_local
from braid.plan.join import JoinPlan
from braid.state.manifest import Block


@dataclass(frozen=True)
class Found:
    """What the probe jobs of a step found: reports, merged and intermediate blocks, and files no longer needed."""

    reports: list[dict[str, Any]]
    blocks: tuple[Block, ...]
    merged: tuple[str, ...]
    exchanged: tuple[str, ...]
    exchanged_bytes: int
    intermediate: tuple[Block, ...] = ()


def run_rounds(plan: JoinPlan, cluster: Cluster, command: ProbeCommand) -> Found:
    """Run the jobs of a step; each starts from the exchanged rows of the previous one. The last one merges."""
    reports: list[dict[str, Any]] = []
    exchanged: tuple[str, ...] = ()
    for first, last in job_rounds(plan, cluster, command):
        merges = command.merges if last == command.rounds - 1 else ()
        job = replace(command, first_round=first, last_round=last, merges=merges, exchanged=exchanged)
        answers = cluster.probe(job)
        require_success(answers)
        exchanged = tuple(report["exchanged"] for report in answers if report.get("exchanged"))
        reports += answers
    return Found(
        reports=[{"files": [], "results": 0, **report} for report in reports],
        blocks=tuple(Block.from_json(block) for report in reports for block in report["merged"] if block is not None),
        merged=tuple(file for merge in command.merges for file in merge.files),
        exchanged=tuple(report["exchanged"] for report in reports if report.get("exchanged")),
        exchanged_bytes=sum(report.get("exchanged_bytes", 0) for report in reports),
        intermediate=tuple(Block.from_json(block) for report in reports for block in report["intermediate"]),
    )


def job_rounds(plan: JoinPlan, cluster: Cluster, command: ProbeCommand) -> list[tuple[int, int]]:
    """Which rounds, first and last, run in one job."""
    count = command.rounds
    local = len(command.layouts) == 1 and routes_stay_local(command.layouts[0], len(plan.streams), cluster.slots)
    if not local:
        return [(number, number) for number in range(count)]
    jobs, first = [], 0
    for number in range(count):
        if number == count - 1 or cluster.needs_own_round(command, number):
            jobs.append((first, number))
            first = number + 1
    return jobs


def require_success(reports: Sequence[dict[str, Any]]) -> None:
    """Raise the error of a task, if one has reported it."""
    for report in reports:
        raise_task_error(report)
