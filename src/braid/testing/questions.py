"""Questions written in a few lines, with the types and names that Spark's analyzer would have given.

The selection is every column of every stream, as `stream_column`, and the result time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from braid.kernels.evaluate import can_raise
from braid.plan.explain import render
from braid.plan.expressions import Call, Column, Expression, columns_of, streams_of
from braid.plan.join import RESULT_TIME
from braid.plan.predicate import Conjunct, Equality, Output, PythonPredicate, Side
from braid.plan.question import Question, StreamQuestion

TIMESTAMP = pa.timestamp("us", "UTC")
ARROW_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": TIMESTAMP,
}


class DraftStream:
    """A stream of a draft; `stream["column"]` is a column to write predicates with."""

    def __init__(self, question: StreamQuestion) -> None:
        self.question = question

    def __getitem__(self, name: str) -> Column:
        flat = f"{self.question.name}.{name}"
        found = next((column for column in self.question.columns if column.name == flat), None)
        if found is None:
            known = ", ".join(column.name for column in self.question.columns)
            raise KeyError(f"the stream {self.question.name} has no column {name!r}; it has {known}")
        return found

    def schema(self) -> pa.Schema:
        """The schema of the tables a test feeds: plain column names."""
        prefix = len(self.question.name) + 1
        return pa.schema([field.with_name(field.name[prefix:]) for field in self.question.schema])


class Draft:
    """A question being written: streams first, then predicates."""

    def __init__(self) -> None:
        self.streams: list[DraftStream] = []
        self._conjuncts: list[Conjunct] = []

    def stream(
        self,
        name: str,
        columns: Mapping[str, str],
        *,
        window_us: int | None,
        lateness_us: int | None = 0,
        idle_after_ms: int | None = None,
        time: str = "ts",
    ) -> DraftStream:
        """A stream with the given columns (name to Spark's simple type) and its event time; None: unbounded."""
        number = len(self.streams)
        types = {time: "timestamp", **columns}
        added = DraftStream(
            StreamQuestion(
                name=name,
                number=number,
                time=f"{name}.{time}",
                columns=tuple(Column(f"{name}.{column}", number, type) for column, type in types.items()),
                schema=pa.schema([(f"{name}.{column}", ARROW_TYPES[type]) for column, type in types.items()]),
                window_us=window_us,
                automatic=False,
                lateness_us=lateness_us,
                idle_after_ms=idle_after_ms,
            )
        )
        self.streams.append(added)
        return added

    def on(self, expression: Expression) -> Draft:
        """Join where the expression is true; several are ANDed."""
        self._conjuncts.append(conjunct(expression))
        return self

    def on_function(self, function: Callable[..., Any], *columns: Column) -> Draft:
        """Join where a Python predicate over arrays of candidates is true."""
        name = getattr(function, "__name__", "function")
        predicate = PythonPredicate(function, tuple(column.name for column in columns), name, None, None)
        self._conjuncts.append(Conjunct(name, name, tuple(dict.fromkeys(columns)), None, True, function=predicate))
        return self

    def question(self) -> Question:
        outputs = [_output(column) for stream in self.streams for column in stream.question.columns]
        outputs.append(_output(Column(RESULT_TIME, -1, "timestamp")))
        fields = [pa.field(output.name, ARROW_TYPES[output.expression.type]) for output in outputs if output.expression]
        return Question(
            streams=tuple(stream.question for stream in self.streams),
            conjuncts=tuple(self._conjuncts),
            outputs=tuple(outputs),
            output_schema=pa.schema(fields),
            time_zone="UTC",
            ansi=True,
            case_sensitive=False,
        )


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
