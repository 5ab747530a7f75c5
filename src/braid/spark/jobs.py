"""Probe jobs as DataFrames: tasks over the anchor, with filters of the JVM between them where needed.

Without the JVM a job is one pass over the anchor that writes files. With it, the tasks emit rows, the JVM filters them
by the original expressions, further tasks evaluate what must come after, and a last one writes. A report is sent with
the rows it describes, and passes every filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from braid.engine.commands import ProbeCommand
from braid.engine.tasks.exchange import ExchangedRows
from braid.engine.tasks.intermediate import IntermediateRows
from braid.engine.tasks.results import flat_columns, select_outputs
from braid.engine.tasks.segments import column_types, joined_types
from braid.engine.tasks.task_errors import TASK_ERRORS, serialize_error
from braid.engine.tasks.watching import watched
from braid.engine.tasks.work import (
    Locations,
    ProbeRun,
    Task,
    open_results,
    report_row,
    run_probe,
)
from braid.kernels.checks import passing_rows
from braid.kernels.rows import Pairs, Rows
from braid.optimizer.join_orders import build_probe_orders
from braid.optimizer.trees import in_shape
from braid.plan.join import RESULT_TIME, JoinPlan, ProbeOrder, Stage
from braid.spark.slot_functions import slot_commands
from braid.spark.task_context import current_task
from braid.spark.task_reports import TaskReports
from braid.spark.transport import map_batches, spark_schema
from braid.state.files import locate

REPORTS = StructType([StructField("report", StringType())])
LISTS, SUMS = ("units", "lookups", "merged", "intermediate"), ("seconds", "cpu")
DELTA_STREAM, ROUTE = "#delta_stream", "#route"


class ProbePipeline:
    """Creates the DataFrame of a probe job, once for every shape of job."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int, anchor: DataFrame) -> None:
        self._plan = plan
        self._locations = locations
        self._slots = slots
        self._anchor = anchor
        self._known: dict[tuple[Any, ...], DataFrame] = {}

    def job(self, command: ProbeCommand) -> DataFrame:
        key = (command.join_orders, command.layouts[-1].tree, command.first_round, command.last_round)
        if key not in self._known:
            self._known[key] = self._build(command)
        return self._known[key]

    def needs_jvm(self, command: ProbeCommand, round_number: int) -> bool:
        """Whether the JVM evaluates something after this round."""
        probe_orders = self._probe_orders(command)
        complete = round_number == command.rounds - 1 and self._gives_results(probe_orders)
        return any(later_stages(probe_orders, round_number)) or (complete and self._plan.jvm_outputs)

    def evaluated(self, command: ProbeCommand) -> list[str]:
        """What the JVM evaluates in a probe job: conjuncts, and the selection where the job finds results."""
        probe_orders = self._probe_orders(command)
        later = [stage for stages in later_stages(probe_orders, command.last_round) for stage in stages]
        found = [
            self._plan.conjuncts[number].written
            for stage in later
            for number in stage.conjuncts
            if stage.place == "jvm"
        ]
        if command.is_last and self._gives_results(probe_orders) and self._plan.jvm_outputs:
            found += [output.sql for output in self._plan.outputs if output.expression is None]
        return list(dict.fromkeys(found))

    def _build(self, command: ProbeCommand) -> DataFrame:
        if not self.needs_jvm(command, command.last_round):
            return map_batches(self._anchor, WriteFunction(self._plan, self._locations, self._slots), REPORTS)
        schema = emitted_schema(self._plan, self._read_later(command))
        flat = spark_schema(schema)
        frame = map_batches(self._anchor, EmitFunction(self._plan, self._locations, self._slots, schema), flat)
        stages = later_stages(self._probe_orders(command), command.last_round)
        for number in range(max((len(later) for later in stages), default=0)):
            step = [later[number] if number < len(later) else None for later in stages]
            if number % 2 == 0:
                frame = frame.filter(_filter(self._plan, step))
            else:
                frame = map_batches(frame, CheckFunction(self._plan, self._locations, step, schema), flat)
        return self._finish(frame, command)

    def _finish(self, frame: DataFrame, command: ProbeCommand) -> DataFrame:
        plan, probe_orders = self._plan, self._probe_orders(command)
        if not (command.is_last and self._gives_results(probe_orders)):
            return map_batches(frame, ExchangeFunction(plan, self._locations), REPORTS)
        if plan.jvm_outputs:
            frame = frame.selectExpr(
                *(f"{output.sql} AS `{_name(number)}`" for number, output in enumerate(plan.outputs))
            )
        return map_batches(frame, FinishFunction(plan, self._locations), REPORTS)

    def _read_later(self, command: ProbeCommand) -> set[str]:
        """The columns that later parts of the job still read."""
        plan, probe_orders = self._plan, self._probe_orders(command)
        if not (command.is_last and self._gives_results(probe_orders)):
            return {field.name for schema in plan.schemas for field in schema}
        later = [stage for stages in later_stages(probe_orders, command.last_round) for stage in stages]
        read = [plan.conjuncts[number].columns for stage in later for number in stage.conjuncts]
        read += [output.columns for output in plan.outputs]
        return {column.name for columns in read for column in columns}

    def _probe_orders(self, command: ProbeCommand) -> list[ProbeOrder]:
        return build_probe_orders(in_shape(self._plan, command.layouts[-1].tree), command.join_orders)

    def _gives_results(self, probe_orders: list[ProbeOrder]) -> bool:
        return any(len(probe_order.joined[-1]) == len(self._plan.streams) for probe_order in probe_orders)


