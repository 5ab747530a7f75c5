"""Derived streams made anew from stored rows: when a query takes on a tree, or its predicates were corrected.

All rows of the innermost stream that earlier steps admitted look up those of the others, and nothing else does. So
every combination of such rows is found once. What is found counts as found in the step before: the heads of this step
see it. Nothing is named by a record before the manifest of the step, so a crash leaves nothing but files to sweep.
"""

from __future__ import annotations

from dataclasses import replace

from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand
from braid.engine.rounds import Found, run_rounds
from braid.optimizer.trees import rebuild_orders
from braid.plan.join import JoinPlan


def rebuild_intermediate(plan: JoinPlan, cluster: Cluster, command: ProbeCommand) -> Found:
    """The blocks of all derived streams of the plan's tree; `command` has the stored blocks, without the step's own."""
    admission = replace(command.admission, covers="earlier")
    found = run_rounds(plan, cluster, replace(command, join_orders=rebuild_orders(plan), admission=admission))
    before = command.step - 1
    intermediate = tuple(replace(block, first_step=before, last_step=before) for block in found.intermediate)
    return replace(found, reports=[], intermediate=intermediate)
