"""A cluster in one process: the same task functions that Spark runs, fed with Arrow tables, in plain loops.

What Spark's JVM adds to the rows (hashes of keys, the pushed selection) is computed here; conjuncts and selections
that only the JVM can evaluate are refused.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from braid.engine.commands import Command, IngestCommand, ProbeCommand, SiteCommand
from braid.engine.locations import Locations
from braid.engine.reports import IngestReport, SiteReport, TaskFailure, TaskReport, read_reports, report_text
from braid.engine.sending.command_files import CommandSender, receive
from braid.engine.tasks.functions import TaskFunction, sink_of, task_function
from braid.engine.tasks.ingest import run_ingest
from braid.engine.tasks.metering import run_metered, run_metered_round, slot_meter
from braid.engine.tasks.shuffle import ShuffleTask, send_rows, store_rows
from braid.engine.tasks.sites.messages import PIECES, SLOT
from braid.engine.tasks.sites.rounds import run_site_round
from braid.engine.tasks.task import SlotTask, Task
from braid.engine.tasks.worker.allowance import obey
from braid.errors import UnsupportedExpressionError
from braid.kernels.expressions.evaluate import evaluate, is_true
from braid.kernels.expressions.vectors import Vector
from braid.kernels.expressions.wide_integers import widened
from braid.kernels.rows import Rows
from braid.optimizer.exchange import Exchange
from braid.plan.expressions import Expression, decimal_digits
from braid.plan.join import KEEP, JoinPlan, KeyPart
from braid.plan.layout import Layout
from braid.plan.logical import LogicalPlan
from braid.state.files import Files
from braid.state.usage import Meter
from braid.testing.failing import InjectedCrash
from braid.testing.inline_shuffle import pieces_of, reordered

R = TypeVar("R", bound=TaskReport)
C = TypeVar("C", bound=Command[Any])
T = TypeVar("T")
Fate = Literal["once", "retried", "duplicated", "crash"]
"""The fate of a task.