def later_stages(probe_orders: list[ProbeOrder], round_number: int) -> list[tuple[Stage, ...]]:
    """For every delta stream, what follows its lookup of a round: in the JVM, and after that."""
    probes = [probe_order.probe_in(round_number) for probe_order in probe_orders]
    return [() if probe is None else probe.later for probe in probes]


def emitted_schema(plan: JoinPlan, names: set[str]) -> pa.Schema:
    """What tasks send to the JVM: stored columns among `names`, the result time, delta stream and route."""
    fields = [field for schema in plan.schemas for field in schema if field.name in names]
    time = plan.schemas[0].field(plan.streams[0].time).with_name(RESULT_TIME)
    own = [time, pa.field(DELTA_STREAM, pa.int32()), pa.field(ROUTE, pa.int32())]
    return pa.schema([*fields, *own])


class WriteFunction:
    """A whole probe job in tasks: look up, write, report."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int) -> None:
        self._plan, self._locations, self._slots = plan, locations, slots

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for content, task in slot_commands(batches):
            command = ProbeCommand.from_json(content)
            yield report_row(run_probe(self._plan, self._slots, self._locations, command, task))


class EmitFunction:
    """Look up, and emit what matches with the report at the end."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int, schema: pa.Schema) -> None:
        self._plan, self._locations, self._slots, self._schema = plan, locations, slots, schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for content, task in slot_commands(batches):
            command = ProbeCommand.from_json(content)
            run = ProbeRun(self._plan, self._slots, self._locations, command, task)
            try:
                with run.watched():
                    for delta_stream, route, pairs in run.found():
                        yield _emitted(
                            self._plan, self._schema, pairs, frozenset(run.joined(delta_stream)), delta_stream, route
                        )
                report = run.report()
            except TASK_ERRORS as error:
                report = serialize_error(error)
            TaskReports(command.run, task).add(report)


