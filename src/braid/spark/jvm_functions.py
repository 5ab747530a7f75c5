"""The Python functions of probe jobs whose rows the JVM filters: one emits, others check, the last one writes.

All functions of such a job run in one Spark task, so their partition is the slot. The report of the lookups is passed
beside the rows (`task_reports.py`), and completed by the function that writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from braid.engine.commands import ProbeCommand
from braid.engine.locations import Locations
from braid.engine.reports import ProbeReport
from braid.engine.tasks.intermediate import IntermediateRows
from braid.engine.tasks.lookup.exchange import ExchangedRows
from braid.engine.tasks.probe import OpenSink, SlotProbe
from braid.engine.tasks.selection import flat_columns, select_outputs
from braid.engine.tasks.task import SlotTask, Task
from braid.engine.tasks.task_errors import TASK_ERRORS, serialize_error
from braid.engine.tasks.worker.allowance import measured
from braid.engine.tasks.worker.watching import watched
from braid.kernels.checks import passing_rows
from braid.kernels.rows import Pairs, Rows
from braid.optimizer.join_orders import build_probe_orders
from braid.optimizer.trees import in_shape
from braid.plan.join import RESULT_TIME, JoinPlan, Stage
from braid.plan.stored_types import column_types, joined_types
from braid.spark.slot_functions import read_anchor, report_row
from braid.spark.task_context import current_task
from braid.spark.task_reports import TaskReports
from braid.state.blocks import WrittenBlock
from braid.state.manifest import Block

DELTA_STREAM, ROUTE = "#delta_stream", "#route"
# The kind, in file names, of what these functions write.
WRITTEN = "p"


def emitted_schema(plan: JoinPlan, names: set[str]) -> pa.Schema:
    """What tasks send to the JVM: stored columns among `names`, the result time, delta stream and route."""
    fields = [field for schema in plan.schemas for field in schema if field.name in names]
    time = plan.schemas[0].field(plan.streams[0].time).with_name(RESULT_TIME)
    own = [time, pa.field(DELTA_STREAM, pa.int32()), pa.field(ROUTE, pa.int32())]
    return pa.schema([*fields, *own])


class EmitFunction:
    """Look up, and emit what matches."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int, schema: pa.Schema) -> None:
        self._plan, self._locations, self._slots, self._schema = plan, locations, slots, schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read_anchor(batches)
        task, command, meter = current_task(ProbeCommand, self._locations, self._slots)
        try:
            with meter.running():
                work = SlotProbe(SlotTask(self._plan, self._locations, self._slots, task), command)
                with work.watched():
                    for delta_stream, route, pairs in work.found():
                        joined = frozenset(work.joined(delta_stream))
                        for whole in work.completed(pairs):
                            yield _emitted(self._plan, self._schema, whole, joined, delta_stream, route)
                report = work.report()
            TaskReports(command.run, task).add(replace(report, usage=meter.usage(), memory=measured()))
        except TASK_ERRORS as error:
            TaskReports(command.run, task).add(serialize_error(error))


class CheckFunction:
    """Conjuncts that must follow one that the JVM evaluated."""

    def __init__(self, plan: JoinPlan, locations: Locations, stages: list[Stage | None]) -> None:
        self._plan, self._locations, self._stages = plan, locations, stages

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, command, meter = current_task(ProbeCommand, self._locations)
        with watched(*self._locations.open_checkpoint(), task.file_name(command, WRITTEN), command.watched):
            reports = TaskReports(command.run, task)
            with meter.running():
                yield from self._checked(batches, reports)
            reports.add_usage(meter.usage())

    def _checked(self, batches: Iterator[pa.RecordBatch], reports: TaskReports) -> Iterator[pa.RecordBatch]:
        types = _flat_types(self._plan)
        for batch in batches:
            for delta_stream, part in _by_value(batch, DELTA_STREAM):
                stage = self._stages[delta_stream]
                if stage is None:
                    yield part
                    continue
                checks = [self._plan.conjuncts[number] for number in stage.conjuncts]
                try:
                    yield part.take(pa.array(passing_rows(Rows.from_batch(part, types), checks)))
                except TASK_ERRORS as error:
                    reports.add(serialize_error(error))