It runs once; its first report is lost and it runs again; a second attempt runs although the first one counts; or the
whole process dies after it. An ingest task that sends its rows through a shuffle always has two attempts, and each slot
reads one of them.
"""

ROWS_PER_BATCH = 7


class InlineCluster:
    """Runs ingest and probe tasks one after the other.

    `fate` is called before every task, with its number in this process. Commands are written to `files`; tasks open
    their own.
    """

    def __init__(
        self,
        logical_plan: LogicalPlan,
        plan: JoinPlan,
        locations: Locations,
        slots: int,
        ingest_tasks: int = 1,
        fate: Callable[[int], Fate] = lambda _: "once",
        rows_per_batch: int = ROWS_PER_BATCH,
        files: Files | None = None,
        exchange: Exchange = "files",
    ) -> None:
        refuse_jvm(plan)
        self.slots = slots
        self.ingest_tasks = ingest_tasks
        self.tasks = 0
        self._logical_plan = logical_plan
        self._plan = plan
        self._locations = locations
        opened, path = locations.open_checkpoint()
        self._sender = CommandSender(opened if files is None else files, path)
        self._fate = fate
        self._rows_per_batch = rows_per_batch
        self._exchange = exchange
        # A streaming plan keeps its partitions, whatever becomes of the slots.
        self._partitions = slots
        self._attempts = 0
        self._batch: Mapping[str, pa.Table] | None = None

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Set the rows of the batch for the next `ingest`, by stream, in the order of ingest.

        A missing stream has none.
        """
        self._batch = tables

    def follow_cores(self) -> None:
        """The number of slots is fixed."""

    def request_cores(self, layout: Layout) -> str | None:
        return None

    def ingest(self, command: IngestCommand) -> list[IngestReport]:
        if self._batch is None:
            raise RuntimeError("there is no batch to ingest")
        texts: list[str] = []
        numbers = {stream.name: stream.number for stream in self._plan.streams}
        pass_on = self._write if self._exchange == "files" else self._shuffle
        with self._sender.sent(command, self.slots) as text:
            for name, table in self._batch.items():
                places = (np.arange(first, table.num_rows, self.ingest_tasks) for first in range(self.ingest_tasks))
                texts += pass_on(text, numbers[name], [table.take(pa.array(own)) for own in places])
        return read_reports(IngestReport, texts)

    def _write(self, text: str, stream: int, shares: Sequence[pa.Table]) -> list[str]:
        """Every ingest task writes a block."""
        return [
            self._run(partial(self._take, text, stream, partition, share)) for partition, share in enumerate(shares)
        ]

    def _shuffle(self, text: str, stream: int, shares: Sequence[pa.Table]) -> list[str]:
        """Every ingest task sends its rows to the slots, and those store them."""
        chance = random.Random(self.tasks)
        sent: list[list[pa.Table]] = []
        for partition, share in enumerate(shares):
            first = self._try(partial(self._send, text, stream, partition, share, self._rows_per_batch))
            other, cut = reordered(share, chance), chance.randint(1, self._rows_per_batch)
            sent.append([first, self._try(partial(self._send, text, stream, partition, other, cut))])
        texts = []
        for slot in range(self._partitions):
            pieces = pieces_of(slot, sent, chance)
            texts += self._try(partial(self._store, text, stream, pieces))
        return texts

    def run(self, command: Command[R]) -> list[R]:
        function = task_function(self._plan, command)
        with self._sender.sent(command, self.slots) as text:
            texts = [self._run(partial(self._slot, function, type(command), text, slot)) for slot in self.slot_order()]
        return read_reports(command.reports, texts)

    def converse(self, command: SiteCommand, rounds: int) -> list[SiteReport]:
        """Rounds of messages, in which every task may run twice."""
        texts: list[str] = []
        inbox = PIECES.empty_table()
        with self._sender.sent(command, self.slots) as text:
            for number in range(rounds):
                sent: list[pa.RecordBatch] = []
                for slot in self.slot_order():
                    own = inbox.filter(pc.equal(inbox.column(SLOT), slot)).to_batches()
                    pieces, report = self._try(partial(self._round, text, number, slot, own))
                    sent += pieces
                    texts.append(report_text(report))
                inbox = pa.Table.from_batches(sent, PIECES)
        return read_reports(SiteReport, texts)

    def slot_order(self) -> Sequence[int]:
        """The order in which the tasks of a job run, and in which their reports come; a test may replace it."""
        return range(self.slots)

    def needs_own_round(self, command: ProbeCommand, round_number: int) -> bool:
        return False

    def _received(self, kind: type[C], text: str, slot: int, meter: Meter) -> C:
        with meter.running():
            command = receive(kind, text, slot, self._locations.checkpoint)
        obey(self._locations, command)
        return command

    def _take(
        self, text: str, stream: int, partition: int, share: pa.Table, attempt: int
    ) -> IngestReport | TaskFailure:
        meter = Meter()
        command = self._received(IngestCommand, text, partition, meter)
        batches, task = self._flat(stream, share, self._rows_per_batch), Task(partition, attempt, "inline")
        work = partial(run_ingest, self._plan, stream, self._locations, command, task, batches)
        return run_metered(meter, work)

    def _send(self, text: str, stream: int, partition: int, share: pa.Table, cut: int, attempt: int) -> pa.Table:
        own = self._shuffle_task(text, stream, Task(partition, attempt, "inline"))
        return pa.Table.from_batches(send_rows(own, self._flat(stream, share, cut)))

    def _store(self, text: str, stream: int, pieces: list[pa.RecordBatch], attempt: int) -> list[str]:
        # A task of the streaming plan does not know its slot.
        return list(store_rows(self._shuffle_task(text, stream, Task(0, attempt, "inline")), iter(pieces)))

    def _shuffle_task(self, text: str, stream: int, task: Task) -> ShuffleTask:
        meter = Meter()
        command = self._received(IngestCommand, text, task.slot, meter)
        return ShuffleTask(self._plan, stream, self._locations, self._partitions, command, task, meter)

    def _slot(
        self, function: TaskFunction[R], kind: type[Command[R]], text: str, slot: int, attempt: int
    ) -> R | TaskFailure:
        meter = slot_meter(slot, self.slots)
        command = self._received(kind, text, slot, meter)
        task = SlotTask(self._plan, self._locations, self.slots, Task(slot, attempt, "inline"))
        return run_metered(meter, partial(function, task, command))

    def _round(
        self, text: str, number: int, slot: int, pieces: list[pa.RecordBatch], attempt: int
    ) -> tuple[list[pa.RecordBatch], SiteReport | TaskFailure]:
        meter = slot_meter(slot, self.slots)
        command = self._received(SiteCommand, text, slot, meter)
        task = SlotTask(self._plan, self._locations, self.slots, Task(slot, attempt, "inline"))
        return run_metered_round(meter, partial(run_site_round, task, command, number, pieces, sink_of(self._plan)))

    def _run(self, work: Callable[[int], object]) -> str:
        """One task; reports are passed as text, as from Spark's workers."""
        return self._try(lambda attempt: report_text(work(attempt)))

    def _try(self, work: Callable[[int], T]) -> T:
        """One task, run as its fate says."""
        self.tasks += 1
        fate = self._fate(self.tasks)
        found = self._attempt(work)
        if fate == "crash":
            raise InjectedCrash(f"after task {self.tasks}")
        if fate == "retried":
            return self._attempt(work)
        if fate == "duplicated":
            self._attempt(work)
        return found

    def _attempt(self, work: Callable[[int], T]) -> T:
        self._attempts += 1
        return work(self._attempts)

    def _flat(self, stream: int, table: pa.Table, rows_per_batch: int) -> Iterator[pa.RecordBatch]:
        """The rows with flat names and what the JVM would add, in several batches."""
        logical = self._logical_plan.streams[stream]
        prefix = len(logical.name) + 1
        plain = table.select([field.name[prefix:] for field in logical.schema])
        flat = pa.table([plain.column(n) for n in range(plain.num_columns)], names=logical.schema.names)
        if flat.num_rows == 0:
            return
        rows = Rows(
            {name: flat.column(name).combine_chunks() for name in flat.schema.names},
            {column.name: column.type for column in logical.columns},
            flat.num_rows,
        )
        for name, part in self._plan.hashed(stream).items():
            side = part.side_of(stream)
            if side is not None and side.expression is not None:
                flat = flat.append_column(name, _hashes(part, side.expression, rows))
        if self._plan.pushed[stream]:
            flat = flat.append_column(KEEP, pa.array(self._selected(stream, rows)))
        yield from flat.combine_chunks().to_batches(max_chunksize=rows_per_batch)

    def _selected(self, stream: int, rows: Rows) -> np.ndarray:
        keep = np.ones(rows.length, bool)
        for number in self._plan.pushed[stream]:
            expression = self._plan.conjuncts[number].expression
            if expression is not None:
                keep &= np.broadcast_to(is_true(evaluate(expression, rows.vector)), (rows.length,))
        return keep


