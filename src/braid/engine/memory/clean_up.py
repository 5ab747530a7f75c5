"""The clean-up of deferred results: the rows of some partition groups are looked up again, across their parts."""

from __future__ import annotations

from dataclasses import replace

from braid.control.memory.deferring import clean_up_jobs
from braid.control.slicing.terms import term_of
from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand
from braid.engine.rounds import Found, TermRounds, run_jobs
from braid.placement.admission import Admission
from braid.plan.join import JoinPlan
from braid.state.manifest import DeltaRecord, Manifest


def clean_up(plan: JoinPlan, cluster: Cluster, manifest: Manifest, delta: DeltaRecord, command: ProbeCommand) -> Found:
    """Find the deferred results of the groups that a step cleans up, if any; `command` has the blocks and pushes.

    What was observed of the lookups is not kept: rows that start again are not those that a step brings.
    """
    streams = len(plan.streams)
    commands = [
        replace(command, admission=Admission(delta.step, clean_up=job, streams=streams))
        for job in clean_up_jobs(manifest.pushes, delta.cleaned, streams, delta.step)
    ]
    terms = [TermRounds(plan, cluster, term_of(delta), own) for own in commands]
    # What Spark's JVM evaluates needs jobs of another shape; all else is looked up in one job.
    alone = any(cluster.needs_own_round(command, number) for number in range(command.rounds))
    found = sum((run_jobs(cluster, some) for some in ([[term] for term in terms] if alone else [terms])), Found())
    return replace(found, lookups=())
