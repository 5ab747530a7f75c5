"""The probe jobs of a step: from its delta record to its results, and the blocks stored after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from braid.control.aggregate_state import new_aggregate
from braid.control.keeping import decide_rewrites, split_expired
from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand
from braid.engine.ordered.keeper import admission_of
from braid.engine.rebuilding import rebuild_intermediate
from braid.engine.rounds import Found, run_rounds
from braid.optimizer.trees import derivation, in_shape
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, DeltaRecord, Manifest
from braid.state.order_state import RankIndexFile

NOTHING = Found([], (), (), (), 0)


@dataclass(frozen=True)
class LookedUp:
    """What a step found with the plan in its shape, the blocks after it, and the files no longer needed."""

    plan: JoinPlan
    found: Found
    blocks: tuple[Block, ...]
    dropped: tuple[str, ...]
    exchanged_bytes: int


def look_up(
    base: JoinPlan,
    cluster: Cluster,
    manifest: Manifest,
    delta: DeltaRecord,
    run: str,
    rank_indexes: tuple[RankIndexFile, ...],
    corrected: bool,
) -> LookedUp:
    """Look a step's rows up, if any are due. If a predicate was `corrected`, intermediate results are rebuilt."""
    plan = in_shape(base, delta.layout.tree)
    stored, gone = split_expired(in_shape(base, manifest.layout.tree), manifest, delta.watermarks)
    live, rebuilt = stored, NOTHING
    useless: tuple[Block, ...] = ()
    if corrected or manifest.derivation != derivation(plan):
        live = tuple(block for block in stored if block.stream < len(plan.streams))
        useless = tuple(block for block in stored if block.stream >= len(plan.streams))
        if plan.tree is not None and live:
            rebuilt = rebuild_intermediate(plan, cluster, _probe_command(cluster, manifest, delta, run, live))
    live = (*live, *rebuilt.intermediate)
    command = replace(_probe_command(cluster, manifest, delta, run, (*live, *delta.blocks)), rank_indexes=rank_indexes)
    found = NOTHING
    if any(command.admission.starting(block) for block in command.blocks):
        merges = decide_rewrites(plan, manifest, live, command.layouts, delta.watermarks)
        found = run_rounds(plan, cluster, replace(command, merges=merges))
    resting = (block for block in live if block.file not in set(found.merged))
    return LookedUp(
        plan=plan,
        found=found,
        blocks=(*resting, *found.blocks, *delta.blocks, *found.intermediate),
        dropped=(*(block.file for block in (*gone, *useless)), *rebuilt.exchanged, *found.merged, *found.exchanged),
        exchanged_bytes=rebuilt.exchanged_bytes + found.exchanged_bytes,
    )


def layouts_of(manifest: Manifest, delta: DeltaRecord, blocks: Sequence[Block]) -> tuple[Layout, ...]:
    """The layouts with stored rows, the step's own last."""
    epochs = {block.epoch for block in blocks}
    older = [x for x in manifest.layouts if x.epoch in epochs and x.epoch != delta.layout.epoch]
    return (*older, delta.layout)


def _probe_command(
    cluster: Cluster, manifest: Manifest, delta: DeltaRecord, run: str, blocks: tuple[Block, ...]
) -> ProbeCommand:
    aggregate = manifest.aggregate or new_aggregate(cluster.slots)
    return ProbeCommand(
        step=delta.step,
        run=run,
        layouts=layouts_of(manifest, delta, blocks),
        blocks=blocks,
        join_orders=delta.join_orders,
        merges=(),
        first_round=0,
        last_round=0,
        exchanged=(),
        admission=admission_of(delta, manifest),
        aggregate_parts=aggregate.parts,
    )
