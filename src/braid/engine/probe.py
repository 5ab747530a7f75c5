"""The probe phase of a step: from its delta record to its results, and the blocks and terms after it.

A step runs terms: its own, and the rounds that are left of earlier ones (`rounds.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from braid.control.aggregate_state import new_aggregate
from braid.control.keeping import continued_merges, decide_rewrites, put_apart, split_expired, taking_payloads
from braid.control.memory.deferring import pushes_during
from braid.control.memory.separating import Hidden
from braid.control.slicing.terms import jobs_of, term_of
from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand, Visit
from braid.engine.compaction import Compacted, compacted_by, given_up
from braid.engine.memory.clean_up import clean_up
from braid.engine.ordered.keeper import admission_of
from braid.engine.rounds import Found, TermRounds, run_jobs
from braid.optimizer.trees import derivation, in_shape, rebuild_orders
from braid.placement.admission import Admission
from braid.plan.join import JoinPlan
from braid.plan.layout import Cover, Layout
from braid.state.manifest import Block, DeltaRecord, Manifest, Merge
from braid.state.order_state import RankIndexFile
from braid.state.site_state import Sent, SiteState
from braid.state.terms import Term


@dataclass(frozen=True)
class LookedUp:
    """What a step found with the plan in its shape, the blocks, merges and terms after it, and unneeded files.

    Between sites, also the state of these, and what was sent.
    """

    plan: JoinPlan
    found: Found
    blocks: tuple[Block, ...]
    unfinished: tuple[Merge, ...]
    terms: tuple[Term, ...]
    dropped: tuple[str, ...]
    exchanged_bytes: int
    sites: SiteState | None = None
    sent: tuple[Sent, ...] = ()


def look_up(
    base: JoinPlan,
    cluster: Cluster,
    manifest: Manifest,
    delta: DeltaRecord,
    run: str,
    rank_indexes: tuple[RankIndexFile, ...],
    corrected: bool,
) -> LookedUp:
    """Run the terms of a step: its own, if rows are due, and those of earlier steps that are not finished.

    If a predicate was `corrected`, intermediate results are rebuilt, and unfinished terms begin again.
    """
    plan = in_shape(base, delta.layout.tree)
    stored, gone = split_expired(in_shape(base, manifest.layout.tree), manifest, delta.watermarks)
    live, rebuilt, useless = stored, Found(), stored[:0]
    if corrected or manifest.derivation != derivation(plan):
        live = tuple(block for block in stored if block.stream < len(plan.streams))
        useless = tuple(block for block in stored if block.stream >= len(plan.streams))
        if plan.tree is not None and live:
            rebuilt = rebuild_intermediate(plan, cluster, probe_command(cluster, manifest, delta, run, live), delta)
    live = (*live, *rebuilt.intermediate)
    command = replace(probe_command(cluster, manifest, delta, run, (*live, *delta.blocks)), rank_indexes=rank_indexes)
    separated = put_apart(plan, manifest, delta, live, command.layouts)
    free, hidden = _without(live, separated), Hidden(pushes_during(manifest, delta))
    begun = continued_merges(manifest, free, command.layouts, hidden)
    compacted, own = Compacted(unfinished=begun), None
    if any(command.admission.starting(block) for block in command.blocks):
        own, command = term_of(delta), _rewriting(plan, manifest, delta, command, separated, free, cluster.slots)
    found, terms = run_terms(base, cluster, manifest, delta, _seen(command, manifest, delta), own, corrected)
    if own is not None:
        compacted = compacted_by(command.merges, found.reports)
    found += clean_up(plan, cluster, manifest, delta, _seen(command, manifest, delta))
    unneeded = found.unneeded | compacted.unneeded
    kept = (block for block in (*live, *delta.blocks) if block.file not in unneeded)
    useless_files = (*(block.file for block in (*gone, *useless)), *given_up(manifest.unfinished, begun))
    return LookedUp(
        plan=plan,
        found=found,
        blocks=(*kept, *compacted.blocks, *found.stored, *found.intermediate),
        unfinished=compacted.unfinished,
        terms=terms,
        dropped=(*useless_files, *sorted(rebuilt.unneeded | unneeded)),
        exchanged_bytes=rebuilt.exchanged_bytes + found.exchanged_bytes,
    )


def run_terms(
    base: JoinPlan,
    cluster: Cluster,
    manifest: Manifest,
    delta: DeltaRecord,
    command: ProbeCommand,
    own: Term | None,
    corrected: bool,
) -> tuple[Found, tuple[Term, ...]]:
    """Run the step's own term, if it has one, together with earlier ones; what was found, and the unfinished terms.

    Rows that are under way under an old predicate are of no use under a corrected one. Their terms have emitted
    nothing: they begin again, each by jobs of its own, because all slots need the rows that begin.
    """
    earlier = [] if corrected else list(reversed(manifest.terms))
    found, given_up_files = Found(), frozenset[str]()
    if corrected:
        for term in manifest.terms:
            again = replace(term, next_round=0, exchanged=())
            layouts = (*command.layouts[:-1], replace(command.layouts[-1], tree=None))
            begun = _earlier_command(command, term, layouts)
            found += run_jobs(cluster, [TermRounds(base, cluster, again, begun)])
            given_up_files |= frozenset(term.exchanged)
    most = jobs_of((*earlier, *([] if own is None else [own])), 1 if corrected else delta.interleave)
    layouts = _layouts_before(manifest, command.blocks)
    rounds = [TermRounds(base, cluster, term, _earlier_command(command, term, layouts), most) for term in earlier]
    if own is not None:
        rounds.insert(0, TermRounds(in_shape(base, delta.layout.tree), cluster, own, command, most))
    found += run_jobs(cluster, rounds)
    left = [term.unfinished for term in reversed(rounds)]
    found = replace(found, unneeded=found.unneeded | given_up_files)
    return found, tuple(term for term in left if term is not None)


def _earlier_command(command: ProbeCommand, term: Term, layouts: tuple[Layout, ...]) -> ProbeCommand:
    """The command of a term of an earlier step: it sees the blocks up to that step, whose rows were all admitted."""
    orders, admission = term.join_orders, Admission(term.step)
    earlier = replace(command, layouts=layouts, join_orders=orders, admission=admission)
    return replace(earlier, merges=(), gathers=(), visits=()).seeing(command.blocks)


def _layouts_before(manifest: Manifest, blocks: Sequence[Block]) -> tuple[Layout, ...]:
    """The layouts of unfinished terms: those with rows, and last the newest before this step."""
    epochs = {block.epoch for block in blocks}
    return (*(layout for layout in manifest.layouts[:-1] if layout.epoch in epochs), manifest.layout)


def _without(blocks: Sequence[Block], merges: Sequence[Merge]) -> tuple[Block, ...]:
    """The blocks that are not read by some merges."""
    read = {file for merge in merges for file in merge.files}
    return tuple(block for block in blocks if block.file not in read) if read else tuple(blocks)


def _seen(command: ProbeCommand, manifest: Manifest, delta: DeltaRecord) -> ProbeCommand:
    """The command without the blocks that its tasks need not open: no row of them is looked up, cleaned up or merged.

    Groups that this step pushes are counted once more.
    """
    hidden, cleaned = Hidden(manifest.pushes), set(delta.cleaned)
    merged = {file for merge in command.merges for file in merge.files}
    seen = (b for b in command.blocks if not hidden.whole(b) or b.file in merged or not cleaned.isdisjoint(b.apart))
    return replace(command, blocks=tuple(seen)) if manifest.pushes else command


def _rewriting(
    plan: JoinPlan,
    manifest: Manifest,
    delta: DeltaRecord,
    command: ProbeCommand,
    separated: tuple[Merge, ...],
    live: Sequence[Block],
    slots: int,
) -> ProbeCommand:
    """The command with what its slots gather, put apart, and merge of the other live blocks."""
    first = len(separated)
    due = due_rewrites(plan, manifest, live, delta, command, slots)
    merges = (replace(merge, number=first + merge.number) for merge in due)
    return replace(command, merges=(*separated, *merges), separations=first, gathers=_gathers(delta, command))


def due_rewrites(
    plan: JoinPlan,
    manifest: Manifest,
    live: Sequence[Block],
    delta: DeltaRecord,
    command: ProbeCommand,
    slots: int,
) -> tuple[Merge, ...]:
    """The merges of live blocks that the step carries out."""
    hidden = Hidden(pushes_during(manifest, delta))
    merges = decide_rewrites(plan, manifest, live, command.layouts, delta.watermarks, slots, hidden)
    return tuple(_in_one_order(merge, command) for merge in taking_payloads(merges, live))


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
    """The layouts with stored rows, the step's own last.

    The first step of another run may have read its rows under a layout that this run's strategy does not choose.
    """
    epochs = {block.epoch for block in blocks}
    known = {layout.epoch: layout for layout in manifest.layouts}
    if delta.read_under is not None:
        known[delta.read_under.epoch] = delta.read_under
    older = [x for x in known.values() if x.epoch in epochs and x.epoch != delta.layout.epoch]
    return (*older, delta.layout)


def probe_command(
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
        visits=tuple(_visits(delta.covers)),
        aggregate_parts=aggregate.parts,
        pushes=tuple(replace(push, watermarks=()) for push in pushes_during(manifest, delta)),
        payloads=(*manifest.payloads, *delta.payloads),
    )


def _visits(covers: Sequence[Cover]) -> Iterator[Visit]:
    """What the lookups of a step visit, by its covers."""
    for cover in covers:
        for route, unit in enumerate(cover.units):
            if unit >= 0:
                yield Visit(cover.delta_stream, cover.stream, unit, route)


def rebuild_intermediate(plan: JoinPlan, cluster: Cluster, command: ProbeCommand, delta: DeltaRecord) -> Found:
    """Intermediate results from stored rows, when a query adopts a tree or its predicates were corrected.

    `command` has the stored blocks, without the step's own. All rows of the innermost stream that earlier steps
    admitted look up the other streams, and no other stream probes, so every combination of such rows is found once. It
    counts as found in the previous step, so the delta streams of this step see it. No record names the new files
    before the step's manifest, so a crash leaves only files to sweep.
    """
    admission = replace(command.admission, covers="earlier")
    term = replace(term_of(delta), join_orders=rebuild_orders(plan))
    found = run_jobs(cluster, [TermRounds(plan, cluster, term, replace(command, admission=admission))])
    before = command.step - 1
    intermediate = tuple(replace(block, first_step=before, last_step=before) for block in found.intermediate)
    return replace(found, reports=(), lookups=(), intermediate=intermediate)
