"""Lookups: one slot's task looks up the step's rows in the blocks of its units.

Admission (`placement/admission.py`) decides what a delta stream sees, so that each result is found once. A round is one
lookup of every probe order. All rounds run in one task while routes stay in its slot; otherwise rows are exchanged
between jobs in files. In a tree, rounds also store intermediate results.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from braid.control.fanouts import LookupCounts
from braid.engine.commands import ProbeCommand
from braid.engine.tasks.lookup.arrivals import ROWS_AT_ONCE, Arrivals, wanted_by
from braid.engine.tasks.lookup.prepared import PreparedRows
from braid.engine.tasks.lookup.reaching import reach_of
from braid.engine.tasks.lookup.targets import Target, Targets, has_rows_of
from braid.engine.tasks.rank_index import open_rank_index
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.checks import Spent
from braid.kernels.join import match, meeting
from braid.kernels.probing import Counters, Probing
from braid.kernels.rows import Pairs, Positions, Rows, concat_rows
from braid.kernels.sizes import Buffer
from braid.optimizer.join_orders import build_probe_orders
from braid.placement.units import Unit, are_sliced, copied_rows, routes_stay_local, units_by_slot
from braid.plan.join import JoinPlan, Probe, ProbeOrder
from braid.plan.layout import Layout
from braid.state.manifest import Block, CheckCost
from braid.state.slice_state import SliceLoad

Found = tuple[int, int, Pairs]
Keep = Callable[[tuple[int, ...], Rows], None]


@dataclass
class Earlier:
    """Lookups among rows that earlier steps had admitted: their duration, and the pairs compared."""

    seconds: float = 0.0
    compared: int = 0


class Stored(NamedTuple):
    """Rows and bytes stored at a unit; `copies` of the rows are not primary."""

    rows: int = 0
    size: int = 0
    copies: int = 0


class Visits:
    """How many of some probing rows have met a segment of a unit."""

    def __init__(self) -> None:
        self._met: npt.NDArray[np.bool_] | None = None
        self.count = 0

    def add(self, rows: Positions | None, of: int) -> None:
        """Rows that meet one more segment, of so many; None: all."""
        if rows is None or self.count == of:
            self.count = of
        elif len(rows):
            self._met = np.zeros(of, bool) if self._met is None else self._met
            self._met[rows] = True
            self.count = int(self._met.sum())


class SlotLookups:
    """The lookups of one slot in one job; `own` are the blocks that it has gathered from the ingest files."""

    def __init__(
        self,
        command: ProbeCommand,
        own: tuple[Block, ...],
        slot: int,
        slots: int,
        store: SegmentStore,
        keep: Keep,
    ) -> None:
        self.plan: JoinPlan = store.plan
        self._command = command
        self._blocks = (*command.blocks, *own)
        gathered = frozenset(file for gather in command.gathers for file in gather.files)
        self._stored_blocks = tuple(block for block in self._blocks if block.file not in gathered)
        self._store = store
        self._slot = slot
        self._slots = slots
        self._keep = keep
        self._probe_orders = build_probe_orders(self.plan, command.join_orders)
        self._owned = {layout.epoch: self._owned_units(layout) for layout in command.layouts}
        self._rank_indexes = {
            rank_index.stream: open_rank_index(self.plan, rank_index.stream, rank_index.file, store)
            for rank_index in command.rank_indexes
        }
        self._targets = Targets(command, self._stored_blocks, self._owned, store)
        # Rows that were placed when they were gathered probe from the ingest files, which have all of them.
        placed = {gather.stream for gather in command.gathers if gather.into is not None}
        probing = (*command.blocks, *(block for block in own if block.stream not in placed))
        self._arrivals = Arrivals(
            command, probing, gathered, self._owned, self._targets, store, self._stays_local(slots)
        )
        self._pending: dict[tuple[int, int, int], Buffer] = defaultdict(lambda: Buffer(ROWS_AT_ONCE))
        self._sliced = {layout.epoch for layout in command.layouts if are_sliced(layout, command.layouts[-1])}
        self.units: dict[tuple[int, int], Counters] = defaultdict(Counters)
        self._pairs: dict[tuple[int, int], int] = defaultdict(int)
        self._seconds: dict[tuple[int, int], float] = defaultdict(float)
        self._lookups: dict[tuple[int, int], Counters] = defaultdict(Counters)
        self._earlier: dict[tuple[int, int], Earlier] = defaultdict(Earlier)
        # Without functions nothing is worth ordering by what was measured.
        self._has_functions = any(conjunct.function is not None for conjunct in self.plan.conjuncts)
        self._checks: dict[int, Spent] = defaultdict(Spent)

    def _stays_local(self, slots: int) -> bool:
        """Whether all rows that this slot probes with are of its own units.

        Rows of an older layout may be at other slots than new rows with the same keys.
        """
        layouts = self._command.layouts
        return len(layouts) == 1 and routes_stay_local(layouts[0], len(self.plan.streams), slots)

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
        for target, prepared in self._prepared(probe_order, probe, round_number, rows, targets):
            visits: dict[tuple[int, int], Visits] = defaultdict(Visits)
            for block, segment, unit in target.segments:
                began = time.perf_counter()
                probing = prepared.probing(segment)
                until = self._targets.seen_until(block, probe_order.delta_stream)
                bounded = probing if until is None or segment.max_time <= until else probing.until(until)
                met = meeting(bounded, segment)
                visits[self._place(block.epoch, unit.number)].add(met, bounded.rows.length)
                for pairs in match(bounded, segment, met):
                    yield from self._pass_on(probe_order, round_number, route, pairs)
                self._account(block, unit, probe_order.delta_stream, probe.stream, probing, time.perf_counter() - began)
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
        for target in targets:
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
        for block in (block for block in self._stored_blocks if has_rows_of(block, self._owned)):
            for segment in self._store.reader(block.file).segments_of(self._owned[block.epoch]):
                copies = copied_rows(layouts[block.epoch], block.stream, [segment])
                place = self._place(block.epoch, segment.unit)
                rows, size, known = totals[place]
                totals[place] = Stored(rows + segment.rows, size + segment.length, known + copies)
        return totals

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

    def _place(self, epoch: int, unit: int) -> tuple[int, int]:
        """The layout and number by which a unit is counted: units of time slices are the same in every layout."""
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
                earlier_seconds=self._earlier[delta_stream, stream].seconds,
                earlier_compared=self._earlier[delta_stream, stream].compared,
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
        units = units_by_slot(layout, len(self.plan.streams), self._slots)[self._slot]
        return {unit.number: unit for unit in units}

    def _account(
        self, block: Block, unit: Unit, delta_stream: int, stream: int, probing: Probing, seconds: float
    ) -> None:
        """Add the counters of one segment's lookup to its unit and its lookup in the probe order."""
        spent = probing.counters
        counters = self.units[self._place(block.epoch, unit.number)]
        self._pairs[unit.number, stream] += spent.compared
        counters.probes += spent.probes
        counters.compared += spent.compared
        counters.matched += spent.matched
        counters.windows_skipped += spent.windows_skipped
        self._lookups[delta_stream, stream].matched += spent.matched
        self._lookups[delta_stream, stream].compared += spent.compared
        if block.last_step < self._command.admission.step and not block.buffered:
            self._earlier[delta_stream, stream].seconds += seconds
            self._earlier[delta_stream, stream].compared += spent.compared
        self._seconds[self._place(block.epoch, unit.number)] += seconds
        spent.probes = spent.compared = spent.matched = spent.windows_skipped = 0
        if self._has_functions:
            for number, check in zip(probing.probe.checks, probing.checks, strict=True):
                self._checks[number].take(check.spent)
