"""Jobs as DataFrames: tasks over the anchor, with filters of the JVM between them where needed.

Without the JVM a job is one pass over the anchor that writes files. With it, the tasks emit rows, the JVM filters them
by the original expressions, further tasks evaluate what must come after, and a last one writes.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from braid.engine.commands import Command, ProbeCommand
from braid.engine.locations import Locations
from braid.engine.tasks.functions import sink_of, task_function
from braid.optimizer.join_orders import build_probe_orders
from braid.optimizer.trees import in_shape
from braid.plan.join import JoinPlan, ProbeOrder, Stage
from braid.spark.jvm_functions import (
    DELTA_STREAM,
    CheckFunction,
    EmitFunction,
    ExchangeFunction,
    FinishFunction,
    emitted_schema,
    output_name,
)
from braid.spark.memory import variables_of
from braid.spark.slot_functions import SlotFunction
from braid.spark.transport import Function, map_batches, spark_schema

REPORTS = StructType([StructField("report", StringType())])


class Jobs:
    """Creates the DataFrame of a job, once for every kind of command and shape of probe job."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int, anchor: DataFrame) -> None:
        self._plan = plan
        self._locations = locations
        self._slots = slots
        self._anchor = anchor
        self._known: dict[tuple[Any, ...], DataFrame] = {}

    def frame(self, command: Command[Any]) -> DataFrame:
        """The job of a command: its rows are the reports of the tasks."""
        key: tuple[Any, ...] = (type(command),)
        if isinstance(command, ProbeCommand):
            key = (command.join_orders, command.layouts[-1].tree, command.first_round, command.last_round)
        if key not in self._known:
            self._known[key] = self._build(command)
        return self._known[key]

    def needs_jvm(self, command: ProbeCommand, round_number: int) -> bool:
        """Whether the JVM evaluates something after this round."""
        probe_orders = self._probe_orders(command)
        complete = round_number == command.rounds - 1 and self._gives_results(probe_orders)
        return any(later_stages(probe_orders, round_number)) or (complete and self._plan.jvm_outputs)

    def evaluated(self, command: Command[Any]) -> list[str]:
        """What the JVM evaluates in a probe job: conjuncts, and the selection where the job finds results."""
        if not isinstance(command, ProbeCommand):
            return []
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

    def _build(self, command: Command[Any]) -> DataFrame:
        if isinstance(command, ProbeCommand) and self.needs_jvm(command, command.last_round):
            return self._build_with_jvm(command)
        function = task_function(self._plan, command)
        in_task = SlotFunction(self._plan, self._locations, self._slots, type(command), function)
        return self._mapped(self._anchor, in_task, REPORTS)

    def _mapped(self, frame: DataFrame, function: Function, schema: StructType) -> DataFrame:
        return map_batches(frame, function, schema, variables_of(self._locations))

    def _build_with_jvm(self, command: ProbeCommand) -> DataFrame:
        schema = emitted_schema(self._plan, self._read_later(command))
        flat = spark_schema(schema)
        frame = self._mapped(self._anchor, EmitFunction(self._plan, self._locations, self._slots, schema), flat)
        stages = aligned_stages(self._plan, later_stages(self._probe_orders(command), command.last_round))
        for number in range(max((len(later) for later in stages), default=0)):
            step = [later[number] if number < len(later) else None for later in stages]
            if number % 2 == 0:
                frame = frame.filter(_filter(self._plan, step))
            else:
                frame = self._mapped(frame, CheckFunction(self._plan, self._locations, step), flat)
        return self._finish(frame, command)

    def _finish(self, frame: DataFrame, command: ProbeCommand) -> DataFrame:
        plan, probe_orders = self._plan, self._probe_orders(command)
        if not (command.is_last and self._gives_results(probe_orders)):
            return self._mapped(frame, ExchangeFunction(plan, self._locations, self._slots), REPORTS)
        if plan.jvm_outputs:
            frame = frame.selectExpr(
                *(f"{output.sql} AS `{output_name(number)}`" for number, output in enumerate(plan.outputs))
            )
        return self._mapped(frame, FinishFunction(plan, self._locations, self._slots, sink_of(plan)), REPORTS)

    def _read_later(self, command: ProbeCommand) -> set[str]:
        """The columns that later parts of the job still read."""
        plan, probe_orders = self._plan, self._probe_orders(command)
        if not (command.is_last and self._gives_results(probe_orders)):
            return {field.name for schema in plan.schemas for field in schema}
        later = [stage for stages in later_stages(probe_orders, command.last_round) for stage in stages]
        read = [plan.conjuncts[number].columns for stage in later for number in stage.conjuncts]
        read += [output.columns for output in plan.outputs]
        return {column.name for columns in read for column in columns}

    def _probe_orders(self, command: ProbeCommand) -> tuple[ProbeOrder, ...]:
        return build_probe_orders(in_shape(self._plan, command.layouts[-1].tree), command.join_orders)

    def _gives_results(self, probe_orders: tuple[ProbeOrder, ...]) -> bool:
        return any(len(probe_order.joined[-1]) == len(self._plan.streams) for probe_order in probe_orders)


def later_stages(probe_orders: tuple[ProbeOrder, ...], round_number: int) -> list[tuple[Stage, ...]]:
    """For every delta stream, what follows its lookup of a round: in the JVM, and after that."""
    probes = [probe_order.probe_in(round_number) for probe_order in probe_orders]
    return [() if probe is None else probe.later for probe in probes]


def aligned_stages(plan: JoinPlan, stages: list[tuple[Stage, ...]]) -> list[list[Stage | None]]:
    """The stages of all delta streams, such that those with the same registered function have the same place.

    Spark evaluates it on the rows of all delta streams, so each must have passed what precedes it. Stages of the JVM
    have even places. Every delta stream of a job has the same registered functions, in the same order.
    """
    parts = [_cut_at(plan, later) for later in stages]
    widths = [max(len(part) for part in same) for same in zip(*parts, strict=True)] if stages else []
    widths = [width + width % 2 for width in widths[:-1]] + widths[-1:]
    return [
        [stage for part, width in zip(own, widths, strict=True) for stage in [*part, *[None] * (width - len(part))]]
        for own in parts
    ]


def _cut_at(plan: JoinPlan, later: tuple[Stage, ...]) -> list[list[Stage]]:
    """Stages, cut before each one that begins with a registered function."""
    parts: list[list[Stage]] = [[]]
    for stage in later:
        if stage.place == "jvm" and plan.conjuncts[stage.conjuncts[0]].registered:
            parts.append([])
        parts[-1].append(stage)
    return parts


def _filter(plan: JoinPlan, stages: list[Stage | None]) -> str:
    """The SQL of a stage for all delta streams."""
    cases = []
    for delta_stream, stage in enumerate(stages):
        texts = [] if stage is None else [f"({plan.conjuncts[number].sql})" for number in stage.conjuncts]
        cases.append(f"WHEN {delta_stream} THEN {' AND '.join(texts) or 'true'}")
    return f"CASE `{DELTA_STREAM}` {' '.join(cases)} END"
