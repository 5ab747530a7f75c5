"""Lookups of rows that came to a site, or stayed there, in the rows and copies that its unit has."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from braid.engine.commands import ProbeCommand, SiteCommand
from braid.engine.reports import Output, ProbeReport
from braid.engine.tasks.lookup.arrivals import Arriving, Wanted
from braid.engine.tasks.lookup.unit_counts import unit_counts
from braid.engine.tasks.lookups import SlotLookups
from braid.engine.tasks.probe import OpenSink
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.selection import select_outputs
from braid.engine.tasks.task import SlotTask
from braid.kernels.join import PAIRS_AT_ONCE
from braid.kernels.rows import Rows, pairs_together
from braid.kernels.sizes import piece_rows
from braid.plan.join import Probe, ProbeOrder
from braid.state.manifest import Block


class ReceivedRows:
    """The rows that look something up at a unit, by the stream that began with them."""

    def __init__(self, unit: int, rows: Mapping[int, Sequence[Rows]]) -> None:
        self._unit = unit
        self._rows = rows

    def rows(self, probe_order: ProbeOrder, probe: Probe, entry: int) -> Iterator[tuple[int, Rows]]:
        for rows in self._rows.get(probe_order.delta_stream, ()):
            yield self._unit, rows

    def segments(self, probe_order: ProbeOrder, entry: int, wanted: Wanted) -> tuple[Arriving, ...]:
        """None: what was sent is counted by messages."""
        return ()

    def pairs(self, probe_order: ProbeOrder, probe: Probe, entry: int) -> int:
        """None: a round of messages does not say how far it is."""
        return 0


class SiteLookups:
    """The lookups of a slot in one round; `own` are the blocks that it has written in this step."""

    def __init__(
        self,
        task: SlotTask,
        command: SiteCommand,
        own: tuple[Block, ...],
        unit: int,
        store: SegmentStore,
        open_sink: OpenSink,
    ) -> None:
        self._task = task
        # Other units of the slot may be at other sites, whose blocks are not to be read here; what moves was gathered.
        newest, probe = command.layout.epoch, command.probe
        blocks = tuple(block for block in probe.blocks if block.units == (unit,) and block.epoch == newest)
        self._probe = replace(probe, blocks=blocks, gathers=(), layouts=(command.layout,))
        self._own = own
        self._unit = unit
        self._store = store
        self._open_sink = open_sink

    def run(
        self, position: int, name: str, rows: Mapping[int, Sequence[Rows]]
    ) -> tuple[dict[int, list[Rows]], ProbeReport]:
        """Look up rows of several streams at a position of their sequences; what was found, and the report.

        After the last position what was found are results, which are written.
        """
        began = time.process_time()
        command = replace(self._probe, first_round=position, last_round=position)
        arrivals = ReceivedRows(self._unit, rows)
        lookups = SlotLookups(
            command, self._own, self._task.slot, self._task.slots, self._store, _keep_nothing, arrivals
        )
        found: dict[int, list[Rows]] = {}
        output = Output()
        if lookups.gives_results:
            output = self._write(command, name, lookups)
        else:
            for head, _, pairs in lookups.run():
                found.setdefault(head, []).append(pairs.to_rows())
        report = ProbeReport(
            slot=self._task.slot,
            host=self._task.task.host,
            units=unit_counts(lookups, time.process_time() - began),
            lookups=lookups.counts(),
            stored=(),
            merged=(),
            intermediate=(),
            checks=lookups.check_costs(),
            output=output,
        )
        return found, report

    def _write(self, command: ProbeCommand, name: str, lookups: SlotLookups) -> Output:
        sink = self._open_sink(self._task, command, name)
        pairs_found = (pairs for _, _, pairs in lookups.run())
        for pairs in pairs_together(pairs_found, piece_rows(PAIRS_AT_ONCE)):
            sink.add(select_outputs(self._store.plan, pairs))
        return sink.close()


def _keep_nothing(streams: tuple[int, ...], rows: Rows) -> None:
    """Sequences store no intermediate results."""
