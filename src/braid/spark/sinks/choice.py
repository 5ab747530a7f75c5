"""From a writer's format and options to a sink."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from braid.analysis.catalyst import quiet
from braid.engine.locations import Locations
from braid.engine.sinks import STAGING, DiscardSink, FileSink, Sink
from braid.engine.tasks.stamping import with_step
from braid.errors import SinkError
from braid.plan.logical import LogicalPlan
from braid.spark.sinks.frames import FrameSink
from braid.spark.sinks.options import GENERAL
from braid.spark.sinks.paths import OutputPath
from braid.spark.sinks.step_columns import choose_step_column, hidden_step_column, latest_of_groups
from braid.spark.storage import prove_shared, qualify, read_parquet
from braid.state.files import locate

WHOLE = re.compile(r"[0-9]{1,9}")
COMPRESSIONS = ("snappy", "none", "uncompressed", "gzip", "zstd", "lz4", "brotli")


@dataclass(frozen=True)
class SinkChoice:
    """The writer's settings."""

    format: str
    options: dict[str, str]
    name: str | None
    function: Callable[[DataFrame, int], None] | None

    def option(self, name: str) -> str | None:
        return next((value for key, value in self.options.items() if key.lower() == name.lower()), None)


@dataclass(frozen=True)
class ChosenSink:
    """Where tasks write, and a factory of the sink: by the query's id, and whether nothing is stored yet."""

    locations: Locations
    make: Callable[[str, bool], Sink]
    path: OutputPath | None = None

    def require_own(self, query: str) -> None:
        """Before anything is written: refuse a path that contains something else."""
        if self.path is not None:
            self.path.require_own(query)


def choose_sink(
    spark: SparkSession,
    choice: SinkChoice,
    checkpoint: str,
    schema: StructType,
    logical_plan: LogicalPlan,
) -> ChosenSink:
    """The sink of a run; SinkError if the choice is incomplete."""
    kind = "foreachbatch" if choice.function is not None else choice.format.lower()
    step_column = choose_step_column(
        kind, choice.option("stepColumn"), schema, logical_plan.aggregation, logical_plan.case_sensitive
    )
    if kind == "parquet":
        return _parquet(spark, choice, checkpoint, logical_plan.sink_schema, step_column)
    if kind == "memory":
        return _memory(spark, choice, checkpoint, schema, logical_plan)
    if kind == "noop":
        files, _ = locate(checkpoint)
        return ChosenSink(Locations(checkpoint, checkpoint, "none", discard=True), lambda *_: DiscardSink(files))
    function = choice.function or _frame_function(choice, step_column)
    files, path = locate(checkpoint)
    staging = f"{checkpoint}/results"
    return ChosenSink(
        Locations(checkpoint, staging, "none", timed=logical_plan.ordered),
        lambda *_: FrameSink(spark, schema, files, f"{path}/results", staging, function, logical_plan.ordered),
    )


def is_true(name: str, given: str | None) -> bool:
    """An option that is true or false; false where it is not given."""
    if given is not None and given.lower() not in ("true", "false"):
        raise SinkError(f"The option {name} is true or false, but got {given!r}.", hint=f'.option("{name}", True)')
    return given is not None and given.lower() == "true"


def _parquet(
    spark: SparkSession, choice: SinkChoice, checkpoint: str, sink_schema: pa.Schema, step_column: str | None
) -> ChosenSink:
    given = choice.option("path")
    if given is None:
        raise SinkError(
            'The format "parquet" needs a path for its files.',
            hint='Add .option("path", "...") or call .start("...").',
        )
    compression = (choice.option("compression") or "snappy").lower()
    if compression not in COMPRESSIONS:
        raise SinkError(
            f"The compression {compression!r} is not known for Parquet.", hint=f"Use one of {', '.join(COMPRESSIONS)}."
        )
    location = qualify(spark, given, "path")
    prove_shared(spark, location, "path")
    files, path = locate(location)
    compression = "none" if compression == "uncompressed" else compression
    # Another query may write to the same path; its start must not sweep the staged files of this one.
    staging = f"{STAGING}/{hashlib.sha256(checkpoint.encode()).hexdigest()[:16]}"

    written = sink_schema if step_column is None else with_step(sink_schema, step_column)

    output = OutputPath(files, path, location, checkpoint, is_true("sharedPath", choice.option("sharedPath")))

    def make(query: str, is_first: bool) -> Sink:
        output.claim(query)
        publish_schema(location, query, written, is_first)
        return FileSink(files, path, query, staging=staging)

    locations = Locations(checkpoint, f"{location}/{staging}", compression, step_column=step_column)
    return ChosenSink(locations, make, output)


