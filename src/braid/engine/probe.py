"""The probe jobs of a step: from its delta record to its results, and the blocks stored after it.

One job runs all rounds where routes stay in their slots; otherwise each round is a job of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from braid.control.aggregate_state import new_aggregate
from braid.control.fanouts import LookupCounts
from braid.control.keeping import continued_merges, decide_rewrites, split_expired
from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand
from braid.engine.compaction import Compacted, compacted_by, given_up
from braid.engine.ordered.keeper import admission_of
from braid.engine.reports import ProbeReport, UnitCounts
from braid.optimizer.trees import derivation, in_shape, rebuild_orders
from braid.placement.units import routes_stay_local
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Block, CheckCost, DeltaRecord, Manifest, Merge
from braid.state.order_state import RankIndexFile


@dataclass(frozen=True)
class Found:
    """What the probe jobs of a step found: reports, new blocks, and files that are no longer needed.

    New blocks have the step's own rows and intermediate results. The files are those that were gathered, or exchanged
    between rounds.
    """

    reports: tuple[ProbeReport, ...] = ()
    stored: tuple[Block, ...] = ()
    intermediate: tuple[Block, ...] = ()
    unneeded: frozenset[str] = frozenset()
    exchanged_bytes: int = 0

    @property
    def lookups(self) -> Iterator[LookupCounts]:
        """What was observed of all lookups."""
        return (lookup for report in self.reports for lookup in report.lookups)

    @property
    def checks(self) -> Iterator[CheckCost]:
        """What was observed of all conjuncts."""
        return (check for report in self.reports for check in report.checks)

    @property
    def units(self) -> Iterator[UnitCounts]:
        """The counts of all units, by job and slot."""
        return (unit for report in self.reports for unit in report.units)


@dataclass(frozen=True)
class LookedUp:
    """What a step found with the plan in its shape, the blocks and merges after it, and the files no longer needed."""

    plan: JoinPlan
    found: Found
    blocks: tuple[Block, ...]
    unfinished: tuple[Merge, ...]
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
    live, rebuilt = stored, Found()
    useless: tuple[Block, ...] = ()
    if corrected or manifest.derivation != derivation(plan):
        live = tuple(block for block in stored if block.stream < len(plan.streams))
        useless = tuple(block for block in stored if block.stream >= len(plan.streams))
        if plan.tree is not None and live:
            rebuilt = rebuild_intermediate(plan, cluster, _probe_command(cluster, manifest, delta, run, live))
    live = (*live, *rebuilt.intermediate)
    command = replace(_probe_command(cluster, manifest, delta, run, (*live, *delta.blocks)), rank_indexes=rank_indexes)
    begun = continued_merges(manifest, live, command.layouts)
    found, compacted = Found(), Compacted(unfinished=begun)
    if any(command.admission.starting(block) for block in command.blocks):
        merges = decide_rewrites(plan, manifest, live, command.layouts, delta.watermarks, cluster.slots)
        merges = tuple(_in_one_order(merge, command) for merge in merges)
        gathers = _gathers(delta, command)
        found = run_rounds(plan, cluster, replace(command, merges=merges, gathers=gathers))
        compacted = compacted_by(merges, found.reports)
    unneeded = found.unneeded | compacted.unneeded
    kept = (block for block in (*live, *delta.blocks) if block.file not in unneeded)
    useless_files = (*(block.file for block in (*gone, *useless)), *given_up(manifest.unfinished, begun))
    return LookedUp(
        plan=plan,
        found=found,
        blocks=(*kept, *compacted.blocks, *found.stored, *found.intermediate),
        unfinished=compacted.unfinished,
        dropped=(*useless_files, *sorted(rebuilt.unneeded | unneeded)),
        exchanged_bytes=rebuilt.exchanged_bytes + found.exchanged_bytes,
    )


def _in_one_order(merge: Merge, command: ProbeCommand) -> Merge:
    """A merge that several steps write keeps the sort order of its first slice: its parts become one block."""
    if merge.is_whole or merge.choices is not None:
        return merge
    return replace(merge, choices=command.sort_order(merge.stream).choices)


def _gathers(delta: DeltaRecord, command: ProbeCommand) -> tuple[Merge, ...]:
    """The ingest files of each stream, whose rows the slots store as blocks of their own.

    Blocks of a slot's units, which a shuffle has made, need no gathering. Rows that were read before the step chose its
    first ranges are placed by these. Rows that were recorded for other keys or sort orders stay where they are: a
    corrected query visits all of them.
    """
    newest = delta.layout.epoch
    alike = {layout.epoch for layout in command.layouts if layout.stored_as == delta.layout.stored_as}
    files: dict[tuple[int, int], list[str]] = defaultdict(list)
    for block in delta.blocks:
        if block.epoch in alike and block.units is None:
            files[block.stream, block.epoch].append(block.file)
    return tuple(
        Merge(stream, tuple(names), epoch, None, into=None if epoch == newest else newest)
        for (stream, epoch), names in sorted(files.items())
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
        sort_orders=delta.sort_orders,
        check_order=delta.check_order,
        aggregate_parts=aggregate.parts,
    )


def run_rounds(plan: JoinPlan, cluster: Cluster, command: ProbeCommand) -> Found:
    """Run the jobs of a step; each starts from the exchanged rows of the previous one. The last one merges."""
    gathered = [file for gather in command.gathers for file in gather.files]
    reports: list[ProbeReport] = []
    exchanged: tuple[str, ...] = ()
    for first, last in job_rounds(plan, cluster, command):
        merges = command.merges if last == command.rounds - 1 else ()
        job = replace(command, first_round=first, last_round=last, merges=merges, exchanged=exchanged)
        answers = cluster.run(job)
        if first == 0:
            command = _after_gathering(command, answers)
        exchanged = tuple(report.exchanged.file for report in answers if report.exchanged is not None)
        reports += answers
    written = [report.exchanged for report in reports if report.exchanged is not None]
    return Found(
        reports=tuple(reports),
        stored=tuple(block for report in reports for block in report.stored),
        intermediate=tuple(block for report in reports for block in report.intermediate),
        unneeded=frozenset([*gathered, *(block.file for block in written)]),
        exchanged_bytes=sum(block.size for block in written),
    )


def _after_gathering(command: ProbeCommand, answers: Sequence[ProbeReport]) -> ProbeCommand:
    """The command of later jobs: the blocks that the slots have stored take the place of the ingest files."""
    gathered = {file for gather in command.gathers for file in gather.files}
    kept = (block for block in command.blocks if block.file not in gathered)
    stored = (block for answer in answers for block in answer.stored)
    return replace(command, blocks=(*kept, *stored), gathers=())


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


def rebuild_intermediate(plan: JoinPlan, cluster: Cluster, command: ProbeCommand) -> Found:
    """Intermediate results from stored rows, when a query adopts a tree or its predicates were corrected.

    `command` has the stored blocks, without the step's own. All rows of the innermost stream that earlier steps
    admitted look up the other streams, and no other stream probes, so every combination of such rows is found once. It
    counts as found in the previous step, so the delta streams of this step see it. No record names the new files
    before the step's manifest, so a crash leaves only files to sweep.
    """
    admission = replace(command.admission, covers="earlier")
    found = run_rounds(plan, cluster, replace(command, join_orders=rebuild_orders(plan), admission=admission))
    before = command.step - 1
    intermediate = tuple(replace(block, first_step=before, last_step=before) for block in found.intermediate)
    return replace(found, reports=(), intermediate=intermediate)
