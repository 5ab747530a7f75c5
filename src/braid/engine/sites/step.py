"""The probe phase of a step between sites: a conversation of their slots, from the delta record to the state after it.

The layout of the step has all live rows at the sites of their streams. Rows of other layouts are moved there in the
first round; then nothing of their copies is known, and all copies begin again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from braid.control.keeping import continued_merges, departed_below, split_expired
from braid.engine.cluster import Cluster
from braid.engine.commands import ProbeCommand, SiteCommand
from braid.engine.compaction import Compacted, compacted_by, given_up
from braid.engine.ordered.ranking import Ranked
from braid.engine.probe import LookedUp, due_rewrites, look_up, probe_command, run_terms
from braid.engine.reports import ProbeReport, SiteReport
from braid.engine.rounds import BufferedResults, Found
from braid.engine.sites.link_times import observed_links
from braid.optimizer.semijoins.copies import continued_copies, copies_of
from braid.optimizer.semijoins.link_speeds import links_after
from braid.optimizer.semijoins.observed import observed_after
from braid.optimizer.trees import in_shape
from braid.placement.site_rounds import rounds_of
from braid.placement.sites import site_of
from braid.plan.join import JoinPlan
from braid.plan.sites import SitePlan
from braid.state.manifest import Block, DeltaRecord, Manifest, Merge
from braid.state.order_state import RankIndexFile
from braid.state.site_state import SiteState, StreamObservation, TupleFiles
from braid.state.sweeping import named_files


def look_up_step(
    base: JoinPlan,
    cluster: Cluster,
    manifest: Manifest,
    delta: DeltaRecord,
    run: str,
    ranked: Ranked,
    corrected: bool,
) -> LookedUp:
    """The probe phase of any step."""
    given = (base, cluster, manifest, delta, run, ranked.rank_indexes, corrected)
    return _Conversation(*given).look_up() if delta.layout.kind == "sites" else look_up(*given)


@dataclass(frozen=True)
class _Live:
    """The stored blocks of a step: those that are where they belong, those that move, and those that are dropped.

    Ingest files of earlier steps, none of whose rows was admitted yet, still have to be `gathered`.
    """

    kept: tuple[Block, ...]
    gathered: tuple[Block, ...]
    moved: tuple[Block, ...]
    dropped: tuple[Block, ...]


class _Conversation:
    """The rounds of one step, and what they leave."""

    def __init__(
        self,
        plan: JoinPlan,
        cluster: Cluster,
        manifest: Manifest,
        delta: DeltaRecord,
        run: str,
        rank_indexes: tuple[RankIndexFile, ...],
        corrected: bool,
    ) -> None:
        self._plan, self._cluster, self._manifest, self._delta, self._run = plan, cluster, manifest, delta, run
        self._rank_indexes, self._corrected = rank_indexes, corrected
        self._layout, self._site_plan = delta.layout, required_plan(delta)
        stored, self._gone = split_expired(in_shape(plan, manifest.layout.tree), manifest, delta.watermarks)
        known = manifest.sites if manifest.layout.epoch == self._layout.epoch and not corrected else None
        needed = copies_of(plan, self._layout.homes, self._site_plan.sequences, delta.step)
        self._copies = continued_copies(() if known is None else known.copies, needed)
        self._before = known
        self._live = self._sorted_out(stored)

    def look_up(self) -> LookedUp:
        """Finish the terms of earlier steps, run the rounds, and collect what they found and stored."""
        delta, live = self._delta, self._live
        blocks = (*live.kept, *live.gathered, *live.moved, *delta.blocks)
        common = probe_command(self._cluster, self._manifest, delta, self._run, blocks)
        common = replace(common, rank_indexes=self._rank_indexes)
        found, _ = run_terms(self._plan, self._cluster, self._manifest, delta, common, None, self._corrected)
        begun = continued_merges(self._manifest, live.kept, (self._layout,))
        compacted, state, reports = Compacted(unfinished=begun), self._before, list[SiteReport]()
        if self._is_due():
            command = self._command(replace(common, blocks=(), pushes=()))
            reports = self._cluster.converse(command, rounds_of(self._site_plan.sequences, self._layout.homes))
            found += self._found(command, reports)
            compacted = compacted_by(command.merges, found.reports)
            state = self._state(command, reports)
        unneeded = found.unneeded | compacted.unneeded
        kept = (block for block in blocks if block.file not in unneeded)
        copied = tuple(block for report in reports for block in report.copied)
        if not reports:
            # Nothing was said, so the copies that the step does not need are still those of the state.
            copied = tuple(block for block in live.dropped if block.stream < len(self._plan.streams))
            state = _later(state, self._manifest)
        gone = [block.file for block in (*self._gone, *live.dropped) if block not in copied]
        return LookedUp(
            plan=self._plan,
            found=found,
            blocks=(*kept, *compacted.blocks, *found.stored, *copied),
            unfinished=compacted.unfinished,
            terms=(),
            dropped=(
                *gone,
                *given_up(self._manifest.unfinished, begun),
                *sorted(unneeded),
                *self._old_tables(state, reports),
            ),
            exchanged_bytes=found.exchanged_bytes,
            sites=state,
            sent=tuple(sent for report in reports for sent in report.sent),
        )

    def _is_due(self) -> bool:
        """Whether the sites have something to do: rows to look up or to count, or copies to begin."""
        admission = probe_command(self._cluster, self._manifest, self._delta, self._run, ()).admission
        live = self._live
        starting = any(admission.starting(block) for block in (*live.kept, *live.gathered, *self._delta.blocks))
        fresh = self._before is None or any(copy.since == self._delta.step for copy in self._copies)
        return starting or bool(self._gone) or bool(live.moved) or (fresh and bool(live.kept))

    def _sorted_out(self, stored: Sequence[Block]) -> _Live:
        """Blocks of other layouts move; those of copies that are not continued are dropped."""
        newest = self._layout.epoch
        continued = {(c.stream, c.site) for c in self._copies if c.has_rows and c.since < self._delta.step}
        kept, gathered, moved, dropped = list[Block](), list[Block](), list[Block](), list[Block]()
        for block in stored:
            if block.stream >= len(self._plan.streams):
                dropped.append(block)
            elif block.epoch != newest:
                moved.append(block)
            elif not block.units:
                gathered.append(block)
            else:
                site = site_of(self._layout, block.units[0])
                home = site == self._layout.homes[block.stream]
                (kept if home or (block.stream, site) in continued else dropped).append(block)
        return _Live(tuple(kept), tuple(gathered), tuple(moved), tuple(dropped))

    def _command(self, common: ProbeCommand) -> SiteCommand:
        delta, live, streams = self._delta, self._live, range(len(self._plan.streams))
        placed = tuple(b for b in delta.blocks if b.units is not None and b.epoch == self._layout.epoch)
        starting = (*live.gathered, *(block for block in delta.blocks if block not in placed))
        until = tuple(departed_below(self._plan, self._manifest, delta.watermarks, stream) for stream in streams)
        before = () if self._before is None else self._before.departed_us
        alone = replace(common, layouts=(self._layout,))
        merges = due_rewrites(self._plan, self._manifest, live.kept, delta, alone, self._cluster.slots)
        return SiteCommand(
            step=delta.step,
            run=self._run,
            common=common,
            sequences=self._site_plan.sequences,
            copies=self._copies,
            starting=starting,
            departed_before=before or (None,) * len(streams),
            departed_until=until,
            interval_us=self._site_plan.interval_us,
            blocks=(*live.kept, *live.moved, *placed),
            expired=tuple(block for block in self._gone if block.epoch == self._layout.epoch),
            tables=self._continued_tables(),
            gathers=self._gathers((*live.moved, *starting)),
            merges=merges,
            removes=any(stream.site is not None and stream.site.storage is not None for stream in self._plan.streams),
            unneeded=() if self._manifest.sites is None else self._manifest.sites.unneeded,
            named=() if self._manifest.run == self._run else tuple(sorted(named_files(self._manifest))),
        )

    def _continued_tables(self) -> tuple[TupleFiles, ...]:
        """The tables of copies that there were before, with the numbers that these have now."""
        if self._before is None:
            return ()
        numbers = {
            self._before.copies.index(copy): n for n, copy in enumerate(self._copies) if copy in self._before.copies
        }
        tables = (table for table in self._before.tables if table.copy in numbers)
        return tuple(replace(table, copy=numbers[table.copy]) for table in tables)

    def _gathers(self, blocks: Sequence[Block]) -> tuple[Merge, ...]:
        """The files of which every slot takes its rows: ingest files, and blocks of other layouts."""
        newest, step = self._layout.epoch, self._delta.step
        files: dict[tuple[int, int, bool, bool], list[str]] = defaultdict(list)
        for block in blocks:
            files[block.stream, block.epoch, block.buffered, block.last_step == step].append(block.file)
        return tuple(
            Merge(stream, tuple(names), epoch, None, None if epoch == newest else newest, buffered)
            for (stream, epoch, buffered, _), names in sorted(files.items())
        )

    def _found(self, command: SiteCommand, reports: Sequence[SiteReport]) -> Found:
        probes = tuple(_with_usage(probe, report) for report in reports for probe in _probes(report))
        orders = self._delta.join_orders
        gathered = frozenset(file for gather in command.gathers for file in gather.files)
        delta, written = self._delta, (probe.output.buffered for probe in probes)
        return Found(
            reports=probes,
            buffered=tuple(BufferedResults(delta.step, delta.now_ms, file) for file in written if file is not None),
            lookups=tuple((orders, counts) for probe in probes for counts in probe.lookups),
            stored=tuple(block for report in reports for block in report.stored),
            unneeded=gathered,
            exchanged_bytes=sum(sent.payload for report in reports for sent in report.sent),
        )

    def _state(self, command: SiteCommand, reports: Sequence[SiteReport]) -> SiteState:
        tables, copies = tuple(table for report in reports for table in report.tables), self._copies
        if self._plan.row_based and self._delta.flush:
            # Rows after the last result wait again, also those that copies have: all copies begin again.
            tables, copies = (), ()
        known = () if self._manifest.sites is None else self._manifest.sites.observed
        observed = observed_after(known, len(self._plan.streams), self._observed(reports))
        timed = () if self._manifest.sites is None else self._manifest.sites.links
        links = links_after(timed, observed_links(self._layout, self._cluster.slots, reports))
        sequences, unneeded = self._site_plan.sequences, self._manifest.dropped
        return SiteState(sequences, copies, tables, command.departed_until, observed, unneeded, links)

    def _observed(self, reports: Sequence[SiteReport]) -> Iterator[StreamObservation]:
        """What the step says of each stream that had rows; the seconds since its newest row before."""
        for stream, (newest, mark) in enumerate(zip(self._delta.newest, self._manifest.marks, strict=True)):
            counts = [one for report in reports for one in report.counts if one.stream == stream and one.rows]
            if not counts or newest is None or mark.newest_us is None or newest <= mark.newest_us:
                continue
            rows, size = sum(one.rows for one in counts), sum(one.size for one in counts)
            distinct = tuple(float(sum(own)) for own in zip(*(one.distinct for one in counts), strict=True))
            yield StreamObservation(stream, 1.0, rows, size, (newest - mark.newest_us) / 1e6, distinct)

    def _old_tables(self, state: SiteState | None, reports: Sequence[SiteReport]) -> list[str]:
        """The files of tables that the state does not have, or not any more."""
        known = frozenset() if self._manifest.sites is None else self._manifest.sites.files
        written = frozenset(file for report in reports for table in report.tables for file in table.files)
        return sorted((known | written) - (frozenset() if state is None else state.files))


def required_plan(delta: DeltaRecord) -> SitePlan:
    if delta.site_plan is None:
        raise ValueError("a step between sites has no sequences")
    return delta.site_plan


def _probes(report: SiteReport) -> tuple[ProbeReport, ...]:
    """The lookups of a round; one without any if there are none, for what the round used."""
    return report.probes or (ProbeReport(report.slot, "", (), (), (), (), ()),)


def _with_usage(probe: ProbeReport, report: SiteReport) -> ProbeReport:
    """What a round used counts with its first lookup."""
    return replace(probe, usage=report.usage) if probe is _probes(report)[0] or not report.probes else probe


def _later(state: SiteState | None, manifest: Manifest) -> SiteState | None:
    """The state after a step in which the sites did nothing, not even remove files."""
    return None if state is None else replace(state, unneeded=(*state.unneeded, *manifest.dropped))
