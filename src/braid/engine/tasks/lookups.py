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

import numpy as np

from braid.control.fanouts import LookupCounts
from braid.engine.commands import ProbeCommand
from braid.engine.tasks.rank_index import open_rank_index
from braid.engine.tasks.segments import SegmentStore, joined_types, possible_rows
from braid.kernels.join import match
from braid.kernels.probing import Counters, Probing, StoredSegment, prepare
from braid.kernels.rows import Pairs, Rows, concat_rows
from braid.kernels.sizes import Buffer
from braid.optimizer.join_orders import build_probe_orders
from braid.placement.units import Unit, is_primary, routes_stay_local, units_by_slot, visitors
from braid.plan.join import JoinPlan, Probe, ProbeOrder
from braid.plan.layout import Layout
from braid.state.blocks import Segment
from braid.state.manifest import Block

ROWS_AT_ONCE = 1 << 16
EVERYWHERE = -1

Found = tuple[int, int, Pairs]
Keep = Callable[[tuple[int, ...], Rows], None]


@dataclass(frozen=True)
class _Target:
    """Segments of one stream that rows of the given routes look up; None: rows of every route."""

    routes: frozenset[int] | None
    segments: tuple[tuple[Block, StoredSegment, Unit], ...]


@dataclass(frozen=True)
class _Arriving:
    """A segment of probing rows, their route, and the interval of event times that starts; None: all."""

    file: str
    segment: Segment
    route: int
    span: tuple[int, int] | None


