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
    found, streams = Found(), len(plan.streams)
    for job in clean_up_jobs(manifest.pushes, delta.cleaned, streams, delta.step):
        own = replace(command, admission=Admission(delta.step, clean_up=job, streams=streams))
        found += run_jobs(cluster, [TermRounds(plan, cluster, term_of(delta), own)])
    return replace(found, lookups=())