class CheckFunction:
    """Conjuncts that must follow one that the JVM evaluated."""

    def __init__(self, plan: JoinPlan, locations: Locations, stages: list[Stage | None], schema: pa.Schema) -> None:
        self._plan, self._locations, self._stages, self._schema = plan, locations, stages, schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, content = current_task()
        command = ProbeCommand.from_json(content)
        with watched(*locate(self._locations.checkpoint), _file_name(command, task), command.watched):
            yield from self._checked(batches, TaskReports(command.run, task))

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

    def __init__(self, plan: JoinPlan, locations: Locations) -> None:
        self._plan, self._locations = plan, locations

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, content = current_task()
        files, checkpoint = locate(self._locations.checkpoint)
        command = ProbeCommand.from_json(content)
        plan = in_shape(self._plan, command.layouts[-1].tree)
        blocks, name = f"{checkpoint}/blocks", _file_name(command, task)
        probe_orders = build_probe_orders(plan, command.join_orders)
        exchanged = ExchangedRows(files, blocks, name)
        intermediate = IntermediateRows(plan, command, files, blocks, name, command.step + task.partition)
        for batch in batches:
            for delta_stream, part in _by_value(batch, DELTA_STREAM):
                joined = probe_orders[delta_stream].after(command.last_round)
                types = joined_types(plan, joined)
                names = [name for name in part.schema.names if name in types]
                intermediate.add(joined, Rows.from_batch(part.select(names), types))
                for route, piece in _by_value(part, ROUTE) if not command.is_last else ():
                    exchanged.add(delta_stream, route, Rows.from_batch(piece.select(names), types))
        yield _closing(TaskReports(command.run, task).take(), exchanged.close(), intermediate.close()["intermediate"])


class FinishFunction:
    """Writes the selected columns of the filtered rows."""

    def __init__(self, plan: JoinPlan, locations: Locations) -> None:
        self._plan, self._locations = plan, locations

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, content = current_task()
        command = ProbeCommand.from_json(content)
        sink = open_results(self._plan, self._locations, command, _file_name(command, task))
        types = _flat_types(self._plan)
        for batch in batches:
            if batch.num_rows:
                sink.add(self._selected(batch, types))
        yield _closing(TaskReports(command.run, task).take(), sink.close(), [])

    def _selected(self, rows: pa.RecordBatch, types: dict[str, str]) -> pa.RecordBatch:
        if not self._plan.jvm_outputs:
            return select_outputs(self._plan, Rows.from_batch(rows, types))
        schema = self._plan.output_schema
        arrays = [rows.column(_name(number)).cast(field.type) for number, field in enumerate(schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _filter(plan: JoinPlan, stages: list[Stage | None]) -> str:
    """The SQL of a stage for all delta streams; reports pass."""
    cases = []
    for delta_stream, stage in enumerate(stages):
        texts = [] if stage is None else [f"({plan.conjuncts[number].sql})" for number in stage.conjuncts]
        cases.append(f"WHEN {delta_stream} THEN {' AND '.join(texts) or 'true'}")
    return f"CASE `{DELTA_STREAM}` {' '.join(cases)} END"


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


def _closing(
    reports: list[dict[str, Any]], written: dict[str, Any], intermediate: list[dict[str, Any]]
) -> pa.RecordBatch:
    """The reports of a task as one, with what was written; an error stays an error."""
    failed = next((report for report in reports if "error" in report), None)
    if failed is not None:
        return report_row(failed)
    merged: dict[str, Any] = {"slot": -1, "host": "", **{name: [] for name in LISTS}, **dict.fromkeys(SUMS, 0.0)}
    merged["intermediate"] = intermediate
    for report in reports:
        merged = {**report, **{name: merged[name] + report[name] for name in (*LISTS, *SUMS)}}
    return report_row({**merged, **written})


def _flat_types(plan: JoinPlan) -> dict[str, str]:
    types = {name: kind for stream in plan.streams for name, kind in column_types(plan, stream.number).items()}
    return {**types, RESULT_TIME: types[plan.streams[0].time]}


def _file_name(command: ProbeCommand, task: Task) -> str:
    return f"{command.run[:8]}-{command.step:012d}-{command.first_round}-p{task.partition}-{task.attempt}"


def _name(number: int) -> str:
    return f"#out:{number}"
