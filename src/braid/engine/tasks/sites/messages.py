"""Messages between the units of sites: rows or partial tuples in Arrow's format, counted where they are sent.

A message crosses a link if sender and receiver are at different sites. What it has to say is its payload; what Arrow
adds, and the topic, is framing. A round's messages may be sent again if a task is retried: they are the same then.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.rows import Rows
from braid.kernels.semijoins.tuple_tables import Tuples, TupleTable
from braid.kernels.sizes import byte_cuts, row_sizes
from braid.placement.sites import site_of, slots_of_sites
from braid.plan.layout import Layout
from braid.state.site_state import Sent, TableRole

About = Literal["rows", "keys", "answer", "kept", "copied", "counts", "expired", "blocks", "table"]
"""What a message has: probing rows; keys of them, or of stored rows that are requested; keys that match; rows that stay
at a unit until a later round; rows of a copy; counts of partial tuples; the number of expired rows; what a unit has to
remember: the blocks and changes of tables that it wrote."""

SLOT, TARGET, SENDER, NUMBER, TOPIC, BODY = "slot", "target", "sender", "number", "topic", "body"
PIECES = pa.schema(
    [
        (SLOT, pa.int32()),
        (TARGET, pa.int32()),
        (SENDER, pa.int32()),
        (NUMBER, pa.int32()),
        (TOPIC, pa.string()),
        (BODY, pa.binary()),
    ]
)
# As for rows at ingest: Spark sends a number of values to Python at once, whatever their size.
PIECE_BYTES = 1 << 16
TEXT = "text"
NO_UNIT = -1
REPORT = "report"


@dataclass(frozen=True)
class Topic:
    """What a message is about: the lookup at a position of a stream's sequence, or a copy; `new`: rows of this step.

    A system that sends a message for every interval of event time would have sent it in `intervals` parts.
    """

    about: About
    head: int = -1
    position: int = -1
    copy: int = -1
    role: TableRole | None = None
    new: bool = False
    intervals: int = 1

    @property
    def subject(self) -> tuple[object, ...]:
        """What a unit sends to another in a round as one message: all for a copy, or all for a lookup."""
        return ("copy", self.copy) if self.copy >= 0 else (self.about, self.head, self.position)


@dataclass(frozen=True)
class Message:
    """A part of a message, as it was received."""

    sender: int
    topic: Topic
    batch: pa.RecordBatch


@dataclass
class _Crossing:
    """A message to a unit of another site: its bytes, and the intervals of event time that its parts are about."""

    payload: int = 0
    framing: int = 0
    intervals: set[int] = field(default_factory=set)
    answered: int = 1

    @property
    def modelled(self) -> int:
        return max(len(self.intervals), self.answered)


class Outbox:
    """What a unit sends in a round, in a cluster with so many slots."""

    def __init__(self, layout: Layout, unit: int, slots: int, interval_us: int) -> None:
        self._layout = layout
        self._unit = unit
        self._slots = [rank % slots for rank in slots_of_sites(layout)]
        self._interval_us = interval_us
        self._pieces: list[tuple[int, int, int, int, str, bytes]] = []
        self._crossing: dict[tuple[int, tuple[object, ...]], _Crossing] = defaultdict(_Crossing)

    def send(
        self, target: int, topic: Topic, batch: pa.RecordBatch, times: npt.NDArray[np.int64] | None = None
    ) -> None:
        """Send rows to a unit; nothing if there are none.

        `times` are the event times that they are about. Without them, a topic may say how many intervals of event time
        the request had that it answers.
        """
        if batch.num_rows == 0:
            return
        intervals = set() if times is None else set(np.unique(times // self._interval_us).tolist())
        if intervals:
            topic = replace(topic, intervals=len(intervals))
        text = json.dumps(astuple(topic))
        payload = size = 0
        for part in _cut(batch):
            body = encoded(part)
            self._pieces.append((self._slots[target], target, self._unit, len(self._pieces), text, body))
            payload += part.nbytes
            size += len(body) + len(text)
        if site_of(self._layout, self._unit) != site_of(self._layout, target):
            message = self._crossing[target, topic.subject]
            message.payload += payload
            message.framing += size - payload
            message.intervals |= intervals
            message.answered = max(message.answered, topic.intervals)

    def keep(self, topic: Topic, batch: pa.RecordBatch) -> None:
        """Send to this unit itself, in the next round."""
        self.send(self._unit, topic, batch)

    def keep_text(self, topic: Topic, text: str) -> None:
        self.keep(topic, pa.RecordBatch.from_pydict({TEXT: [text]}))

    @property
    def sent(self) -> tuple[Sent, ...]:
        """What crossed links."""
        source = site_of(self._layout, self._unit)
        return sum_sent(
            Sent(source, site_of(self._layout, target), own.payload, own.framing, 1, own.modelled)
            for (target, _), own in self._crossing.items()
        )

    def pieces(self) -> pa.RecordBatch:
        columns = list(zip(*self._pieces, strict=True)) or [()] * len(PIECES)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, PIECES, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=PIECES)


class Inbox:
    """What a unit received in a round, in an order that does not depend on the network."""

    def __init__(self, unit: int, pieces: Iterable[pa.RecordBatch]) -> None:
        found = []
        for batch in pieces:
            own = batch.filter(pc.equal(batch.column(TARGET), unit))
            senders, numbers, topics = (own.column(name).to_pylist() for name in (SENDER, NUMBER, TOPIC))
            bodies = own.column(BODY)
            for place, key in enumerate(zip(senders, numbers, strict=True)):
                found.append((key, topics[place], bodies[place].as_buffer()))
        found.sort(key=lambda one: one[0])
        self.messages = [Message(sender, _topic(text), decoded(body)) for (sender, _), text, body in found]

    def about(self, about: About, head: int = -1, position: int = -1) -> list[Message]:
        return [
            message
            for message in self.messages
            if (message.topic.about, message.topic.head, message.topic.position) == (about, head, position)
        ]

    def texts(self, about: About) -> list[str]:
        return [text for message in self.about(about) for text in message.batch.column(TEXT).to_pylist()]


def _topic(text: str) -> Topic:
    return Topic(*json.loads(text))


def encoded(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def decoded(body: pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(body) as stream:
        return stream.read_next_batch()


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= PIECE_BYTES:
        yield batch
        return
    for cut in byte_cuts(row_sizes(batch.columns, batch.num_rows), PIECE_BYTES):
        yield batch.slice(cut.start, cut.stop - cut.start)


def tuple_batch(tuples: Tuples, table: TupleTable | None = None) -> pa.RecordBatch:
    """Partial tuples as a batch; with the numbers of a table that has them."""
    columns = {f"v{place}": pa.array(tuples[:, place]) for place in range(tuples.shape[1])}
    numbers = {} if table is None else {name: pa.array(values) for name, values in table.numbers.items()}
    return pa.RecordBatch.from_pydict({**columns, **numbers})


def batch_tuples(batch: pa.RecordBatch) -> Tuples:
    names = [name for name in batch.schema.names if name[0] == "v"]
    return np.stack([batch.column(name).to_numpy() for name in names], axis=1)


def batch_table(batch: pa.RecordBatch) -> TupleTable:
    numbers = {name: batch.column(name).to_numpy() for name in batch.schema.names if name[0] != "v"}
    return TupleTable(batch_tuples(batch), numbers)


def tables_together(tables: Sequence[TupleTable]) -> TupleTable:
    """The tuples of several tables, one after the other."""
    names = tables[0].numbers
    numbers = {name: np.concatenate([table.numbers[name] for table in tables]) for name in names}
    return TupleTable(np.concatenate([table.tuples for table in tables]), numbers)


def received_rows(messages: Sequence[Message], types: dict[str, str]) -> list[Rows]:
    """The rows of messages."""
    return [Rows.from_batch(message.batch, types) for message in messages]


def sum_sent(sent: Iterable[Sent]) -> tuple[Sent, ...]:
    """What crossed each link, by direction."""
    found: dict[tuple[int, int], Sent] = {}
    for one in sent:
        known = found.get((one.source, one.target))
        found[one.source, one.target] = (
            one
            if known is None
            else replace(
                known,
                payload=known.payload + one.payload,
                framing=known.framing + one.framing,
                messages=known.messages + one.messages,
                modelled_messages=known.modelled_messages + one.modelled_messages,
            )
        )
    return tuple(found[pair] for pair in sorted(found))


def report_piece(slot: int, texts: Sequence[str]) -> pa.RecordBatch:
    """Reports of a slot's rounds, on their way with its messages."""
    rows = [(slot, NO_UNIT, NO_UNIT, number, REPORT, text.encode()) for number, text in enumerate(texts)]
    arrays = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), PIECES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PIECES)


def split_reports(pieces: Iterable[pa.RecordBatch]) -> tuple[list[pa.RecordBatch], list[str]]:
    """Messages, and the reports that came with them, in their order."""
    messages: list[pa.RecordBatch] = []
    reports: list[tuple[int, bytes]] = []
    for batch in pieces:
        is_report = pc.equal(batch.column(TARGET), NO_UNIT)
        own = batch.filter(is_report)
        reports += zip(own.column(NUMBER).to_pylist(), own.column(BODY).to_pylist(), strict=True)
        messages.append(batch.filter(pc.invert(is_report)))
    return messages, [text.decode() for _, text in sorted(reports)]
