"""`braid.join`: the query as an immutable object; every method returns a new one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import StructField, StructType, _parse_datatype_json_string

from braid.api.stream import Stream
from braid.api.udf import Udf
from braid.api.writer import Query, Writer
from braid.errors import QueryError, StrategyError, StreamError
from braid.optimizer.build import build_plan
from braid.optimizer.sequences import build_sequence, choose_orders
from braid.optimizer.strategies import STRATEGIES, Auto, Strategy
from braid.plan.explain import Chosen, explain
from braid.plan.expressions import Column
from braid.plan.join import JoinPlan
from braid.plan.predicate import Conjunct, Output
from braid.plan.question import Question, StreamQuestion
from braid.runtime.analysis import AnalyzedStream, Analyzer
from braid.runtime.analysis.catalyst import braid_type
from braid.runtime.batch import run_batch
from braid.runtime.session import read_settings, slot_count
from braid.runtime.transport import with_spark_types

SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"


@dataclass(frozen=True)
class Join:
    """A join of two or more streams. Made by `braid.join`."""

    streams: tuple[Stream, ...]
    conjuncts: tuple[Conjunct, ...] = ()
    outputs: tuple[Output, ...] | None = None
    strategy: Strategy = Auto()  # noqa: RUF009 (frozen and without fields)

    def on(self, predicate: str | Udf) -> Join:
        """Join where the predicate is true; several are ANDed."""
        if isinstance(predicate, Udf):
            found: tuple[Conjunct, ...] = (
                self._analyzer.python_predicate(
                    predicate.function, predicate.columns, predicate.selectivity, predicate.cost
                ),
            )
        elif isinstance(predicate, str):
            found = self._analyzer.predicate(predicate)
        else:
            raise QueryError(
                f".on needs a SQL expression or braid.udf(...), but got {type(predicate).__name__}.",
                hint='Write the predicate as text, for example .on("o.id = q.id").',
            )
        return replace(self, conjuncts=(*self.conjuncts, *found))

    def select(self, *expressions: str) -> Join:
        """The columns of the result, as Spark SQL expressions."""
        if not expressions:
            raise QueryError(".select needs at least one expression.", hint='For example .select("o.id", "q.price").')
        return replace(self, outputs=self._analyzer.selection(expressions))

    def using(self, strategy: Strategy) -> Join:
        """Run with this strategy."""
        if not hasattr(strategy, "layout"):
            raise QueryError(
                f".using needs a strategy, but got {strategy!r}.",
                hint="Pass braid.Auto(), braid.Partitioned(...) or braid.Biclique(...).",
            )
        return replace(self, strategy=strategy)

    def plan(self) -> JoinPlan:
        """What will run; raises what only shows when the query is seen whole."""
        return self._plan

    def explain(self, stage: str | None = None) -> None:
        """Print the plan: all of it, or one stage (question, physical, layout)."""
        orders = choose_orders(self._plan, ())
        sequences = [build_sequence(self._plan, head, order) for head, order in enumerate(orders)]
        print(explain(self._question, self._plan, sequences, self._chosen(), stage))

    def _chosen(self) -> Chosen:
        slots = slot_count(self._spark)
        others = []
        for other in (kind() for kind in STRATEGIES if not isinstance(self.strategy, kind)):
            try:
                others.append(f"possible: {other.describe()}: {other.layout(self._plan, slots).kind}")
            except StrategyError as refusal:
                others.append(f"refused: {other.describe()}: {refusal.message}")
        return Chosen(self.strategy.describe(), self.strategy.layout(self._plan, slots), slots, tuple(others))

    def batch(self) -> DataFrame:
        """The answer for static inputs, as a DataFrame."""
        if self._streaming:
            raise QueryError(
                ".batch() needs static DataFrames, but the streams of this join are streaming.",
                hint="Use .writeStream to run it.",
            )
        return run_batch(self._spark, self._plan, self.strategy, self._frames, self.schema)

    @property
    def writeStream(self) -> Writer:
        """How and where to run the query."""
        if not self._streaming:
            raise QueryError(
                ".writeStream needs streaming DataFrames, but the inputs of this join are static.",
                hint="Use .batch() to get the answer as a DataFrame.",
            )
        self.plan()
        return Writer(Query(self._spark, self._question, self.strategy, self._frames, self.schema))

    @cached_property
    def schema(self) -> StructType:
        """The columns of the result."""
        fields = [
            StructField(output.name, _parse_datatype_json_string(output.type_json), True) for output in self._selected
        ]
        return StructType(fields)

    @cached_property
    def _analyzer(self) -> Analyzer:
        return Analyzer(self._spark, [AnalyzedStream(s.name, s.schema, s.time) for s in self.streams])

    @cached_property
    def _selected(self) -> tuple[Output, ...]:
        return self._analyzer.default_selection() if self.outputs is None else self.outputs

    @cached_property
    def _plan(self) -> JoinPlan:
        return build_plan(self._question)

    @cached_property
    def _question(self) -> Question:
        settings = read_settings(self._spark)
        everlasting = all(stream.window.kind == "unbounded" for stream in self.streams)
        return Question(
            streams=tuple(_question(number, stream, everlasting) for number, stream in enumerate(self.streams)),
            conjuncts=self.conjuncts,
            outputs=self._selected,
            output_schema=_arrow_schema(self.schema),
            time_zone=settings.time_zone,
            ansi=settings.ansi,
            case_sensitive=settings.case_sensitive,
        )

    @property
    def _spark(self) -> SparkSession:
        return self.streams[0].df.sparkSession

    @property
    def _streaming(self) -> bool:
        return bool(self.streams[0].df.isStreaming)

    @property
    def _frames(self) -> tuple[DataFrame, ...]:
        return tuple(stream.df for stream in self.streams)


def join(*streams: Stream) -> Join:
    """A windowed join of two or more streams with distinct names."""
    if len(streams) < 2:
        raise QueryError(f"braid.join needs at least two streams, but got {len(streams)}.")
    for stream in streams:
        if not isinstance(stream, Stream):
            raise QueryError(
                f"braid.join takes streams, but got {type(stream).__name__}.",
                hint='Wrap the DataFrame: braid.stream("o", df, time="ts", window="10 minutes").',
            )
    names = [stream.name.lower() for stream in streams]
    repeated = sorted({stream.name for stream in streams if names.count(stream.name.lower()) > 1})
    if repeated:
        raise StreamError(
            f"The streams of a join need distinct names, but {', '.join(map(repr, repeated))} occurs more than once.",
            hint="Give each stream its own name, also where two read the same source.",
        )
    _check_alike(streams)
    return Join(streams)


def _check_alike(streams: tuple[Stream, ...]) -> None:
    """All streaming or all static, of one session, with event times of one type."""
    kinds = {stream.df.isStreaming for stream in streams}
    if len(kinds) > 1:
        static = [stream.name for stream in streams if not stream.df.isStreaming]
        raise StreamError(
            f"A join takes streaming inputs or static ones, not both; static here: {', '.join(static)}.",
            hint="Read all of them with spark.readStream, or all with spark.read.",
        )
    times = {stream.schema[stream.time].dataType.simpleString() for stream in streams}
    if len(times) > 1:
        found = ", ".join(f"{s.name}.{s.time} {s.schema[s.time].dataType.simpleString()}" for s in streams)
        raise StreamError(
            f"The event times of a join must have one type, but are {found}.",
            hint="Cast one of them, for example with df.withColumn(..., col(...).cast('timestamp')).",
        )


def _arrow_schema(schema: StructType) -> pa.Schema:
    """The result's columns for Arrow, with Spark's own schema beside them, which its Parquet reader prefers."""
    for field in schema.fields:
        try:
            to_arrow_type(field.dataType, timezone="UTC")
        except (PySparkTypeError, ValueError) as error:
            raise QueryError(
                f"The selection {field.name!r} has type {field.dataType.simpleString()}, which Arrow cannot hold.",
                hint="Cast it in the selection to a type that Arrow has.",
            ) from error
    return to_arrow_schema(schema, timezone="UTC").with_metadata({SPARK_SCHEMA: schema.json().encode()})


def _question(number: int, stream: Stream, everlasting: bool) -> StreamQuestion:
    fields = [StructField(f"{stream.name}.{field.name}", field.dataType, True) for field in stream.schema.fields]
    lateness_us = stream.lateness_us if stream.lateness_given or not everlasting else None
    return StreamQuestion(
        name=stream.name,
        number=number,
        time=f"{stream.name}.{stream.time}",
        columns=tuple(Column(field.name, number, braid_type(_type_name(field))) for field in fields),
        schema=with_spark_types(to_arrow_schema(StructType(fields), timezone="UTC"), StructType(fields)),
        window_us=stream.window.duration_us,
        automatic=stream.window.kind == "auto",
        lateness_us=lateness_us,
        idle_after_ms=stream.idle_after_ms,
    )


def _type_name(field: StructField) -> str:
    return field.dataType.simpleString()
