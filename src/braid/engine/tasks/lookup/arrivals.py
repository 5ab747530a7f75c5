"""Arrivals: the segments of probing rows that a slot reads, and the rows of them that start its lookups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from braid.engine.commands import ProbeCommand
from braid.engine.tasks.lookup.reaching import reach_of
from braid.engine.tasks.lookup.row_ranges import Part, group_parts
from braid.engine.tasks.lookup.targets import EVERYWHERE, Target, Targets, has_rows_of
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.grouping import groups_of_keys
from braid.kernels.keys import common_keys
from braid.kernels.rows import Rows, concat_rows, possible_rows
from braid.kernels.sizes import Buffer, piece_rows
from braid.placement.deferral import PartView
from braid.placement.ranges import Span, span_of
from braid.placement.units import Unit, is_primary, store_at
from braid.plan.join import Probe, ProbeOrder
from braid.plan.layout import Layout
from braid.plan.stored_types import joined_types
from braid.state.blocks import BlockReader, Segment
from braid.state.manifest import Block

ROWS_AT_ONCE = 1 << 16
# Where ranges decide who visits what, the rows of all routes are looked up together.
ANY_ROUTE = 0
# Rows that were stored under an older assignment of their partition groups have the route of their group's unit now.
BY_GROUP = -2


class Arriving(NamedTuple):
    """A segment of probing rows, their route, and the interval of event times that starts; None: all."""

    file: str
    segment: Segment
    route: int
    span: tuple[int, int] | None


@dataclass(frozen=True)
class Wanted:
    """Which probing rows to read: those of some routes, and those that reach some spans of a side; None: all."""

    side: int
    routes: frozenset[int] | None = None
    spans: tuple[tuple[Span, float], ...] | None = None

    def segments(self, reader: BlockReader, units: list[int] | None = None) -> list[Segment]:
        if self.routes is not None:
            return reader.segments_of(units, self.routes)
        spans = None if self.spans is None else [(*span, largest) for span, largest in self.spans]
        return reader.segments_reaching(units, self.side, spans)


def wanted_by(layout: Layout, side: int, unit: Unit) -> Wanted:
    """The probing rows that a unit receives under the newest layout."""
    if layout.kind == "coordinated":
        return Wanted(side)
    if layout.ranges is None:
        return Wanted(side, frozenset(unit.routes))
    spans = [span_of(layout, side, route) for route in unit.routes if route < layout.groups[side]]
    known = [(span, 0.0) for span in spans if span is not None]
    return Wanted(side, None, tuple(known) if len(known) == len(spans) else None)


class ProbingRows(Protocol):
    """The rows that look something up at a slot."""

    def rows(self, probe_order: ProbeOrder, probe: Probe, entry: int) -> Iterator[tuple[int, Rows]]: ...
    def segments(self, probe_order: ProbeOrder, entry: int, wanted: Wanted) -> tuple[Arriving, ...]: ...
    def pairs(self, probe_order: ProbeOrder, probe: Probe, entry: int) -> int: ...


class Arrivals:
    """The probing rows of one slot in one job; `gathered` are the ingest files whose rows it has in its own blocks."""

    def __init__(
        self,
        command: ProbeCommand,
        blocks: tuple[Block, ...],
        gathered: frozenset[str],
        owned: Mapping[int, Mapping[int, Unit]],
        targets: Targets,
        view: PartView,
        store: SegmentStore,
        stays_local: bool,
    ) -> None:
        self._starting_groups = view.starting()
        self._command = command
        self._blocks = blocks
        self._gathered = gathered
        self._owned = owned
        self._targets = targets
        self._store = store
        self._plan = store.plan
        self._stays_local = stays_local
        self._layouts = {layout.epoch: layout for layout in command.layouts}
        self._known: dict[tuple[int, int, Wanted], tuple[Arriving, ...]] = {}

    def rows(self, probe_order: ProbeOrder, probe: Probe, entry: int) -> Iterator[tuple[int, Rows]]:
        """The rows that start a probe order's first lookup here, by route."""
        targets = self._targets.of(probe_order.delta_stream, probe.stream)
        if not targets:
            return
        wanted = self._wanted(probe, targets)
        pending: dict[int, Buffer] = defaultdict(lambda: Buffer(ROWS_AT_ONCE))
        for route, rows in self._arriving(probe_order, probe, entry, wanted):
            buffered = pending[route]
            if not buffered.fits(rows.nbytes):
                yield route, concat_rows(buffered.take())
            buffered.add(rows, rows.length, rows.nbytes)
            if buffered.is_full:
                yield route, concat_rows(buffered.take())
        for route, buffered in pending.items():
            if buffered.parts:
                yield route, concat_rows(buffered.take())

    def pairs(self, probe_order: ProbeOrder, probe: Probe, entry: int) -> int:
        """The rows that start a probe order's first lookup here, each times the stored rows that it looks up."""
        delta_stream, stream, total = probe_order.delta_stream, probe.stream, 0
        targets = self._targets.of(delta_stream, stream)
        for arriving in self.segments(probe_order, entry, self._wanted(probe, targets)) if targets else ():
            visited = self._targets.visited(delta_stream, stream, arriving.route)
            total += arriving.segment.rows * sum(found.length for to in visited for _, found, _ in to.segments)
        return total

    def segments(self, probe_order: ProbeOrder, entry: int, wanted: Wanted) -> tuple[Arriving, ...]:
        """The segments with such rows."""
        key = (probe_order.delta_stream, entry, wanted)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._find(probe_order, entry, wanted))
        return found

    def _find(self, probe_order: ProbeOrder, entry: int, wanted: Wanted) -> Iterator[Arriving]:
        """The delta stream's new rows, in later rounds those exchanged before."""
        delta_stream = probe_order.delta_stream
        if entry > probe_order.start:
            routes = None if wanted.routes is None else wanted.routes | {EVERYWHERE}
            exchanged = Wanted(wanted.side, routes, wanted.spans)
            for name in self._command.exchanged:
                for segment in exchanged.segments(self._store.reader(name), [delta_stream]):
                    yield Arriving(name, segment, segment.route, None)
            return
        for block in self._blocks:
            span = self._command.admission.starting(block) if block.stream == delta_stream else None
            if span is not None:
                yield from self._starting(block, span, wanted)

    def _wanted(self, probe: Probe, targets: list[Target]) -> Wanted:
        """What the slot's targets need: by ranges as long as every target has a span."""
        side = self._plan.members(probe.stream)[0]
        if self._targets.everywhere:
            return Wanted(side)
        known = [target.routes for target in targets if target.routes is not None]
        if len(known) == len(targets):
            return Wanted(side, frozenset().union(*known))
        spans = [(target.span, self._targets.largest(probe, target)) for target in targets if target.span is not None]
        return Wanted(side, None, tuple(spans) if len(spans) == len(targets) and probe.routing else None)

    def _arriving(
        self, probe_order: ProbeOrder, probe: Probe, entry: int, wanted: Wanted
    ) -> Iterator[tuple[int, Rows]]:
        stream, types = probe_order.delta_stream, joined_types(self._plan, probe_order.before(entry))
        alike: dict[tuple[int, tuple[int, int] | None], list[Part]] = defaultdict(list)
        first = self._starting_groups if entry == probe_order.start else None
        for arriving in self.segments(probe_order, entry, wanted):
            found = group_parts(self._store.reader(arriving.file), arriving.file, arriving.segment, first)
            alike[arriving.route, arriving.span] += found
        for (route, span), parts in alike.items():
            for rows in self._store.rows(parts, types, piece_rows(ROWS_AT_ONCE)):
                chosen = rows if span is None else self._within(rows, stream, span)
                if entry == probe_order.start:
                    chosen = self._of_groups(stream, possible_rows(self._plan, stream, chosen))
                if chosen.length and wanted.spans is not None:
                    chosen = _reaching(chosen, probe, wanted)
                if chosen.length and route == BY_GROUP:
                    yield from self._by_group(stream, chosen, wanted)
                elif chosen.length:
                    yield route, chosen

    def _starting(self, block: Block, span: tuple[int, int], wanted: Wanted) -> Iterator[Arriving]:
        """The segments of a block whose rows start in this step. Rows of older layouts visit every unit, once.

        So do all rows if only primary copies count.
        """
        layout, newest = self._layouts[block.epoch], self._command.layouts[-1]
        gathered = block.file in self._gathered
        other = gathered or not has_rows_of(block, self._owned)
        if other and self._stays_local and wanted.routes is not None:
            return  # all rows of these routes are in this slot's own block
        alike = block.epoch == newest.epoch
        if wanted.routes is None:
            alike = layout.stored_as == newest.stored_as  # else the segments reach by other comparisons
        chosen = wanted if alike else Wanted(wanted.side)
        for segment in chosen.segments(self._store.reader(block.file)):
            if gathered and block.epoch == newest.epoch and segment.unit in self._owned[block.epoch]:
                continue  # it is in this slot's own block
            crossing = _unless_whole(segment, span)
            if layout.epoch != newest.epoch and layout.shares_groups(newest):
                if not self._stays_local or segment.unit in self._owned[block.epoch]:
                    yield Arriving(block.file, segment, BY_GROUP, crossing)
            elif block.epoch == newest.epoch and not self._targets.everywhere:
                yield Arriving(block.file, segment, segment.route if newest.ranges is None else ANY_ROUTE, crossing)
            elif is_primary(layout, block.stream, segment.unit, segment.route):
                yield Arriving(block.file, segment, EVERYWHERE, crossing)

    def _of_groups(self, stream: int, rows: Rows) -> Rows:
        """The rows of the groups that start; of segments that are not sorted by group, all rows were read."""
        wanted, keys = self._starting_groups, common_keys(self._plan, stream, rows)
        if wanted is None or keys is None or rows.length == 0:
            return rows
        own = wanted[groups_of_keys(keys, len(wanted))]
        return rows if own.all() else rows.take(np.flatnonzero(own))

    def _by_group(self, stream: int, rows: Rows, wanted: Wanted) -> Iterator[tuple[int, Rows]]:
        """The rows of each unit that owns their groups now, of the wanted units."""
        keys = common_keys(self._plan, stream, rows)
        units = store_at(self._command.layouts[-1], stream, keys, rows.length, 0).units
        for unit in np.unique(units).tolist():
            if wanted.routes is None or unit in wanted.routes:
                yield unit, rows.take(np.flatnonzero(units == unit))

    def _within(self, rows: Rows, stream: int, span: tuple[int, int]) -> Rows:
        """The rows that start in this step."""
        times = rows.times(self._plan.streams[stream].time)
        return rows.take(np.flatnonzero((times > span[0]) & (times <= span[1])))


def _unless_whole(segment: Segment, span: tuple[int, int]) -> tuple[int, int] | None:
    """The interval of event times that starts; None if all rows of a segment are in it."""
    return None if segment.min_time > span[0] and segment.max_time <= span[1] else span


def _reaching(rows: Rows, probe: Probe, wanted: Wanted) -> Rows:
    """The rows that reach one of the wanted spans."""
    reach = reach_of(probe.routing, wanted.side, rows)
    mask = np.zeros(rows.length, bool)
    for span, largest in wanted.spans or ():
        mask |= reach.touching(span, largest)
    return rows if mask.all() else rows.take(np.flatnonzero(mask))
