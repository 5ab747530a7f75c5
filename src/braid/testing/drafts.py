"""Logical plans written in a few lines, with the types and names that Spark's analyzer would give.

Unless another is given, the selection is every column of every stream, as `stream_column`, and the result time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa

from braid.kernels.expressions.evaluate import can_raise
from braid.kernels.expressions.vectors import ARROW_TYPES as PLAIN_TYPES
from braid.plan.aggregation import Aggregation, Function, Updates
from braid.plan.aggregation import Call as AggregateCall
from braid.plan.explain import render
from braid.plan.expressions import Call, Column, Expression, columns_of, decimal_digits, streams_of
from braid.plan.join import RESULT_TIME
from braid.plan.logical import LogicalPlan, LogicalStream
from braid.plan.predicate import Conjunct, Equality, Output, PythonPredicate, Side
from braid.plan.site_names import Site

TIMESTAMP = pa.timestamp("us", "UTC")
ARROW_TYPES: dict[str, pa.DataType] = {**PLAIN_TYPES, "timestamp": TIMESTAMP}


def arrow_type(type: str) -> pa.DataType:
    """The Arrow type of a column of Spark's simple type."""
    digits = decimal_digits(type)
    return ARROW_TYPES[type] if digits is None else pa.decimal128(*digits)


class DraftStream:
    """A stream of a draft; `stream["column"]` is a column to write predicates with."""

    def __init__(self, logical: LogicalStream) -> None:
        self.logical = logical

    def __getitem__(self, name: str) -> Column:
        flat = f"{self.logical.name}.{name}"
        found = next((column for column in self.logical.columns if column.name == flat), None)
        if found is None:
            known = ", ".join(column.name for column in self.logical.columns)
            raise KeyError(f"the stream {self.logical.name} has no column {name!r}; it has {known}")
        return found

    def schema(self) -> pa.Schema:
        """The schema of the tables a test feeds: plain column names."""
        prefix = len(self.logical.name) + 1
        return pa.schema([field.with_name(field.name[prefix:]) for field in self.logical.schema])


