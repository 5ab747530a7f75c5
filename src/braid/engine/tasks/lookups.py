"""Lookups: one slot's task looks up the step's rows in the blocks of its units.

Admission (`placement/admission.py`) decides what a delta stream sees, so that each result is found once. A round is one
lookup of every probe order. All rounds run in one task while routes stay in its slot; otherwise rows are exchanged
between jobs in files. In a tree, rounds also store intermediate results.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict

import numpy as np

from braid.control.fanouts import LookupCounts
from braid.engine.commands import ProbeCommand
from braid.engine.reports import GroupCount, HiddenRows
from braid.engine.tasks.lookup.arrivals import ROWS_AT_ONCE, Arrivals, ProbingRows, wanted_by
from braid.engine.tasks.lookup.counting import Comparing, Stored, Visits, WorkDone
from braid.engine.tasks.lookup.group_counts import GroupCounts, VisibleRows
from braid.engine.tasks.lookup.prepared import PreparedRows
from braid.engine.tasks.lookup.reaching import reach_of
from braid.engine.tasks.lookup.targets import Target, Targets, has_rows_of
from braid.engine.tasks.rank_index import open_rank_index
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.checks import Spent
from braid.kernels.join import match, meeting
from braid.kernels.probing import Counters, Probing, Searchable
from braid.kernels.rows import Pairs, Positions, Rows, concat_rows
from braid.kernels.sizes import Buffer
from braid.optimizer.join_orders import build_probe_orders
from braid.placement.deferral import PartView
from braid.placement.groups import all_stay_local, opened_units, owned_numbers
from braid.placement.units import Unit, are_sliced, copied_rows
from braid.plan.join import JoinPlan, Probe, ProbeOrder
from braid.plan.layout import Layout
from braid.state.manifest import Block, CheckCost
from braid.state.slice_state import SliceLoad

Found = tuple[int, int, Pairs]
Keep = Callable[[tuple[int, ...], Rows], None]


class SlotLookups:
    """The lookups of one slot in one job; `own` are the blocks that it has gathered from the ingest files.

    They are also those that it has rewritten to put pushed rows apart. The rows that look something up are read from
    blocks and exchanged files, unless other `arrivals` are given.
    """

    def __init__(
        self,
        command: ProbeCommand,
        own: tuple[Block, ...],
        slot: int,
        slots: int,
        store: SegmentStore,
        keep: Keep,
        arrivals: ProbingRows | None = None,
    ) -> None:
        self.plan: JoinPlan = store.plan
        self._command = command
        self._blocks = (*command.blocks, *own)
        gathered = frozenset(file for merge in (*command.gathers, *command.separating) for file in merge.files)
        self._stored_blocks = tuple(block for block in self._blocks if block.file not in gathered)
        self._store, self._keep = store, keep
        self._slot, self._slots = slot, slots
        self._probe_orders = build_probe_orders(self.plan, command.join_orders)
        self._owned = {layout.epoch: self._owned_units(layout) for layout in command.layouts}
        self._rank_indexes = {
            rank_index.stream: open_rank_index(self.plan, rank_index.stream, rank_index.file, store)
            for rank_index in command.rank_indexes
        }
        newest, streams = command.layouts[-1], len(self.plan.streams)
        own_units = owned_numbers(newest, streams, slots, slot)
        self._view = PartView(len(newest.group_units), command.pushes, streams, command.admission.clean_up)
        self._targets = Targets(command, self._stored_blocks, self._owned, own_units, self._view, store)
        # Rows that were placed when they were gathered probe from the ingest files, which have all of them.
        placed = {gather.stream for gather in command.gathers if gather.into is not None}
        probing = (*command.blocks, *(block for block in own if block.stream not in placed))
        read_from = (self._owned, self._targets, self._view, store, self._stays_local(slots))
        self._arrivals = arrivals or Arrivals(command, probing, gathered, *read_from)
        self._pending: dict[tuple[int, int, int], Buffer] = defaultdict(lambda: Buffer(ROWS_AT_ONCE))
        self._sliced = {layout.epoch for layout in command.layouts if are_sliced(layout, newest)}
        self._grouped = {layout.epoch for layout in command.layouts if layout.shares_groups(newest)}
        self._groups = GroupCounts(self.plan, newest, own_units, self._view, store) if newest.group_units else None
        self.units: dict[tuple[int, int], Counters] = defaultdict(Counters)
        self._pairs: dict[tuple[int, int], int] = defaultdict(int)
        self._seconds: dict[tuple[int, int], float] = defaultdict(float)
        self.done = WorkDone(lambda: sum(self._arrivals.pairs(*entering) for entering in self._entering()))
        self._lookups: dict[tuple[int, int], Counters] = defaultdict(Counters)
        self._comparing: dict[tuple[int, int], Comparing] = defaultdict(Comparing)
        # Without functions nothing is worth ordering by what was measured.
        self._has_functions = any(conjunct.function is not None for conjunct in self.plan.conjuncts)
        self._checks: dict[int, Spent] = defaultdict(Spent)

    def _stays_local(self, slots: int) -> bool:
        """Whether all rows that this slot probes with are of its own units.

        Rows of an older layout may be at other slots than new rows with the same keys.
        """
        return all_stay_local(self._command.layouts, len(self.plan.streams), slots)

    @property
    def gives_results(self) -> bool:
        """Whether this job finds complete results, with rows of all streams."""
        ends = [probe_order.joined[-1] for probe_order in self._probe_orders]
        return self._command.is_last and any(len(joined) == len(self.plan.streams) for joined in ends)

    def joined(self, delta_stream: int) -> tuple[int, ...]:
        """The streams whose rows are joined in what this job finds for a delta stream."""
        return self._probe_orders[delta_stream].after(self._command.last_round)

    def run(self) -> Iterator[Found]:
        """What the last round finds for each delta stream in turn, as (delta stream, route, pairs)."""
        for probe_order, probe, entry in self._entering():
            for route, rows in self._arrivals.rows(probe_order, probe, entry):
                yield from self._look_up(probe_order, probe, entry, route, rows)
            yield from self._drain(probe_order, entry)

    def _entering(self) -> Iterator[tuple[ProbeOrder, Probe, int]]:
        """The probe orders with lookups in this job, each with its first lookup and round."""
        for probe_order in self._probe_orders:
            entry = max(self._command.first_round, probe_order.start)
            probe = probe_order.probe_in(entry)
            if probe is not None and entry <= self._command.last_round:
                yield probe_order, probe, entry

    def received(self) -> dict[tuple[int, int], int]:
        """Bytes of probing rows sent to each of this slot's units; other layouts store them where they probe."""
        layout = self._command.layouts[-1]
        sent: dict[tuple[int, int], int] = defaultdict(int)
        sends = layout.kind in ("biclique", "time_sliced", "coordinated")
        for probe_order, probe, entry in self._entering() if sends else ():
            side = self.plan.members(probe.stream)[0]
            for unit in (unit for unit in self._owned[layout.epoch].values() if side in unit.streams):
                if not self._targets.receives(probe_order.delta_stream, probe.stream, unit.number):
                    continue
                for arriving in self._arrivals.segments(probe_order, entry, wanted_by(layout, side, unit)):
                    sent[layout.epoch, unit.number] += arriving.segment.length
        return sent

    def _look_up(
        self, probe_order: ProbeOrder, probe: Probe, round_number: int, route: int, rows: Rows
    ) -> Iterator[Found]:
        """Look rows up in this slot's segments; pass matches on to the next round."""
        targets = self._targets.visited(probe_order.delta_stream, probe.stream, route)
        if not targets:
            return
        self._lookups[probe_order.delta_stream, probe.stream].probes += rows.length
        enters = round_number == max(self._command.first_round, probe_order.start)
        for target, prepared in self._prepared(probe_order, probe, round_number, rows, targets):
            visits: dict[tuple[int, int], Visits] = defaultdict(Visits)
            for block, segment, unit in target.segments:
                began = time.perf_counter()
                probing = prepared.probing(segment)
                until = self._targets.seen_until(block, probe_order.delta_stream)
                bounded = probing if until is None or segment.max_time <= until else probing.until(until)
                met = meeting(bounded, segment)
                place = self._place(block.epoch, unit.number, route)
                visits[place].add(met, bounded.rows.length)
                if enters:
                    self.done.begin(rows.length * segment.length)
                for pairs in _matches(bounded, segment, met):
                    yield from self._pass_on(probe_order, round_number, route, pairs)
                seconds = time.perf_counter() - began
                if enters:
                    self.done.end()
                self._account(block, place, probe_order.delta_stream, probe.stream, probing, seconds)
            for place, visited in visits.items():
                self.units[place].visits += visited.count

    def _prepared(
        self, probe_order: ProbeOrder, probe: Probe, round_number: int, rows: Rows, targets: list[Target]
    ) -> Iterator[tuple[Target, PreparedRows]]:
        """The targets, each with the rows that may have partners there, prepared."""
        joined = probe_order.before(round_number)
        spans = {target.span for target in targets}
        entry = max(self._command.first_round, probe_order.start)
        # Rows that arrive in this job were already chosen by the only span.
        chosen = spans == {None} or (len(spans) == 1 and round_number == entry) or not probe.routing
        reach = None if chosen else reach_of(probe.routing, probe.stream, rows)
        order = self._command.check_order
        whole = PreparedRows(self.plan, joined, probe.stream, rows, self._rank_indexes, order)
        visible = VisibleRows(self.plan, self._view, probe_order.delta_stream, rows)
        for target in targets:
            if target.shown is not None:
                some = visible.of(target.shown)
                if some.length:
                    yield target, PreparedRows(self.plan, joined, probe.stream, some, self._rank_indexes, order)
                continue
            if reach is not None and target.span is not None:
                visiting = np.flatnonzero(reach.touching(target.span, self._targets.largest(probe, target)))
                if len(visiting) < rows.length:
                    some = rows.take(visiting)
                    yield target, PreparedRows(self.plan, joined, probe.stream, some, self._rank_indexes, order)
                    continue
            yield target, whole

    def _pass_on(self, probe_order: ProbeOrder, round_number: int, route: int, pairs: Pairs) -> Iterator[Found]:
        following = probe_order.probe_in(round_number + 1)
        if round_number == self._command.last_round or following is None:
            if self._groups is not None and self._command.is_last:
                self._groups.add(probe_order.delta_stream, pairs)
            yield probe_order.delta_stream, route, pairs
            return
        rows = pairs.to_rows()
        self._keep(probe_order.after(round_number), rows)
        pending = self._pending[probe_order.delta_stream, round_number + 1, route]
        due = [] if pending.fits(rows.nbytes) else [concat_rows(pending.take())]
        pending.add(rows, rows.length, rows.nbytes)
        if pending.is_full:
            due.append(concat_rows(pending.take()))
        for together in due:
            yield from self._look_up(probe_order, following, round_number + 1, route, together)

    def _drain(self, probe_order: ProbeOrder, entry: int) -> Iterator[Found]:
        """Look up the rows pending between rounds, the earliest rounds first."""
        for round_number in range(entry + 1, self._command.last_round + 1):
            probe = probe_order.probe_in(round_number)
            for key in [k for k in self._pending if k[:2] == (probe_order.delta_stream, round_number)]:
                pending = self._pending.pop(key)
                if pending.parts and probe is not None:
                    yield from self._look_up(probe_order, probe, round_number, key[2], concat_rows(pending.take()))

    def stored(self) -> dict[tuple[int, int], Stored]:
        """What is stored at each of this slot's units, the step's own rows included."""
        layouts = {layout.epoch: layout for layout in self._command.layouts}
        totals: dict[tuple[int, int], Stored] = defaultdict(Stored)
        grouped = self._grouped_blocks()
        if self._groups is not None:
            for unit, rows, size in self._groups.by_unit(grouped):
                totals[self._command.layouts[-1].epoch, unit] = Stored(rows, size)
        counted = {block.file for block in grouped}
        for block in (block for block in self._stored_blocks if has_rows_of(block, self._owned)):
            if block.file in counted:
                continue
            for segment in self._store.reader(block.file).segments_of(self._owned[block.epoch]):
                copies = copied_rows(layouts[block.epoch], block.stream, [segment])
                place = self._place(block.epoch, segment.unit)
                rows, size, known = totals[place]
                totals[place] = Stored(rows + segment.rows, size + segment.length, known + copies)
        return totals

    @property
    def hidden(self) -> HiddenRows:
        """What was opened of groups that lookups must not see; a clean-up looks up what was pushed."""
        return HiddenRows() if self._command.admission.clean_up is not None else self._targets.hidden

    def group_counts(self) -> tuple[GroupCount, ...]:
        """What was observed of each partition group of this slot's units."""
        if self._groups is None:
            return ()
        blocks = self._grouped_blocks()
        return self._groups.report(blocks, self._command.admission.step)

    def _grouped_blocks(self) -> list[Block]:
        """The stored blocks of this slot whose rows are sorted by the partition groups of the newest layout."""
        if self._groups is None:
            return []
        own = (b for b in self._stored_blocks if b.epoch in self._grouped and b.is_sorted)
        return [block for block in own if has_rows_of(block, self._owned)]

    def loads(self) -> tuple[SliceLoad, ...]:
        """Of each of this slot's units: the rows of every stream, and the pairs compared with them."""
        if not self._sliced:
            return ()
        rows: dict[tuple[int, int], int] = defaultdict(int)
        for block in (block for block in self._stored_blocks if has_rows_of(block, self._owned)):
            for segment in self._store.reader(block.file).segments_of(self._owned[block.epoch]):
                rows[segment.unit, block.stream] += segment.rows
        places = sorted({*rows, *self._pairs})
        return tuple(SliceLoad(*place, rows=rows[place], pairs=self._pairs[place]) for place in places)

    def _place(self, epoch: int, unit: int, route: int | None = None) -> tuple[int, int]:
        """The layout and number by which a unit is counted: units of time slices are the same in every layout.

        Rows of partition groups count at the unit that owns the group, which is the route of rows that look them up.
        """
        if epoch in self._grouped and route is not None and route >= 0:
            return self._command.layouts[-1].epoch, route
        return (self._command.layouts[-1].epoch if epoch in self._sliced else epoch), unit

    def counts(self) -> tuple[LookupCounts, ...]:
        """What was observed of each lookup."""
        return tuple(
            LookupCounts(
                delta_stream=delta_stream,
                stream=stream,
                probes=counters.probes,
                compared=counters.compared,
                matched=counters.matched,
                **asdict(self._comparing[delta_stream, stream]),
            )
            for (delta_stream, stream), counters in self._lookups.items()
        )

    def check_costs(self) -> tuple[CheckCost, ...]:
        """What was observed of each conjunct."""
        return tuple(
            CheckCost(number, float(spent.pairs), spent.seconds, float(spent.sampled), float(spent.passed))
            for number, spent in sorted(self._checks.items())
            if spent.pairs
        )

    def shares(self) -> dict[tuple[int, int], float]:
        """Each unit's share of the lookups' time: reading the CPU clock for each lookup would cost too much."""
        total = sum(self._seconds.values())
        return {unit: seconds / total if total else 0.0 for unit, seconds in self._seconds.items()}

    def _owned_units(self, layout: Layout) -> dict[int, Unit]:
        """The units whose segments this slot opens."""
        return opened_units(self._command.layouts[-1], layout, len(self.plan.streams), self._slots, self._slot)

    def _account(
        self, block: Block, place: tuple[int, int], delta_stream: int, stream: int, probing: Probing, seconds: float
    ) -> None:
        """Add the counters of one segment's lookup to its unit and its lookup in the probe order."""
        spent = probing.counters
        counters = self.units[place]
        self._pairs[place[1], stream] += spent.compared
        counters.probes += spent.probes
        counters.compared += spent.compared
        counters.matched += spent.matched
        counters.windows_skipped += spent.windows_skipped
        self._lookups[delta_stream, stream].matched += spent.matched
        self._lookups[delta_stream, stream].compared += spent.compared
        comparing = self._comparing[delta_stream, stream]
        comparing.seconds += seconds
        if block.last_step < self._command.admission.step and not block.buffered:
            comparing.earlier_seconds += seconds
            comparing.earlier_compared += spent.compared
        self._seconds[place] += seconds
        spent.probes = spent.compared = spent.matched = spent.windows_skipped = 0
        if self._has_functions:
            for number, check in zip(probing.probe.checks, probing.checks, strict=True):
                self._checks[number].take(check.spent)


def _matches(probing: Probing, segment: Searchable, met: Positions | None) -> Iterator[Pairs]:
    """The pairs of the rows that meet a segment, which is opened only if some do."""
    if met is not None and len(met) == 0:
        return
    for part in segment.parts():
        for pairs in match(probing, part, met):
            yield pairs.detached() if part.transient else pairs