def refuse_jvm(plan: JoinPlan) -> None:
    """Refuse a plan that only Spark can run."""
    needing = [conjunct.written for conjunct in plan.conjuncts if conjunct.in_jvm]
    needing += [side.sql for part in plan.parts for side in part.sides if side.expression is None]
    needing += [output.name for output in plan.outputs if output.expression is None and output.fields is None]
    if needing:
        raise UnsupportedExpressionError(
            f"Without Spark only expressions of Braid's own evaluator can run, but {', '.join(needing)} need the JVM.",
            hint="Test them with a Spark session.",
        )


def _hashes(part: KeyPart, expression: Expression, rows: Rows) -> pa.Array:
    """A 64-bit hash of each value; NULL hashes like a value where NULLs match, and is NULL where they do not."""
    hashes = []
    vector = evaluate(expression, rows.vector)
    if decimal_digits(expression.type):
        # Equal decimals of two batches hash alike, although one batch may have its values in fewer bits.
        vector = Vector(widened(vector.values), vector.valid)
    for value in _values(vector, rows.length):
        absent = value is None and not part.null_safe
        hashes.append(None if absent else xxhash.xxh3_64_intdigest(repr(value).encode()) - (1 << 63))
    return pa.array(hashes, pa.int64())


def _values(vector: Vector, length: int) -> list[Any]:
    """The values as Python's, equal ones equal: NaN is one value and -0.0 is 0.0."""
    if isinstance(vector.values, pa.Array):
        return list(vector.values.cast(pa.large_binary()).to_pylist())
    values = np.broadcast_to(vector.values, (length,))
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values) + 0.0
    valid = np.broadcast_to(True if vector.valid is None else vector.valid, (length,))
    return [value if known else None for value, known in zip(values.tolist(), valid.tolist(), strict=True)]
