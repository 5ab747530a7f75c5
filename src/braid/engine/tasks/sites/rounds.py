"""One round of messages between sites: every unit receives, does what the sequences say, and sends.

Everything that a unit needs in a later round it sends to itself: rows that wait for an answer, the blocks that it
wrote, the changes of its tables. So a round depends on the command, the stored blocks and the messages alone, and can
be run again anywhere at the site.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from braid.engine.commands import SiteCommand
from braid.engine.reports import ProbeReport, SiteReport, StreamCounts
from braid.engine.tasks.probe import OpenSink
from braid.engine.tasks.sites.gathering import Stores, gather, merge_own
from braid.engine.tasks.sites.home import Home
from braid.engine.tasks.sites.lookups import SiteLookups
from braid.engine.tasks.sites.messages import (
    PIECES,
    About,
    Inbox,
    Outbox,
    Topic,
    batch_table,
    batch_tuples,
    received_rows,
    tables_together,
    tuple_batch,
)
from braid.engine.tasks.sites.probing import Prober, apply_counts
from braid.engine.tasks.sites.removing import remove_unneeded
from braid.engine.tasks.sites.stored_rows import UnitRows
from braid.engine.tasks.sites.tables import UnitTables
from braid.engine.tasks.storing import sorted_segments
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.cache import segment_store
from braid.kernels.keys import part_keys
from braid.kernels.rows import Rows, concat_rows, row_groups
from braid.kernels.semijoins.tuple_tables import TupleTable, distinct
from braid.optimizer.semijoins.copies import KINDS, joined_before, required_reduction
from braid.placement.site_rounds import Deed, deeds_of, rounds_of
from braid.placement.sites import site_of, stored_plan
from braid.placement.units import Placed, units_by_slot
from braid.plan.join import step_column
from braid.plan.sites import Copy
from braid.plan.stored_types import joined_types
from braid.plan.typed_json import from_text, to_text
from braid.state.blocks import BlockWriter
from braid.state.manifest import Block, stored_block
from braid.state.site_state import TableRole


def run_site_round(
    task: SlotTask, command: SiteCommand, number: int, pieces: Sequence[pa.RecordBatch], open_sink: OpenSink
) -> tuple[list[pa.RecordBatch], SiteReport]:
    """What the units of a slot send after they have done their part of a round, and the report of the round."""
    report, sent = SiteReport(task.slot, number), [PIECES.empty_table()]
    units = units_by_slot(command.layout, len(task.plan.streams), task.slots)[task.slot]
    for unit in units:
        messages, own = SiteRound(task, command, number, unit.number, Inbox(unit.number, pieces), open_sink).run()
        sent.append(pa.Table.from_batches([messages]))
        report = report.with_unit(own)
    return pa.concat_tables(sent).to_batches(), report


class SiteRound:
    """A round at a unit."""

    def __init__(
        self, task: SlotTask, command: SiteCommand, number: int, unit: int, inbox: Inbox, open_sink: OpenSink
    ) -> None:
        self._task, self._command, self._round, self._inbox = task, command, number, inbox
        self._unit = unit
        self._site = site_of(command.layout, unit)
        self._name = task.task.file_name(command, f"{number}.{unit}-s")
        plan, self._site_name = stored_plan(task.plan, command.layout), command.layout.sites[self._site].name
        self._store = segment_store(plan, task.locations, f"{command.run} sites", self._site_name)
        self._plan = self._store.plan
        self._own = tuple(from_text(Block, text) for text in inbox.texts("blocks"))
        self._store.use(self._files(), command.step)
        self._outbox = Outbox(command.layout, unit, task.slots, command.interval_us)
        self._tables = UnitTables(command, self._unit, self._store, self._pending_tables())
        self._prober = Prober(self._plan, command, self._tables, self._outbox)
        self._open_sink = open_sink
        self._report = SiteReport(task.slot, number)
        self._here = self._rows_here()

    def run(self) -> tuple[pa.RecordBatch, SiteReport]:
        deeds = deeds_of(self._command.sequences, self._command.layout.homes)
        own = [deed for deed in deeds if deed.round == self._round and deed.site == self._site]
        if self._round == 0:
            self._begin()
        self._receive_copies()
        for position in sorted({deed.position for deed in own}):
            here = [deed for deed in own if deed.position == position]
            looked_up = [deed for deed in here if deed.action == "look up"]
            for deed in (deed for deed in here if deed not in looked_up):
                self._do(deed)
            if looked_up:
                self._look_up(position, looked_up)
        if self._round == rounds_of(self._command.sequences, self._command.layout.homes) - 1:
            self._finish()
        else:
            self._remember()
        return self._outbox.pieces(), replace(self._report, sent=self._outbox.sent)

    def _begin(self) -> None:
        """Store the step's own rows, and send what copies need of them."""
        stored = gather(self._task, self._command, self._unit, self._name, self._stores())
        remove_unneeded(self._command, self._unit, *self._task.block_path("", self._site_name))
        self._own = stored
        self._store.use([block.file for block in stored], self._command.step)
        rows = self._home_rows()
        Home(self._plan, self._command, self._tables, self._outbox, rows).update_copies()
        counts = []
        for stream, own in rows.items():
            starting = list(own.starting())
            self._here[stream, 0] = [_without_step(stream, part) for part in starting]
            counts.append(self._counted(stream, starting))
        self._report = replace(self._report, stored=stored, counts=tuple(counts))

    def _do(self, deed: Deed) -> None:
        """What a deed says, but for lookups."""
        if deed.action == "answer rows":
            self._answer_rows(deed)
        elif deed.action == "answer keys":
            self._answer_keys(deed)
        else:
            self._send(deed)

    def _send(self, deed: Deed) -> None:
        """Rows, or what a semijoin needs of them."""
        rows = self._current(deed)
        if rows is None:
            return
        if deed.action == "send rows":
            self._prober.send_rows(deed, rows)
        elif deed.action == "send keys":
            self._prober.send_keys(deed, rows)
        elif deed.action == "request rows":
            self._prober.request_rows(deed, self._copy_number(deed), rows)
        elif deed.action == "send by copy":
            self._prober.send_by_copy(deed, self._copy_number(deed), rows)
        elif deed.action == "send by answer":
            answers = [batch_tuples(m.batch) for m in self._inbox.about("answer", deed.head, deed.position)]
            if answers:
                self._prober.send_by_answer(deed, rows, np.concatenate(answers))

    def _answer_rows(self, deed: Deed) -> None:
        messages = self._inbox.about("keys", deed.head, deed.position)
        if messages:
            number = self._copy_number(deed)
            copy = self._command.copies[number]
            tuples = distinct(np.concatenate([batch_tuples(message.batch) for message in messages]))[0]
            ask = self._prober.asked if copy.kind == "requested" else self._prober.requested
            intervals = max(message.topic.intervals for message in messages)
            home = Home(self._plan, self._command, self._tables, self._outbox, self._home_rows())
            home.answer_rows(number, copy, replace(ask(deed, tuples), intervals=intervals))

    def _answer_keys(self, deed: Deed) -> None:
        home = Home(self._plan, self._command, self._tables, self._outbox, self._home_rows())
        by_sender = defaultdict(list)
        for message in self._inbox.about("keys", deed.head, deed.position):
            by_sender[message.sender].append(message)
        for sender, parts in sorted(by_sender.items()):
            asked = self._prober.asked(deed, np.concatenate([batch_tuples(part.batch) for part in parts]))
            matched = asked.tuples[home.matching_tuples(deed.stream, asked)]
            topic = Topic("answer", deed.head, deed.position, intervals=parts[0].topic.intervals)
            self._outbox.send(sender, topic, tuple_batch(matched))

    def _look_up(self, position: int, deeds: Sequence[Deed]) -> None:
        rows = {deed.head: parts for deed in deeds if (parts := self._arrived(deed))}
        if not rows:
            return
        lookups = SiteLookups(self._task, self._command, self._own, self._unit, self._store, self._open_sink)
        name = self._task.task.file_name(self._command, f"{self._round}.{self._unit}.{position}-s")
        found, report = lookups.run(position, name, rows)
        self._here |= {(head, position + 1): parts for head, parts in found.items()}
        self._report = replace(self._report, probes=(*self._report.probes, report))

    def _current(self, deed: Deed) -> Rows | None:
        """The rows that a deed at their own site is about; None: there are none."""
        found = self._arrived(deed)
        return concat_rows(found) if found else None

    def _arrived(self, deed: Deed) -> list[Rows]:
        """Rows that were sent here for a lookup, or are here already."""
        if deed.site == deed.source:
            return self._here.get((deed.head, deed.position), [])
        return self._received("rows", deed.head, deed.position)

    def _received(self, about: About, head: int, position: int) -> list[Rows]:
        joined = joined_before(head, self._command.sequences[head], position)
        messages = self._inbox.about(about, head, position)
        return list(row_groups(received_rows(messages, joined_types(self._plan, joined))))

    def _rows_here(self) -> dict[tuple[int, int], list[Rows]]:
        """The rows that waited here, by the stream that began and the position of its sequence."""
        topics = (message.topic for message in self._inbox.messages if message.topic.about == "kept")
        places = dict.fromkeys((topic.head, topic.position) for topic in topics)
        return {place: self._received("kept", *place) for place in places}

    def _receive_copies(self) -> None:
        """Store rows of copies, and change their counts."""
        by_copy: dict[tuple[int, bool], list[Rows]] = defaultdict(list)
        for message in self._inbox.about("copied"):
            stream = self._command.copies[message.topic.copy].stream
            rows = Rows.from_batch(message.batch, joined_types(self._plan, (stream,)))
            by_copy[message.topic.copy, message.topic.new].append(rows)
        copied = tuple(self._store_copy(self._command.copies[n], new, parts) for (n, new), parts in by_copy.items())
        self._own = (*self._own, *copied)
        self._store.use([block.file for block in copied], self._command.step)
        self._report = replace(self._report, copied=copied)
        for message in self._inbox.about("counts"):
            apply_counts(self._tables, message.topic.copy, batch_table(message.batch), message.sender)

    def _store_copy(self, copy: Copy, new: bool, parts: Sequence[Rows]) -> Block:
        """A block with rows of a copy; those of earlier steps count as of the one before this."""
        order, step = self._command.common.sort_order(copy.stream), self._command.step
        suffix = f"c{copy.stream}{'n' if new else 'o'}"
        writer = BlockWriter(*self._task.block_path(f"{self._name}-{suffix}.block", self._site_name))
        for rows in row_groups(parts):
            placed = Placed(np.full(rows.length, self._unit), np.full(rows.length, self._unit))
            for segment in sorted_segments(self._plan, copy.stream, rows, placed, order):
                writer.add(*segment)
        written = writer.close()
        assert written is not None  # a message has rows
        steps = (step, step) if new else (step - 1, step - 1)
        epoch, copies = self._command.layout.epoch, written.rows
        return stored_block(written, copy.stream, steps, epoch, (self._unit,), choices=order.choices, copies=copies)

    def _remember(self) -> None:
        """Keep for the next round what this unit has written and changed, and rows that still wait."""
        for block in self._own:
            self._outbox.keep_text(Topic("blocks"), to_text(block))
        for (copy, role), table in self._tables.changes.items():
            self._outbox.keep(Topic("table", copy=copy, role=role), tuple_batch(table.tuples, table))
        for (head, position), parts in self._here.items():
            if parts and self._is_needed(head, position):
                self._outbox.keep(Topic("kept", head, position), concat_rows(parts).to_batch())

    def _is_needed(self, head: int, position: int) -> bool:
        """Whether something is done later with rows that are at this site when a position begins."""
        deeds = deeds_of(self._command.sequences, self._command.layout.homes)
        later = (deed for deed in deeds if deed.round > self._round and deed.site == deed.source == self._site)
        return any((deed.head, deed.position) == (head, position) for deed in later)

    def _finish(self) -> None:
        """After the last round: write the changes of tables, and merge blocks."""
        tables = self._tables.write(*self._task.block_path(self._name, self._site_name))
        merged = merge_own(self._task, self._command, self._unit, self._name, self._store)
        probes = self._report.probes
        if merged:
            empty = ProbeReport(self._task.slot, self._task.task.host, (), (), (), merged, ())
            probes = (*probes, empty)
        self._report = replace(self._report, tables=tables, probes=probes)

    def _stores(self) -> Stores:
        """The open blocks of this site, and shared ones: ingest files, and rows of other layouts."""
        shared = segment_store(self._plan, self._task.locations, f"{self._command.run} sites")
        files = [block.file for block in (*self._command.starting, *self._command.blocks)]
        shared.use(files, self._command.step)
        shared.fetch_from(self._command.common.payloads, whole=True)
        return Stores(self._store, shared)

    def _home_rows(self) -> dict[int, UnitRows]:
        """The rows of the streams of this site."""
        homes = self._command.layout.homes
        blocks = (*self._command.blocks, *(block for block in self._own if not block.copies))
        streams = [stream for stream, site in enumerate(homes) if site == self._site]
        return {s: UnitRows(self._command, self._live(blocks), self._unit, s, self._store) for s in streams}

    def _live(self, blocks: Sequence[Block]) -> list[Block]:
        """Blocks of this unit; ingest files and blocks of other layouts were gathered."""
        return [block for block in blocks if block.units == (self._unit,)]

    def _pending_tables(self) -> dict[tuple[int, TableRole], TupleTable]:
        found: dict[tuple[int, TableRole], list[TupleTable]] = defaultdict(list)
        for message in self._inbox.about("table"):
            if message.topic.role is not None:
                found[message.topic.copy, message.topic.role].append(batch_table(message.batch))
        return {place: tables_together(parts) for place, parts in found.items()}

    def _copy_number(self, deed: Deed) -> int:
        """The copy that a lookup uses: of the stream, at the site of the rows that look it up."""
        joined = joined_before(deed.head, self._command.sequences[deed.head], deed.position)
        partial = required_reduction(self._plan, joined, deed.stream, deed.algorithm).stored
        kinds = {"values", "mixed"} if KINDS[deed.algorithm] == "values" else {KINDS[deed.algorithm]}
        return next(
            number
            for number, copy in enumerate(self._command.copies)
            if (copy.stream, copy.site, copy.partial) == (deed.stream, deed.source, partial) and copy.kind in kinds
        )

    def _counted(self, stream: int, parts: Sequence[Rows]) -> StreamCounts:
        """What was observed of the new rows of a stream."""
        rows, size = sum(part.length for part in parts), sum(part.nbytes for part in parts)
        counts = []
        for part in self._plan.parts:
            keys = [part_keys(part, stream, own) for own in parts] if stream in part.streams else []
            counts.append(len(np.unique(np.concatenate(keys))) if keys else 0)
        return StreamCounts(stream, rows, size, tuple(counts))

    def _files(self) -> list[str]:
        command = self._command
        files = [block.file for block in (*command.blocks, *command.starting, *command.expired, *self._own)]
        files += [index.file for index in command.common.rank_indexes]
        return files + [file for table in command.tables for file in table.files]


def _without_step(stream: int, rows: Rows) -> Rows:
    """Rows as they probe: results do not depend on when they arrived."""
    columns = {name: column for name, column in rows.columns.items() if name != step_column(stream)}
    return Rows(columns, rows.types, rows.length)