class ExchangeFunction:
    """Writes the filtered rows for the next round, and intermediate results among them."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int) -> None:
        self._plan, self._locations, self._slots = plan, locations, slots

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, command, meter = current_task(ProbeCommand, self._locations)
        with meter.running():
            exchanged, blocks = self._written(task, command, batches)
        report = TaskReports(command.run, task).take()
        if isinstance(report, ProbeReport):
            blocks, usage = (*report.intermediate, *blocks), report.usage + meter.usage()
            report = replace(report, exchanged=exchanged, intermediate=blocks, usage=usage)
        yield report_row(report)

    def _written(
        self, task: Task, command: ProbeCommand, batches: Iterator[pa.RecordBatch]
    ) -> tuple[WrittenBlock | None, tuple[Block, ...]]:
        own = SlotTask(self._plan, self._locations, self._slots, task)
        plan = in_shape(self._plan, command.layouts[-1].tree)
        place = own.block_path(task.file_name(command, WRITTEN))
        probe_orders = build_probe_orders(plan, command.join_orders)
        exchanged = ExchangedRows(plan, command, *place)
        intermediate = IntermediateRows(plan, command, *place, command.step + task.slot)
        for batch in batches:
            for delta_stream, part in _by_value(batch, DELTA_STREAM):
                joined = probe_orders[delta_stream].after(command.last_round)
                types = joined_types(plan, joined)
                names = [name for name in part.schema.names if name in types]
                intermediate.add(joined, Rows.from_batch(part.select(names), types))
                for route, piece in _by_value(part, ROUTE) if not command.is_last else ():
                    exchanged.add(delta_stream, route, Rows.from_batch(piece.select(names), types))
        return exchanged.close(), intermediate.close()


class FinishFunction:
    """Writes the selected columns of the filtered rows."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int, open_sink: OpenSink) -> None:
        self._plan, self._locations, self._slots, self._open_sink = plan, locations, slots, open_sink

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, command, meter = current_task(ProbeCommand, self._locations)
        own = SlotTask(self._plan, self._locations, self._slots, task)
        types = _flat_types(self._plan)
        with meter.running():
            sink = self._open_sink(own, command, task.file_name(command, WRITTEN))
            for batch in batches:
                if batch.num_rows:
                    sink.add(self._selected(batch, types))
            output = sink.close()
        report = TaskReports(command.run, task).take()
        if isinstance(report, ProbeReport):
            report = replace(report, output=output, usage=report.usage + meter.usage())
        yield report_row(report)

    def _selected(self, rows: pa.RecordBatch, types: dict[str, str]) -> pa.RecordBatch:
        if not self._plan.jvm_outputs:
            return select_outputs(self._plan, Rows.from_batch(rows, types))
        schema = self._plan.output_schema
        arrays = [rows.column(output_name(number)).cast(field.type) for number, field in enumerate(schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _emitted(
    plan: JoinPlan, schema: pa.Schema, pairs: Pairs, joined: frozenset[int], delta_stream: int, route: int
) -> pa.RecordBatch:
    length = pairs.length
    arrays = flat_columns(plan, schema, pairs, joined)
    arrays[schema.get_field_index(DELTA_STREAM)] = pa.repeat(pa.scalar(delta_stream, pa.int32()), length)
    arrays[schema.get_field_index(ROUTE)] = pa.repeat(pa.scalar(route, pa.int32()), length)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _by_value(batch: pa.RecordBatch, name: str) -> Iterator[tuple[int, pa.RecordBatch]]:
    if batch.num_rows == 0:
        return
    values = batch.column(name).to_numpy()
    for value in sorted({int(v) for v in values[:1]} if (values == values[0]).all() else set(values.tolist())):
        yield value, batch if (values == value).all() else batch.filter(pa.array(values == value))


def _flat_types(plan: JoinPlan) -> dict[str, str]:
    types = {name: kind for stream in plan.streams for name, kind in column_types(plan, stream.number).items()}
    return {**types, RESULT_TIME: types[plan.streams[0].time]}


def output_name(number: int) -> str:
    return f"#out:{number}"
