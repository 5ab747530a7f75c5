"""Targets: the stored segments of a slot's units, by which probing rows visit them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from braid.engine.commands import ProbeCommand
from braid.engine.reports import HiddenRows
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.probing import Searchable
from braid.placement.deferral import Mask, PartView, Shown
from braid.placement.groups import is_first_successor, successors
from braid.placement.ranges import Span, span_of
from braid.placement.units import Unit, is_primary, routes_at, visitors
from braid.plan.join import Probe
from braid.plan.layout import Layout
from braid.state.blocks import Segment
from braid.state.manifest import Block
from braid.state.paging.group_ranges import GroupRanges

EVERYWHERE = -1
"""The route of probing rows that were stored under an older layout: they visit every route."""

Visited = tuple[Block, Searchable, Unit]
Visitors = tuple[frozenset[int] | None, Span | None, bool]
"""What tells targets apart: their routes, their span, and whether rows that visit all units look them up here; besides
the parts of partition groups that they show."""


@dataclass(frozen=True)
class Target:
    """Segments of one stream that rows of the given routes look up; None: rows of every route.

    With a `span`, only rows that reach it have partners here. `is_first`: of the slots that open these segments for
    rows of their own units, this is the one where rows that visit all units look them up. `shown`: which partition
    groups are visible; None: all.
    """

    routes: frozenset[int] | None
    span: Span | None
    is_first: bool
    shown: Shown | None
    segments: tuple[Visited, ...]


def has_rows_of(block: Block, owned: Mapping[int, Mapping[int, Unit]]) -> bool:
    """Whether a block may have rows of these units, by epoch and number."""
    return block.units is None or not owned[block.epoch].keys().isdisjoint(block.units)


class Targets:
    """The segments of one slot that a step's rows may look up.

    `owned` has the units whose segments it opens, by epoch and number; `own` are the numbers of its units in the newest
    layout.
    """

    def __init__(
        self,
        command: ProbeCommand,
        blocks: tuple[Block, ...],
        owned: Mapping[int, Mapping[int, Unit]],
        own: frozenset[int],
        view: PartView,
        store: SegmentStore,
    ) -> None:
        self._own = own
        self._view = view
        self._owned_groups = np.isin(command.layouts[-1].group_units, list(own))
        self._plan = store.plan
        self._command = command
        self._blocks = blocks
        self._owned = owned
        self._store = store
        self._layouts = {layout.epoch: layout for layout in command.layouts}
        self._visits = {(visit.delta_stream, visit.stream, visit.unit, visit.route) for visit in command.visits}
        self._visited_units = {visit[:3] for visit in self._visits}
        self._known: dict[tuple[int, int], list[Target]] = {}
        self.hidden = HiddenRows()

    @property
    def everywhere(self) -> bool:
        """Whether every row visits every unit, and only primary copies count.

        In a coordinated layout that is how it is; but of the copies that lookups visit, each step chooses which count.
        In an aligned one an intermediate result of rows of several layouts has no unit where all its partners are, nor
        is it found once where its rows have copies.
        """
        several = len(self._command.layouts) > 1
        return self.newest.kind == "coordinated" or (self.newest.kind == "aligned" and several)

    def receives(self, delta_stream: int, stream: int, unit: int) -> bool:
        """Whether rows of a delta stream are sent to a unit of the newest layout to look up a stream."""
        return self.newest.kind != "coordinated" or (delta_stream, stream, unit) in self._visited_units

    @property
    def newest(self) -> Layout:
        return self._command.layouts[-1]

    def of(self, delta_stream: int, stream: int) -> list[Target]:
        """The segments of a stream that a delta stream sees."""
        known = self._known.get((delta_stream, stream))
        if known is None:
            by_place: dict[tuple[Visitors, Shown | None], list[Visited]] = defaultdict(list)
            for block in self._blocks:
                if block.stream == stream and self.seen_until(block, delta_stream) is not None:
                    shown = self._view.shown(block.last_step, delta_stream, stream)
                    for route, segment, unit in self._owned_segments(block, delta_stream, shown):
                        by_place[self._visitors(block, route), shown].append((block, segment, unit))
            known = [Target(*place, shown, tuple(segments)) for (place, shown), segments in by_place.items()]
            self._known[delta_stream, stream] = known
        return known

    def visited(self, delta_stream: int, stream: int, route: int) -> list[Target]:
        """What rows of a route look up: rows of the same route, and rows of older layouts, once for all copies."""
        targets = self.of(delta_stream, stream)
        if route == EVERYWHERE:
            return [self._once(target, stream) for target in targets if target.is_first]
        alone = is_primary(self.newest, delta_stream, route, route)
        return [target for target in targets if (alone if target.routes is None else route in target.routes)]

    def largest(self, probe: Probe, target: Target) -> float:
        """The largest magnitude among the routing numbers of a target, if the lookup may overflow with it."""
        if all(bound.capacity is None for bound in probe.routing):
            return 0.0
        return max((self._largest_in(block, segment) for block, segment, _ in target.segments), default=0.0)

    def seen_until(self, block: Block, delta_stream: int) -> int | None:
        """The event time up to which a delta stream sees a block's rows; None if it sees none."""
        return self._command.admission.seen_until(block, self._plan.comes_before(block.stream, delta_stream))

    def _once(self, target: Target, stream: int) -> Target:
        """One copy of rows that are stored several times."""
        if target.routes is None or self.newest.kind != "matrix":
            return target
        primary = (s for s in target.segments if is_primary(self.newest, stream, s[2].number, s[2].number))
        return replace(target, segments=tuple(primary))

    def _visitors(self, block: Block, route: int) -> Visitors:
        """The routes of the newest layout that visit a route of a layout, what its visitors reach, and whether first.

        Of a layout that shares groups, a slot opens what any of its units needs: these alone visit it here.
        """
        layout = self._layouts[block.epoch]
        if layout.ranges is not None:
            alike = layout.stored_as == self.newest.stored_as
            return None, span_of(layout, self._plan.members(block.stream)[0], route) if alike else None, True
        if self.everywhere:
            return None, None, True
        if layout.epoch == self.newest.epoch:
            beside = routes_at(layout, route % layout.units[0]) if layout.kind == "aligned" else (route,)
            return frozenset(beside), None, True
        if layout.shares_groups(self.newest):
            owners = successors(self.newest, layout)[route]
            return owners & self._own, None, is_first_successor(self.newest, layout, route, self._own)
        return visitors(self.newest, layout, route), None, True

    def _owned_segments(
        self, block: Block, delta_stream: int, shown: Shown | None
    ) -> Iterator[tuple[int, Searchable, Unit]]:
        """This slot's segments of a block with their routes; of several copies those that a delta stream sees.

        A segment in which no group of this slot is visible is not opened.
        """
        owned, layout = self._owned[block.epoch], self._layouts[block.epoch]
        if not has_rows_of(block, self._owned):
            return
        is_sorted = block.is_sorted and layout.stored_as == self.newest.stored_as
        choices = block.choices if is_sorted else self._command.sort_order(block.stream).choices
        reader, groups = self._store.reader(block.file), self._joined_groups(block, shown)
        if groups is not None and is_sorted:
            for rows in self._store.joined_rows(block.file, block.stream, choices, groups, frozenset(owned)):
                first = rows.ranges[0].segment
                yield first.route, rows, owned[first.unit]
            return
        for segment in reader.segments_of(owned):
            if shown is not None and not self._shows(segment, reader.ranges_of(segment), shown):
                continue
            if self._counts(layout, delta_stream, block.stream, segment):
                stored = self._store.searchable(block.file, segment, block.stream, choices, is_sorted=is_sorted)
                yield segment.route, stored, owned[segment.unit]

    def _joined_groups(self, block: Block, shown: Shown | None) -> Mask | None:
        """The groups of a block whose rows are opened as one; None: its segments are opened one by one.

        A clean-up opens the rows of its groups, in any block. Of a block apart the groups are opened that are visible,
        each of which has segments of its own.
        """
        if not self._layouts[block.epoch].shares_groups(self.newest):
            return None
        visible = None if shown is None else self._view.mask(shown) & self._owned_groups
        cleaned = self._view.cleaned
        if cleaned is None:
            return (self._owned_groups if visible is None else visible) if block.apart else None
        # The same rows for all lookups of a step: which of them a lookup sees depends on the probing rows.
        return cleaned & self._owned_groups if visible is None or visible.any() else np.zeros_like(cleaned)

    def _shows(self, segment: Segment, ranges: GroupRanges | None, shown: Shown) -> bool:
        """Whether a segment with these ranges has rows of visible groups of this slot; counts what else is opened."""
        visible = self._view.mask(shown)
        own = visible & self._owned_groups
        if not (own.any() if ranges is None else own[ranges[0]].any()):
            return False
        hidden = segment.rows
        if ranges is not None:
            rows = np.diff(np.append(ranges[1], segment.rows))
            hidden = int(rows[~visible[ranges[0]]].sum())
        size = hidden * segment.length // max(1, segment.rows)
        self.hidden = HiddenRows(self.hidden.rows + hidden, self.hidden.size + size)
        return True

    def _counts(self, layout: Layout, delta_stream: int, stream: int, segment: Segment) -> bool:
        """Whether a delta stream sees this copy of some rows of a stream."""
        if layout.epoch != self.newest.epoch:
            return is_primary(layout, stream, segment.unit, segment.route)
        if layout.kind == "coordinated":
            return (delta_stream, stream, segment.unit, segment.route) in self._visits
        return not self.everywhere or is_primary(layout, stream, segment.unit, segment.route)

    def _largest_in(self, block: Block, segment: Searchable) -> float:
        routing = self._plan.streams[self._plan.members(block.stream)[0]].routing
        return 0.0 if routing is None else segment.largest(routing)
