"""`braid.join`: the query as an immutable object; every method returns a new one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import Literal

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import ArrayType, MapType, StructField, StructType, _parse_datatype_json_string

from braid.api.elastic import read_elasticity
from braid.api.grouped import Grouped
from braid.api.ordered import read_ordering
from braid.api.stream import Stream
from braid.api.udf import Udf
from braid.api.writer import Query, Writer
from braid.control.elasticity import Elasticity
from braid.control.ordering import Ordering, Policy
from braid.errors import QueryError, StrategyError, StreamError, WindowError
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Auto, Strategy
from braid.plan.expressions import Column
from braid.plan.join import RESULT_TIME, JoinPlan
from braid.plan.predicate import Conjunct, Output
from braid.plan.question import Question, StreamQuestion
from braid.plan.summary import Summary, Updates
from braid.runtime.analysis import AnalyzedStream, Analyzer, Grouping, quote, require_plain
from braid.runtime.analysis.catalyst import braid_type
from braid.runtime.batch import run_batch
from braid.runtime.explaining import explain_query
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
    grouping: Grouping | None = None
    over_us: int | None = None
    updates: Updates = "batched"
    different: bool = False
    elasticity: Elasticity | None = None
    ordering: Ordering | None = None

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
        self._refuse_grouped(".select")
        return replace(self, outputs=self._analyzer.selection(expressions))

    def distinct(self) -> Join:
        """Let each different selected row out once, when it first appears."""
        self._refuse_grouped(".distinct")
        for output in self._chosen_outputs:
            require_plain(output, f"distinct: {output.name}")
        return replace(self, different=True)

    def groupBy(self, *expressions: str) -> Grouped:
        """Groups of results, to be aggregated with `.agg`; without expressions all results are one group."""
        self._refuse_grouped(".groupBy")
        if self.different or self.outputs is not None:
            raise QueryError(
                ".groupBy takes a join without .select and .distinct: groups and aggregates are its selection.",
                hint='For example join.groupBy("o.symbol").agg("count(*) AS n").',
            )
        return Grouped(self, expressions)

    def using(self, strategy: Strategy) -> Join:
        """Run with this strategy."""
        if not hasattr(strategy, "layout"):
            raise QueryError(
                f".using needs a strategy, but got {strategy!r}.",
                hint="Pass braid.Auto(), braid.Partitioned(...), braid.Biclique(...) or braid.Matrix(...).",
            )
        return replace(self, strategy=strategy)

    def elastic(
        self,
        *,
        low: float = 0.3,
        high: float = 0.8,
        target: float = 0.6,
        patience: int = 3,
        period: str | timedelta = "1 minute",
        capacity: str | int = "1g",
        min_units: int = 1,
        max_units: int | None = None,
    ) -> Join:
        """Let the units of each subgroup and side follow their memory.

        Every period a subgroup's load is compared with `low` and `high`, shares of the `capacity` of its units; after
        `patience` equal wishes in a row it gets as many units as bring it to `target`, within the bounds.
        """
        asked = read_elasticity(
            low=low,
            high=high,
            target=target,
            patience=patience,
            period=period,
            capacity=capacity,
            min_units=min_units,
            max_units=max_units,
        )
        return replace(self, elasticity=asked)

    def ordered(self, policy: Policy = "adaptive", alpha: float = 0.3) -> Join:
        """Let results leave in non-decreasing `result_time`, over the whole life of the query.

        Of an aggregation that is a row per group and `result_time` at which its values changed, with that time.

        `sync-filter` holds rows until every stream has reached them, `filter-order` joins at once and holds results,
        `adaptive` changes between them: to the second where lookups take at least `alpha` of the time.
        """
        ordered = replace(self, ordering=read_ordering(policy, alpha))
        _ = ordered._time_of_changes
        return ordered

    def plan(self) -> JoinPlan:
        """What will run; raises what only shows when the query is seen whole."""
        return self._plan

    def explain(self, stage: str | None = None) -> None:
        """Print the plan: all of it, or one stage (question, physical, layout)."""
        print(explain_query(self._question, self._plan, self.strategy, slot_count(self._spark), stage, None))

    def batch(self) -> DataFrame:
        """The answer for static inputs, as a DataFrame."""
        if self._streaming:
            raise QueryError(
                ".batch() needs static DataFrames, but the streams of this join are streaming.",
                hint="Use .writeStream to run it.",
            )
        return run_batch(self._spark, self._plan, self.strategy, self._frames, self.schema, self.ordering)

    @property
    def writeStream(self) -> Writer:
        """How and where to run the query."""
        if not self._streaming:
            raise QueryError(
                ".writeStream needs streaming DataFrames, but the inputs of this join are static.",
                hint="Use .batch() to get the answer as a DataFrame.",
            )
        self.plan()
        self._check_elastic()
        mode: Literal["append", "update"] = "append" if self.grouping is None else "update"
        query = Query(
            spark=self._spark,
            question=self._question,
            strategy=self.strategy,
            frames=self._frames,
            schema=self.schema,
            mode=mode,
            elasticity=self.elasticity,
            ordering=self.ordering,
        )
        return Writer(query)

    @cached_property
    def schema(self) -> StructType:
        """The columns of the result."""
        return _struct([*self._values_of_groups, *self._time_of_changes])

    @cached_property
    def _values_of_groups(self) -> list[tuple[str, str]]:
        """The names and types of what leaves of each group, or of each result."""
        if self.grouping is None:
            return [(output.name, output.type_json) for output in self._chosen_outputs]
        groups = [(output.name, output.type_json) for output in self.grouping.groups]
        return [*groups, *zip(self.grouping.names, self.grouping.types_json, strict=True)]

    @cached_property
    def _time_of_changes(self) -> list[tuple[str, str]]:
        """The last column of an ordered aggregation: the result time at which the values of a group became these."""
        if self.grouping is None or self.ordering is None:
            return []
        if any(name.lower() == RESULT_TIME for name, _ in self._values_of_groups):
            raise QueryError(
                f"An ordered aggregation has a column {RESULT_TIME} of its own, and another one has this name.",
                hint=f"Rename the other, as in .groupBy('{RESULT_TIME} AS time').",
            )
        return [(RESULT_TIME, self._time_output[0].type_json)]

    @cached_property
    def _analyzer(self) -> Analyzer:
        return Analyzer(self._spark, [AnalyzedStream(s.name, s.schema, s.time) for s in self.streams])

    @cached_property
    def _chosen_outputs(self) -> tuple[Output, ...]:
        return self._analyzer.default_selection() if self.outputs is None else self.outputs

    @cached_property
    def _selected(self) -> tuple[Output, ...]:
        """What probe tasks compute of a result: what leaves, or what a summary is made of."""
        if self.grouping is None:
            return (*self._chosen_outputs, *self._time_output)
        return (*self.grouping.groups, *self.grouping.arguments, *self._time_output)

    @cached_property
    def _time_of(self) -> int | Literal["result"] | None:
        """Whose time results carry: their own, for their order or a summary, or one by which a row is forgotten."""
        return "result" if self.ordering is not None or self.over_us is not None else self._bounded_by

    @cached_property
    def _bounded_by(self) -> int | Literal["result"] | None:
        """Whose time, among the selected columns, bounds how long a distinct row may come again."""
        if not self.different:
            return None
        read = {o.expression.name for o in self._chosen_outputs if isinstance(o.expression, Column)}
        if RESULT_TIME in read:
            return "result"
        return next((n for n, stream in enumerate(self.streams) if f"{stream.name}.{stream.time}" in read), None)

    @cached_property
    def _time_output(self) -> tuple[Output, ...]:
        if self._time_of is None:
            return ()
        text = RESULT_TIME
        if self._time_of != "result":
            stream = self.streams[self._time_of]
            text = f"{quote(stream.name)}.{quote(stream.time)}"
        return self._analyzer.selection((f"{text} AS `#time`",))

    @cached_property
    def _summary(self) -> Summary | None:
        if self.grouping is None and not self.different:
            return None
        return Summary(
            groups=len(self._chosen_outputs) if self.grouping is None else len(self.grouping.groups),
            calls=() if self.grouping is None else self.grouping.calls,
            over_us=self.over_us,
            updates=self.updates,
            time_of=self._time_of,
            ansi=read_settings(self._spark).ansi,
            schema=_arrow_schema(_struct(self._values_of_groups)),
            bounded_by=self._bounded_by,
            ordered=self.ordering is not None,
        )

    def _check_elastic(self) -> None:
        if self.elasticity is None:
            return
        layout = self.strategy.layout(self._plan, slot_count(self._spark))
        if layout.kind != "biclique":
            raise StrategyError(
                f".elastic scales the sides of a biclique, but {self.strategy.describe()} is {layout.kind} here.",
                hint='Use .using(braid.Biclique(...)), with routing="contrand" for joins on an equality.',
            )

    def _check_counted(self) -> None:
        """Refuse windows that count rows where their order is not known, or has no meaning."""
        counted = [stream for stream in self.streams if stream.window.kind == "rows"]
        if counted and self._streaming and self.ordering is None:
            raise WindowError(
                f"The window of stream {counted[0].name!r} counts rows in the order of event time, but the results of "
                "this join leave in no order.",
                hint="Add .ordered() to the join, or give the stream a window of time.",
            )
        for stream in counted:
            for field in stream.schema.fields:
                if isinstance(field.dataType, ArrayType | MapType | StructType):
                    raise WindowError(
                        f"The window of stream {stream.name!r} counts rows, and rows of one time are ordered by their "
                        f"values, but {field.name} has type {field.dataType.simpleString()}.",
                        hint="Select columns of plain types before braid.stream.",
                    )

    def _refuse_grouped(self, verb: str) -> None:
        if self.grouping is not None:
            raise QueryError(
                f"{verb} cannot follow .agg: groups and aggregates are the selection.",
                hint="Work on the rows that leave, with foreachBatch or on what the sink holds.",
            )

    @cached_property
    def _plan(self) -> JoinPlan:
        return build_plan(self._question)

    @cached_property
    def _question(self) -> Question:
        self._check_counted()
        settings = read_settings(self._spark)
        everlasting = self.ordering is None and all(stream.window.kind == "unbounded" for stream in self.streams)
        return Question(
            streams=tuple(_question(number, stream, everlasting) for number, stream in enumerate(self.streams)),
            conjuncts=self.conjuncts,
            outputs=self._selected,
            output_schema=_arrow_schema(_struct((output.name, output.type_json) for output in self._selected)),
            leaving=_arrow_schema(self.schema),
            time_zone=settings.time_zone,
            ansi=settings.ansi,
            case_sensitive=settings.case_sensitive,
            summary=self._summary,
            ordered=self.ordering is not None,
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


def _struct(fields: Iterable[tuple[str, str]]) -> StructType:
    return StructType([StructField(name, _parse_datatype_json_string(type_json), True) for name, type_json in fields])


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
        window_rows=stream.window.count,
        automatic=stream.window.kind == "auto",
        lateness_us=lateness_us,
        idle_after_ms=stream.idle_after_ms,
    )


def _type_name(field: StructField) -> str:
    return field.dataType.simpleString()