class Draft:
    """A logical plan being written: streams first, then predicates."""

    def __init__(self) -> None:
        self.streams: list[DraftStream] = []
        self._conjuncts: list[Conjunct] = []
        self._selected: dict[str, Column] | None = None
        self._groups: tuple[Column, ...] | None = None
        self._calls: tuple[tuple[Function, tuple[Column, ...]], ...] = ()
        self._over_us: int | None = None
        self._updates: Updates = "batched"
        self._ordered = False

    def stream(
        self,
        name: str,
        columns: Mapping[str, str],
        *,
        window_us: int | None,
        lateness_us: int | None = 0,
        idle_after_ms: int | None = None,
        time: str = "ts",
        window_rows: int | None = None,
        max_ahead_us: int | None = None,
        site: Site | None = None,
    ) -> DraftStream:
        """A stream with the given columns (name to Spark's simple type) and its event time; None: unbounded."""
        number = len(self.streams)
        types = {time: "timestamp", **columns}
        added = DraftStream(
            LogicalStream(
                name=name,
                number=number,
                time=f"{name}.{time}",
                columns=tuple(Column(f"{name}.{column}", number, type) for column, type in types.items()),
                schema=pa.schema([(f"{name}.{column}", arrow_type(type)) for column, type in types.items()]),
                window_us=window_us,
                automatic=False,
                lateness_us=lateness_us,
                idle_after_ms=idle_after_ms,
                window_rows=window_rows,
                max_ahead_us=max_ahead_us,
                site=site,
            )
        )
        self.streams.append(added)
        return added

    def on(self, expression: Expression) -> Draft:
        """Join where the expression is true; several are ANDed."""
        self._conjuncts.append(conjunct(expression))
        return self

    def on_function(
        self,
        function: Callable[..., Any],
        *columns: Column,
        version: str | None = None,
        selectivity: float | None = None,
        cost: float | None = None,
        raises: bool = True,
    ) -> Draft:
        """Join where a Python predicate over arrays of candidates is true."""
        name = getattr(function, "__name__", "function")
        names = tuple(column.name for column in columns)
        predicate = PythonPredicate(function, names, name, selectivity, cost, version)
        self._conjuncts.append(Conjunct(name, name, tuple(dict.fromkeys(columns)), None, raises, function=predicate))
        return self

    def select(self, **columns: Column) -> Draft:
        """The columns of the result, by the names they get there."""
        self._selected = columns
        return self

    def aggregate(
        self,
        groups: Sequence[Column],
        *calls: tuple[Function, tuple[Column, ...]],
        over_us: int | None = None,
        updates: Updates = "batched",
    ) -> Draft:
        """Aggregate the results by group: functions of columns, over all results or an interval of result time."""
        self._groups, self._calls, self._over_us, self._updates = tuple(groups), calls, over_us, updates
        return self

    def distinct(self, *columns: Column) -> Draft:
        """Emit each distinct row of these columns once."""
        self._groups = columns
        return self

    def ordered(self) -> Draft:
        """Emit results in the order of their times."""
        self._ordered = True
        return self

    def logical_plan(self) -> LogicalPlan:
        columns = [column for stream in self.streams for column in stream.logical.columns]
        columns.append(Column(RESULT_TIME, -1, "timestamp"))
        if self._groups is not None:
            columns = [*self._groups, *(column for _, arguments in self._calls for column in arguments)]
            timed = self._ordered or self._over_us is not None
            columns += [Column(RESULT_TIME, -1, "timestamp")] if timed else []
        outputs = [replace(_output(column), name=f"{n}_{column.name}") for n, column in enumerate(columns)]
        if self._groups is None:
            outputs = [_output(column) for column in columns]
        if self._groups is None and self._selected is not None:
            outputs = [replace(_output(column), name=name) for name, column in self._selected.items()]
        if self._ordered and self._groups is None:
            outputs.append(replace(_output(Column(RESULT_TIME, -1, "timestamp")), name="#time"))
        fields = [pa.field(output.name, arrow_type(output.expression.type)) for output in outputs if output.expression]
        aggregation = self._aggregation()
        sink_schema = pa.schema(fields[:-1] if self._ordered else fields)
        if aggregation is not None:
            times = [pa.field(RESULT_TIME, TIMESTAMP)] if self._ordered and self._calls else []
            sink_schema = pa.schema([*aggregation.schema, *times])
        return LogicalPlan(
            aggregation=aggregation,
            ordered=self._ordered,
            streams=tuple(stream.logical for stream in self.streams),
            conjuncts=tuple(self._conjuncts),
            outputs=tuple(outputs),
            output_schema=pa.schema(fields),
            sink_schema=sink_schema,
            time_zone="UTC",
            ansi=True,
            case_sensitive=False,
        )

    def _aggregation(self) -> Aggregation | None:
        if self._groups is None:
            return None
        calls, place = [], len(self._groups)
        for function, arguments in self._calls:
            calls.append(AggregateCall(function, tuple(range(place, place + len(arguments)))))
            place += len(arguments)
        fields = [pa.field(f"{n}_{column.name}", ARROW_TYPES[column.type]) for n, column in enumerate(self._groups)]
        fields += [pa.field(f"{n}_{call[0]}", _call_type(*call)) for n, call in enumerate(self._calls)]
        timed: Literal["result"] | None = "result" if self._ordered or self._over_us is not None else None
        return Aggregation(
            groups=len(self._groups),
            calls=tuple(calls),
            over_us=self._over_us,
            updates=self._updates,
            time_of=timed,
            ansi=True,
            schema=pa.schema(fields),
            bounded_by=self._bounded_by() if self._ordered and not self._calls else None,
            ordered=self._ordered,
        )

    def _bounded_by(self) -> int | Literal["result"] | None:
        names = [column.name for column in self._groups or ()]
        if RESULT_TIME in names:
            return "result"
        return next((s.logical.number for s in self.streams if s.logical.time in names), None)


def _call_type(function: Function, arguments: tuple[Column, ...]) -> pa.DataType:
    if function in ("count", "count_distinct"):
        return pa.int64()
    if function in ("min", "max"):
        return ARROW_TYPES[arguments[0].type]
    whole = function == "sum" and arguments[0].type in ("tinyint", "smallint", "int", "bigint")
    return pa.int64() if whole else pa.float64()


def conjunct(expression: Expression) -> Conjunct:
    """A conjunct as analysis would give it, its equality recognised."""
    text = render(expression)
    return Conjunct(
        written=text,
        sql=text,
        columns=columns_of(expression),
        expression=expression,
        raises=can_raise(expression),
        equality=_equality(expression),
    )


def _equality(expression: Expression) -> Equality | None:
    if not isinstance(expression, Call) or expression.function not in ("eq", "eq_null_safe"):
        return None
    left, right = expression.arguments
    apart = len(streams_of(left)) == len(streams_of(right)) == 1 and streams_of(left) != streams_of(right)
    return Equality(_side(left), _side(right), expression.function == "eq_null_safe") if apart else None


def _side(expression: Expression) -> Side:
    return Side(render(expression), columns_of(expression), expression, expression.type, can_raise(expression))


def _output(column: Column) -> Output:
    columns = () if column.name == RESULT_TIME else (column,)
    return Output(column.name.replace(".", "_"), f"`{column.name}`", columns, column, json.dumps(column.type))
