"""`writeStream`: how and where a query runs, like Spark's `DataStreamWriter`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, NoReturn

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from braid.api.missing_methods import WRITER, refuse_attribute
from braid.api.run import Run
from braid.api.triggers import read_trigger
from braid.control.elasticity import Elasticity
from braid.control.ordering import Ordering
from braid.errors import SinkError
from braid.optimizer.exchange import read_exchange
from braid.optimizer.strategies import Strategy
from braid.plan.durations import duration_us
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.spark.batch import scratch_location
from braid.spark.overlap import check_apart
from braid.spark.run.active_runs import require_free_name
from braid.spark.run.execution import start_run
from braid.spark.run.job import Job
from braid.spark.session import Settings, require_unchanged
from braid.spark.sinks.choice import SinkChoice, choose_sink, is_true
from braid.spark.sinks.options import check_options
from braid.spark.storage import qualify

DEFAULT_RETENTION = "7 days"
WITHOUT_CHECKPOINT = ("memory", "console", "noop")


@dataclass(frozen=True)
class Query:
    """The query that a writer runs."""

    spark: SparkSession
    logical_plan: LogicalPlan
    strategy: Strategy
    frames: Sequence[DataFrame]
    schema: StructType
    settings: Settings
    mode: Literal["append", "update"] = "append"
    elasticity: Elasticity | None = None
    ordering: Ordering | None = None
    memory: MemoryLimit | None = None


@dataclass(frozen=True, repr=False)
class Writer:
    """Settings of a run; every method returns a new writer, `start` runs it."""

    _query: Query
    _format: str = "parquet"
    _options: tuple[tuple[str, str], ...] = ()
    _name: str | None = None
    _trigger: tuple[tuple[str, Any], ...] = ()
    _function: Callable[[DataFrame, int], None] | None = None

    def __repr__(self) -> str:
        sink = "foreachBatch" if self._function is not None else self._format
        return f"Writer({', '.join([sink, *(f'{name}={value}' for name, value in self._options)])})"

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(self, name, WRITER)

    def format(self, source: str) -> Writer:
        """`parquet`, `memory`, `console`, `noop`, or any batch format of Spark's."""
        given: object = source
        if not isinstance(given, str) or not given.strip():
            raise SinkError(
                f"A format is a name, but got {source!r}.",
                hint='For example .format("parquet"), "memory", "console", "noop", or a batch format of Spark\'s.',
            )
        return replace(self, _format=source)

    def option(self, key: str, value: Any) -> Writer:
        """An option of Braid (`braid.spark.sinks.options` lists them) or of the format."""
        text = _option_text(key, value)
        kept = tuple((name, old) for name, old in self._options if name.lower() != key.lower())
        return replace(self, _options=(*kept, (key, text)))

    def options(self, **options: Any) -> Writer:
        """Several options at once."""
        writer = self
        for key, value in options.items():
            writer = writer.option(key, value)
        return writer

    def queryName(self, name: str) -> Writer:
        """The name of the run; with format `memory`, also that of its table."""
        given: object = name
        if not isinstance(given, str) or not given.strip():
            raise SinkError(f"A query name is text, but got {name!r}.", hint='For example .queryName("matches").')
        return replace(self, _name=name)

    def trigger(
        self,
        *,
        processingTime: str | timedelta | None = None,
        once: bool | None = None,
        availableNow: bool | None = None,
        **others: Any,
    ) -> Writer:
        """When steps run: at an interval, or until all available rows are processed."""
        return replace(self, _trigger=read_trigger(processingTime, once, availableNow, others))

    def foreachBatch(self, function: Callable[[DataFrame, int], None]) -> Writer:
        """Pass each step's results to a function, with the step's number."""
        if not callable(function):
            raise SinkError(f"foreachBatch needs a function of a DataFrame and a batch id, but got {function!r}.")
        return replace(self, _function=function)

    def outputMode(self, mode: str) -> Writer:
        """`append`: every result once, for joins. `update`: the groups that a step changed, for aggregations."""
        fitting, given = self._query.mode, str(mode)
        if given.lower() != fitting:
            why = "a join, whose results never change" if fitting == "append" else "an aggregation, whose values change"
            raise SinkError(
                f"The output mode {mode!r} does not fit {why}.",
                hint=f'Use .outputMode("{fitting}"), which is the default here.',
            )
        return self

    def start(self, path: str | None = None) -> Run:
        """Run the query."""
        writer = self if path is None else self.option("path", path)
        spark = writer._query.spark
        require_unchanged(spark, writer._query.settings)
        options = {name.lower(): value for name, value in writer._options}
        writer._check(options)
        checkpoint = writer._checkpoint(options)
        require_free_name(spark, writer._name, checkpoint)
        sink = choose_sink(
            spark,
            SinkChoice(writer._format, dict(writer._options), writer._name, writer._function),
            checkpoint,
            writer._query.schema,
            writer._query.logical_plan,
        )
        retention_us = duration_us("The option retention", options.get("retention", DEFAULT_RETENTION))
        job = Job(
            logical_plan=writer._query.logical_plan,
            strategy=writer._query.strategy,
            elasticity=writer._query.elasticity,
            ordering=writer._query.ordering,
            flush_at_end=writer._flush_at_end(options),
            frames=writer._query.frames,
            checkpoint=checkpoint,
            sink=sink,
            trigger=dict(writer._trigger),
            name=writer._name,
            retention_ms=retention_us // 1000,
            accept_changed_functions=is_true("acceptChangedFunctions", options.get("acceptchangedfunctions")),
            exchange=read_exchange(options.get("exchange", "auto")),
            memory=writer._query.memory,
        )
        return Run(start_run(spark, job), writer._name)

    def _check(self, options: dict[str, str]) -> None:
        """Refuse what cannot start, before anything is written."""
        read_exchange(options.get("exchange", "auto"))
        kind = "foreachbatch" if self._function is not None else self._format.lower()
        check_options(kind, [name for name, _ in self._options])
        for name in ("path", "checkpointLocation"):
            if name.lower() in options and not options[name.lower()].strip():
                raise SinkError(f"The option {name} is empty.", hint="Give a directory, as a path or a URI.")
        check_apart(self._query.spark, self._query.frames, options.get("checkpointlocation"), options.get("path"))

    def _flush_at_end(self, options: dict[str, str]) -> bool:
        given = options.get("endofinput", "wait").lower()
        if given not in ("wait", "flush"):
            raise SinkError(
                f"The option endOfInput is 'wait' or 'flush', but got {given!r}.",
                hint="'flush' emits everything at the end of an availableNow run; 'wait' keeps it for the next.",
            )
        return given == "flush"

    def _checkpoint(self, options: dict[str, str]) -> str:
        given = options.get("checkpointlocation")
        if given is not None:
            return qualify(self._query.spark, given, "checkpointLocation")
        if self._function is None and self._format.lower() in WITHOUT_CHECKPOINT:
            return scratch_location(self._query.spark, "checkpoint")
        what = "foreachBatch" if self._function is not None else f"the format {self._format!r}"
        raise SinkError(
            f"A run with {what} needs a checkpointLocation: it is where the query continues after a restart.",
            hint='Add .option("checkpointLocation", "...").',
        )


def _option_text(key: object, value: object) -> str:
    """An option's value as Spark passes it on; SinkError for what has no such form."""
    if not isinstance(key, str) or not key.strip():
        raise SinkError(f"The name of an option is text, but got {key!r}.", hint='For example .option("path", "out").')
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    raise SinkError(
        f"The option {key} has the value {value!r}, but a value is text, a number, a boolean or a path.",
        hint="Leave the option out for its default.",
    )
