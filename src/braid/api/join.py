"""`braid.join`: the query as an immutable object; every method returns a new one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import Literal, NoReturn

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from braid.analysis import AnalyzedStream, Analyzer, Grouping, require_few, require_plain
from braid.api.columns import arrow_schema
from braid.api.elastic import read_elasticity, require_scalable
from braid.api.grouped import Grouped
from braid.api.logical_streams import check_alike, check_row_based, logical_stream
from braid.api.memory import deferring, read_memory
from braid.api.missing_methods import JOIN, refuse_arguments, refuse_attribute
from braid.api.ordered import read_ordering
from braid.api.selection import Selection
from braid.api.stream import Stream
from braid.api.udf import Udf
from braid.api.writer import Query, Writer
from braid.control.elasticity import Elasticity
from braid.control.ordering import Ordering, Policy
from braid.engine.explain import explain_query
from braid.errors import QueryError, StreamError
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Auto, Strategy
from braid.plan.aggregation import Updates
from braid.plan.join import JoinPlan
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit, Overflow, Victims
from braid.plan.predicate import Conjunct, Output
from braid.spark.batch import run_batch
from braid.spark.session import Settings, read_settings, require_unchanged, slot_count

REPR_CHARACTERS = 80


@dataclass(frozen=True, repr=False)
class Join:
    """A join of two or more streams. Made by `braid.join`."""

    streams: tuple[Stream, ...]
    settings: Settings
    conjuncts: tuple[Conjunct, ...] = ()
    outputs: tuple[Output, ...] | None = None
    strategy: Strategy = Auto()  # noqa: RUF009 (frozen and without fields)
    grouping: Grouping | None = None
    over_us: int | None = None
    updates: Updates = "batched"
    is_distinct: bool = False
    elasticity: Elasticity | None = None
    ordering: Ordering | None = None
    limits: MemoryLimit | None = None

    def __repr__(self) -> str:
        names = ", ".join(stream.name for stream in self.streams)
        on = " AND ".join(conjunct.written for conjunct in self.conjuncts)
        brief = on if len(on) <= REPR_CHARACTERS else f"{on[:REPR_CHARACTERS]}..."
        return f"Join({names}{' on ' if on else ''}{brief})"

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(self, name, JOIN)

    def on(self, predicate: str | Udf, **others: object) -> Join:
        """Join where the predicate is true; several are ANDed. `where` and `filter` are the same."""
        refuse_arguments(".on", others)
        if isinstance(predicate, Udf):
            found: tuple[Conjunct, ...] = (
                self._analyzer.python_predicate(
                    predicate.function,
                    predicate.columns,
                    predicate.selectivity,
                    predicate.cost,
                    predicate.version,
                    predicate.raises,
                ),
            )
        elif isinstance(predicate, str):
            found = self._analyzer.predicate(predicate)
        else:
            raise QueryError(
                f".on needs a SQL expression or braid.udf(...), but got {type(predicate).__name__}.",
                hint='Write the predicate as text, for example .on("o.id = q.id").',
            )
        require_few(len(self.conjuncts) + len(found))
        return replace(self, conjuncts=(*self.conjuncts, *found))

    where = filter = on

    def select(self, *expressions: str) -> Join:
        """The columns of the result, as Spark SQL expressions."""
        if not expressions:
            raise QueryError(".select needs at least one expression.", hint='For example .select("o.id", "q.price").')
        self._refuse_grouped(".select")
        return replace(self, outputs=self._analyzer.selection(expressions))

    def distinct(self) -> Join:
        """Emit each distinct selected row once, when it first appears."""
        self._refuse_grouped(".distinct")
        for output in self._selection.chosen:
            require_plain(output, f"distinct: {output.name}")
        return replace(self, is_distinct=True)

    def groupBy(self, *expressions: str) -> Grouped:
        """Groups of results, to be aggregated with `.agg`; without expressions all results are one group."""
        self._refuse_grouped(".groupBy")
        if self.is_distinct or self.outputs is not None:
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
                hint="Pass braid.Auto(), braid.Partitioned(...), braid.Biclique(...), braid.TimeSliced(...), "
                "braid.Matrix(...), braid.AlignedRouting(...) or braid.CoordinatedRouting(...).",
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
        """Let the number of units of each subgroup and side follow their memory.

        Every period a subgroup's load is compared with `low` and `high`, shares of the `capacity` of its units. After
        `patience` equal votes in a row it gets as many units as bring it to `target`, within the bounds.
        """
        requested = read_elasticity(
            low=low,
            high=high,
            target=target,
            patience=patience,
            period=period,
            capacity=capacity,
            min_units=min_units,
            max_units=max_units,
        )
        return replace(self, elasticity=requested)

    def memory(
        self,
        limit: str | int = "512m",
        overflow: Overflow = "read-through",
        *,
        spill_at: float = 0.9,
        spill_share: float = 0.3,
        victims: Victims = "unproductive",
        inactive_after: str | timedelta | None = None,
        balance: float = 0.8,
        min_interval: str | timedelta | None = None,
        rate_ratio: float | None = None,
        sample_every: str | timedelta | None = None,
        disk_limit: str | int | None = None,
        cache_limit: str | int | None = None,
    ) -> Join:
        """Bound the memory of each unit: state over the `limit` stays on storage, and is read when it is looked up.

        With `overflow="lazy-disk"` or `"active-disk"`, of a `Partitioned` join, partition groups move to units with
        memory left, or are set aside: results with their stored rows are deferred until they are cleaned up.
        `disk_limit` bounds the checkpoint, `cache_limit` the local copies of remote blocks.
        """
        given = read_memory(
            limit=limit,
            overflow=overflow,
            spill_at=spill_at,
            spill_share=spill_share,
            victims=victims,
            inactive_after=inactive_after,
            balance=balance,
            min_interval=min_interval,
            rate_ratio=rate_ratio,
            sample_every=sample_every,
            disk_limit=disk_limit,
            cache_limit=cache_limit,
        )
        return replace(self, limits=given)

    def ordered(self, policy: Policy = "adaptive", alpha: float = 0.3) -> Join:
        """Emit results in non-decreasing `result_time`, over the whole life of the checkpoint.

        An aggregation emits a row per group and `result_time` at which its values changed, with that time.

        `sync-filter` buffers rows until every stream has reached them, `filter-order` joins at once and buffers
        results, `adaptive` switches between them: to the second while lookups would delay rows by at least `alpha` of
        the time that they wait for the slower stream.
        """
        ordered = replace(self, ordering=read_ordering(policy, alpha))
        ordered._selection.check_names()
        return ordered

    def plan(self) -> JoinPlan:
        """The physical plan; raises errors that only the whole query shows."""
        return self._plan

    def explain(self, stage: str | None = None) -> None:
        """Print the plan: all of it, or one stage (logical, physical, layout)."""
        print(explain_query(self._logical_plan, self._plan, self._placing, slot_count(self._spark), stage, None))

    def batch(self) -> DataFrame:
        """The results of static inputs, as a DataFrame."""
        if self._streaming:
            raise QueryError(
                ".batch() needs static DataFrames, but the streams of this join are streaming.",
                hint="Use .writeStream to run it.",
            )
        require_unchanged(self._spark, self.settings)
        return run_batch(self._spark, self._plan, self.strategy, self._frames, self.schema, self.ordering, self.limits)

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
            logical_plan=self._logical_plan,
            strategy=self._placing,
            frames=self._frames,
            schema=self.schema,
            mode=mode,
            elasticity=self.elasticity,
            ordering=self.ordering,
            settings=self.settings,
            memory=self.limits,
        )
        return Writer(query)

    @property
    def _placing(self) -> Strategy:
        """The strategy, with partition groups where the memory limit needs them."""
        return deferring(self.strategy, self.limits, self._plan)

    @cached_property
    def schema(self) -> StructType:
        """The columns of the result."""
        return self._selection.schema

    @property
    def _analyzer(self) -> Analyzer:
        require_unchanged(self._spark, self.settings)
        return self._built_analyzer

    @cached_property
    def _built_analyzer(self) -> Analyzer:
        return Analyzer(self._spark, [AnalyzedStream(s.name, s.schema, s.time) for s in self.streams])

    def _check_elastic(self) -> None:
        if self.elasticity is not None:
            require_scalable(self.strategy, self.strategy.layout(self._plan, slot_count(self._spark)))

    @cached_property
    def _selection(self) -> Selection:
        return Selection(
            analyzer=self._analyzer,
            streams=self.streams,
            outputs=self.outputs,
            grouping=self.grouping,
            over_us=self.over_us,
            updates=self.updates,
            is_distinct=self.is_distinct,
            ordered=self.ordering is not None,
        )

    def _refuse_grouped(self, verb: str) -> None:
        if self.grouping is not None:
            raise QueryError(
                f"{verb} cannot follow .agg: groups and aggregates are the selection.",
                hint="Work on the emitted rows, with foreachBatch or on the sink's output.",
            )

    @cached_property
    def _plan(self) -> JoinPlan:
        return build_plan(self._logical_plan)

    @cached_property
    def _logical_plan(self) -> LogicalPlan:
        check_row_based(self.streams, self.ordering is not None)
        settings, selection = self.settings, self._selection
        never_late = self.ordering is None and all(stream.window.kind == "unbounded" for stream in self.streams)
        return LogicalPlan(
            streams=tuple(logical_stream(number, stream, never_late) for number, stream in enumerate(self.streams)),
            conjuncts=self.conjuncts,
            outputs=selection.computed,
            output_schema=arrow_schema(selection.computed_schema, settings.case_sensitive),
            sink_schema=arrow_schema(selection.schema, settings.case_sensitive),
            time_zone=settings.time_zone,
            ansi=settings.ansi,
            case_sensitive=settings.case_sensitive,
            aggregation=selection.aggregation(settings.ansi),
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


def join(*streams: Stream, **others: object) -> Join:
    """A windowed join of two or more streams with distinct names."""
    refuse_arguments("braid.join", others)
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
    check_alike(streams)
    return Join(streams, read_settings(streams[0].df.sparkSession))
