"""Intermediate results rebuilt from stored rows: when a query adopts a tree, or its predicates were corrected.

All rows of the innermost stream that earlier steps admitted look up the other streams, and no other stream probes. So
every combination of such rows is found once. It counts as found in the previous step, so the delta streams of this step
see it. No record names the new files before the step's manifest, so a crash leaves only files to sweep.
"""

from __future__ import annotations

from dataclasses import replace

from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand
from braid.engine.rounds import Found, run_rounds
from braid.optimizer.trees import rebuild_orders
from braid.plan.join import JoinPlan


def rebuild_intermediate(plan: JoinPlan, cluster: Cluster, command: ProbeCommand) -> Found:
    """The blocks of all intermediate results of the tree; `command` has the stored blocks, without the step's own."""
    admission = replace(command.admission, covers="earlier")
    found = run_rounds(plan, cluster, replace(command, join_orders=rebuild_orders(plan), admission=admission))
    before = command.step - 1
    intermediate = tuple(replace(block, first_step=before, last_step=before) for block in found.intermediate)
    return replace(found, reports=[], intermediate=intermediate)