@dataclass
class Earlier:
    """Lookups among rows that earlier steps had admitted: their duration, and the pairs compared."""

    seconds: float = 0.0
    compared: int = 0


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
        self._gathered = {file for gather in command.gathers for file in gather.files}
        # Rows of an older layout may be at other slots than new rows with the same keys.
        self._stays_local = len(command.layouts) == 1 and routes_stay_local(
            command.layouts[0], len(store.plan.streams), slots
        )
        self._store = store
        self._slot = slot
        self._slots = slots
        self._keep = keep
        self._probe_orders = build_probe_orders(self.plan, command.join_orders)
        self._layouts = {layout.epoch: layout for layout in command.layouts}
        self._owned = {layout.epoch: self._owned_units(layout) for layout in command.layouts}
        self._rank_indexes = {
            rank_index.stream: open_rank_index(self.plan, rank_index.stream, rank_index.file, store)
            for rank_index in command.rank_indexes
        }
        self._targets: dict[tuple[int, int], list[_Target]] = {}
        self._pending: dict[tuple[int, int, int], Buffer] = defaultdict(lambda: Buffer(ROWS_AT_ONCE))
        self.units: dict[tuple[int, int], Counters] = defaultdict(Counters)
        self._seconds: dict[tuple[int, int], float] = defaultdict(float)
        self._lookups: dict[tuple[int, int], Counters] = defaultdict(Counters)
        self._earlier: dict[tuple[int, int], Earlier] = defaultdict(Earlier)

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
            for route, rows in self._probing_rows(probe_order, probe, entry):
                yield from self._look_up(probe_order, probe, entry, route, rows)
            yield from self._drain(probe_order, entry)

    def _entering(self) -> Iterator[tuple[ProbeOrder, Probe, int]]:
        """The probe orders with lookups in this job, each with its first lookup and round."""
        for probe_order in self._probe_orders:
            entry = max(self._command.first_round, probe_order.start)
            probe = probe_order.probe_in(entry)
            if probe is not None and entry <= self._command.last_round:
                yield probe_order, probe, entry

    def _probing_rows(self, probe_order: ProbeOrder, probe: Probe, entry: int) -> Iterator[tuple[int, Rows]]:
        """The rows that start a probe order's first lookup here, by route."""
        targets = self._targets_of(probe_order.delta_stream, probe.stream)
        if not targets:
            return
        known = [target.routes for target in targets if target.routes is not None]
        routes = set().union(*known) if len(known) == len(targets) else None
        pending: dict[int, Buffer] = defaultdict(lambda: Buffer(ROWS_AT_ONCE))
        for route, rows in self._arriving(probe_order, entry, routes):
            buffered = pending[route]
            if not buffered.fits(rows.nbytes):
                yield route, concat_rows(buffered.take())
            buffered.add(rows, rows.length, rows.nbytes)
            if buffered.is_full:
                yield route, concat_rows(buffered.take())
        for route, buffered in pending.items():
            if buffered.parts:
                yield route, concat_rows(buffered.take())

    def _arriving(self, probe_order: ProbeOrder, entry: int, routes: set[int] | None) -> Iterator[tuple[int, Rows]]:
        """The delta stream's new rows, or in later rounds the rows exchanged from the round before."""
        types = joined_types(self.plan, probe_order.before(entry))
        for arriving in self._arriving_segments(probe_order, entry, routes):
            rows = self._store.rows(arriving.file, arriving.segment, types)
            rows = self._within(rows, probe_order.delta_stream, arriving)
            if entry == probe_order.start:
                rows = possible_rows(self.plan, probe_order.delta_stream, rows)
            if rows.length:
                yield arriving.route, rows

    def _arriving_segments(self, probe_order: ProbeOrder, entry: int, routes: set[int] | None) -> Iterator[_Arriving]:
        delta_stream, wanted = probe_order.delta_stream, None if routes is None else routes | {EVERYWHERE}
        if entry > probe_order.start:
            for name in self._command.exchanged:
                for segment in self._store.reader(name).segments_of([delta_stream], wanted):
                    yield _Arriving(name, segment, segment.route, None)
            return
        for block in self._blocks:
            span = self._command.admission.starting(block) if block.stream == delta_stream else None
            if span is not None:
                yield from self._starting(block, span, wanted)

    def _starting(self, block: Block, span: tuple[int, int], routes: set[int] | None) -> Iterator[_Arriving]:
        """The segments of a block whose rows start in this step. Rows of older layouts visit every unit, once."""
        layout, is_newest = self._layouts[block.epoch], block.epoch == self._command.layouts[-1].epoch
        if self._stays_local and block.file in self._gathered and routes is not None:
            return  # all rows of these routes are in this slot's own block
        for segment in self._store.reader(block.file).segments_of(None, routes if is_newest else None):
            if block.file in self._gathered and segment.unit in self._owned[block.epoch]:
                continue
            if is_newest:
                yield _Arriving(block.file, segment, segment.route, span)
            elif is_primary(layout, block.stream, segment.unit):
                yield _Arriving(block.file, segment, EVERYWHERE, span)

    def _within(self, rows: Rows, stream: int, arriving: _Arriving) -> Rows:
        """The rows of a segment that start in this step."""
        if arriving.span is None:
            return rows
        after, until = arriving.span
        if arriving.segment.min_time > after and arriving.segment.max_time <= until:
            return rows
        times = rows.times(self.plan.streams[stream].time)
        return rows.take(np.flatnonzero((times > after) & (times <= until)))

    def received(self) -> dict[tuple[int, int], int]:
        """Bytes of probing rows sent to each of this slot's units; other layouts store them where they probe."""
        layout = self._command.layouts[-1]
        sent: dict[tuple[int, int], int] = defaultdict(int)
        for probe_order, probe, entry in self._entering() if layout.kind == "biclique" else ():
            side = self.plan.members(probe.stream)[0]
            visited = [unit for unit in self._owned[layout.epoch].values() if side in unit.streams]
            routes = {route for unit in visited for route in unit.routes}
            for arriving in self._arriving_segments(probe_order, entry, routes):
                for unit in visited:
                    if arriving.route in (EVERYWHERE, *unit.routes):
                        sent[layout.epoch, unit.number] += arriving.segment.length
        return sent

    def _look_up(
        self, probe_order: ProbeOrder, probe: Probe, round_number: int, route: int, rows: Rows
    ) -> Iterator[Found]:
        """Look rows up in this slot's segments; pass matches on to the next round."""
        targets = self._visited(probe_order.delta_stream, probe.stream, route)
        if not targets:
            return
        self._lookups[probe_order.delta_stream, probe.stream].probes += rows.length
        probing = prepare(self.plan, probe_order.before(round_number), probe, rows, Counters(), self._rank_indexes)
        for target in targets:
            for block, segment, unit in target.segments:
                began = time.perf_counter()
                until = self._seen_until(block, probe_order.delta_stream)
                bounded = probing if until is None or segment.max_time <= until else probing.until(until)
                for pairs in match(bounded, segment):
                    yield from self._pass_on(probe_order, round_number, route, pairs)
                self._account(block, unit, probe_order.delta_stream, probe.stream, probing, time.perf_counter() - began)

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

    def _visited(self, delta_stream: int, stream: int, route: int) -> list[_Target]:
        """What rows of a route look up: rows of the same route, and rows of older layouts, once for all copies."""
        targets = self._targets_of(delta_stream, stream)
        if route == EVERYWHERE:
            return [self._once(target, stream) for target in targets]
        alone = is_primary(self._command.layouts[-1], delta_stream, route)
        return [target for target in targets if (alone if target.routes is None else route in target.routes)]

    def _once(self, target: _Target, stream: int) -> _Target:
        """One copy of rows that are stored several times."""
        layout = self._command.layouts[-1]
        alone = [s for s in target.segments if target.routes is None or is_primary(layout, stream, s[2].number)]
        return _Target(target.routes, tuple(alone))

    def _targets_of(self, delta_stream: int, stream: int) -> list[_Target]:
        """This slot's segments of a stream that a delta stream sees."""
        known = self._targets.get((delta_stream, stream))
        if known is None:
            by_routes: dict[frozenset[int] | None, list[tuple[Block, StoredSegment, Unit]]] = defaultdict(list)
            for block in self._blocks:
                if block.stream == stream and self._seen_until(block, delta_stream) is not None:
                    for route, segment, unit in self._owned_segments(block):
                        by_routes[self._visitors(block.epoch, route)].append((block, segment, unit))
            known = [_Target(routes, tuple(segments)) for routes, segments in by_routes.items()]
            self._targets[delta_stream, stream] = known
        return known

    def _seen_until(self, block: Block, delta_stream: int) -> int | None:
        return self._command.admission.seen_until(block, self.plan.comes_before(block.stream, delta_stream))

    def _visitors(self, epoch: int, route: int) -> frozenset[int] | None:
        """The routes of the newest layout that visit a route of a layout."""
        newest = self._command.layouts[-1]
        return frozenset({route}) if epoch == newest.epoch else visitors(newest, self._layouts[epoch], route)

    def _owned_segments(self, block: Block) -> Iterator[tuple[int, StoredSegment, Unit]]:
        """This slot's segments of a block with their routes; of older layouts only the primary copies."""
        if block.file in self._gathered:
            return
        owned, layout = self._owned[block.epoch], self._layouts[block.epoch]
        if block.units is not None and not owned.keys() & set(block.units):
            return
        newest = self._command.layouts[-1]
        is_sorted = block.is_sorted and layout.stored_as == newest.stored_as
        for segment in self._store.reader(block.file).segments_of(owned):
            if layout == newest or is_primary(layout, block.stream, segment.unit):
                stored = self._store.stored(block.file, segment, block.stream, is_sorted=is_sorted)
                yield segment.route, stored, owned[segment.unit]

    def stored(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Rows and bytes stored at each of this slot's units, the step's own included."""
        totals: dict[tuple[int, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
        for block in (block for block in self._blocks if block.file not in self._gathered):
            for segment in self._store.reader(block.file).segments_of(self._owned[block.epoch]):
                rows, size = totals[block.epoch, segment.unit]
                totals[block.epoch, segment.unit] = (rows + segment.rows, size + segment.length)
        return totals

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
        counters = self.units[block.epoch, unit.number]
        counters.probes += spent.probes
        counters.compared += spent.compared
        counters.matched += spent.matched
        counters.windows_skipped += spent.windows_skipped
        self._lookups[delta_stream, stream].matched += spent.matched
        self._lookups[delta_stream, stream].compared += spent.compared
        if block.last_step < self._command.step and not block.buffered:
            self._earlier[delta_stream, stream].seconds += seconds
            self._earlier[delta_stream, stream].compared += spent.compared
        self._seconds[block.epoch, unit.number] += seconds
        spent.probes = spent.compared = spent.matched = spent.windows_skipped = 0