def _memory(
    spark: SparkSession, choice: SinkChoice, checkpoint: str, schema: StructType, logical_plan: LogicalPlan
) -> ChosenSink:
    """A table of all results; of an aggregation, of the latest row of each group."""
    name = choice.name
    if name is None:
        raise SinkError(
            'The format "memory" needs a name for its table.',
            hint='Add .queryName("..."), then read spark.table("...").',
        )
    _require_view_name(spark, name)
    location = f"{checkpoint}/memory"
    files, path = locate(location)
    aggregation = logical_plan.aggregation
    groups = None if aggregation is None or aggregation.is_distinct else aggregation.groups
    step_column = None if groups is None else hidden_step_column(schema)
    written = logical_plan.sink_schema if step_column is None else with_step(logical_plan.sink_schema, step_column)
    read = schema if step_column is None else StructType([*schema.fields, StructField(step_column, LongType())])

    def refresh() -> None:
        rows = read_parquet(spark, location, schema=read)
        table = rows if groups is None else latest_of_groups(rows, groups, logical_plan.ordered)
        table.createOrReplaceTempView(name)

    def make(query: str, is_first: bool) -> Sink:
        publish_schema(location, query, written, is_first)
        refresh()
        return FileSink(files, path, query, refresh)

    return ChosenSink(Locations(checkpoint, f"{location}/{STAGING}", "none", step_column=step_column), make)


def publish_schema(location: str, query: str, schema: pa.Schema, is_first: bool) -> None:
    """A file without rows, so that the table can be read before it has any; SinkError if it has other columns.

    If nothing is stored yet, an existing file was left by a failed start, maybe of a query with other columns.
    """
    files, path = locate(location)
    target = f"{path}/part-{query[:8]}.parquet"
    before = pq.read_schema(pa.BufferReader(files.read(target))).names if files.exists(target) else None
    if before is not None and before != schema.names and is_first:
        files.delete(target)
        before = None
    if before is None:
        buffer = pa.BufferOutputStream()
        pq.write_table(schema.empty_table(), buffer)
        try:
            files.write_new(target, buffer.getvalue().to_pybytes())
        except FileExistsError:  # of another run of the query, which started at the same moment
            publish_schema(location, query, schema, is_first=False)
    elif before != schema.names:
        raise SinkError(
            f"The files in {location} have the columns {', '.join(before)}, but now they would have "
            f"{', '.join(schema.names)}.",
            hint="Give the stepColumn that the query had, or another path.",
        )


def _frame_function(choice: SinkChoice, step_column: str | None) -> Callable[[DataFrame, int], None]:
    if choice.format.lower() == "console":
        rows, truncate = _shown_rows(choice), _shown_width(choice)

        def show(frame: DataFrame, step: int) -> None:
            print(f"{'-' * 43}\nStep: {step}\n{'-' * 43}")
            frame.show(rows, truncate)

        return show
    options = {key: value for key, value in choice.options.items() if key.lower() not in GENERAL}
    path = choice.option("path")

    def write(frame: DataFrame, step: int) -> None:
        if step_column is not None:
            frame = frame.withColumn(step_column, sf.lit(step).cast("long"))
        frame.write.format(choice.format).options(**options).mode("append").save(path)

    return write


def _shown_rows(choice: SinkChoice) -> int:
    given = choice.option("numRows") or "20"
    if not WHOLE.fullmatch(given):
        raise SinkError(f"The option numRows is a whole number, but got {given!r}.", hint='For example "20".')
    return int(given)


def _shown_width(choice: SinkChoice) -> bool | int:
    given = (choice.option("truncate") or "true").lower()
    if given in ("true", "false"):
        return given == "true"
    if not WHOLE.fullmatch(given):
        raise SinkError(
            f"The option truncate is true, false or a number of characters, but got {given!r}.",
            hint="With true, the default, values are cut after 20 characters.",
        )
    return int(given)


def _require_view_name(spark: SparkSession, name: str) -> None:
    """Refuse an invalid name of a temporary view, before anything is written."""
    parser: Any = spark._jsparkSession.sessionState().sqlParser()
    try:
        with quiet():
            parts = parser.parseMultipartIdentifier(name)
        plain = int(parts.size()) == 1
    except PySparkException:
        plain = False
    if not plain:
        raise SinkError(
            f'The name {name!r} cannot be that of a table of the format "memory".',
            hint="Use letters, digits and underscores in .queryName, without a database.",
        )
