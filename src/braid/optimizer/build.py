"""From the logical plan to the physical plan: the rules in their order.

order conjuncts      conjuncts on one stream come first: they guard those on more streams
push selections      a conjunct on one stream that cannot raise is evaluated at ingest
gather key parts     equalities become classes of sides that are equal in every result
bound retention      how long a row may wait for a partner, from windows and comparisons of event times
prune columns        only columns that a conjunct or the selection still reads are stored
require columns      a row with a null that no result can have is not stored
choose indexes       how each stream's rows are sorted
choose routing       which number of a stream its rows are routed by, where a layout has ranges
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from braid.optimizer.indexes import build_indexes
from braid.optimizer.keys import build_parts, common_part
from braid.optimizer.retention import Bounds, check_auto_windows, derive_bounds
from braid.optimizer.routing import routing_number
from braid.plan.expressions import Call, Column, Expression, columns_of
from braid.plan.join import JoinPlan, KeyPart, StreamPlan, id_column
from braid.plan.logical import LogicalPlan, LogicalStream
from braid.plan.predicate import Conjunct

COMPARISONS = frozenset({"eq", "lt", "le", "gt", "ge"})
STRICT = frozenset({"add", "subtract", "multiply", "divide", "remainder", "negate", "abs", "sqrt", "cast"})


def build_plan(logical_plan: LogicalPlan, pushdown: bool = True) -> JoinPlan:
    """The physical plan; without `pushdown` every conjunct is evaluated on joined rows."""
    logical_plan = replace(logical_plan, conjuncts=_own_first(logical_plan.conjuncts))
    streams, conjuncts = logical_plan.streams, logical_plan.conjuncts
    pushed = tuple(_pushed(conjuncts, stream.number) if pushdown else () for stream in streams)
    parts = build_parts(conjuncts)
    bounds = derive_bounds([s.time_column for s in streams], [s.window_us for s in streams], conjuncts)
    check_auto_windows([s.name for s in streams], [s.automatic for s in streams], bounds)
    plans = tuple(_stream_plan(logical_plan, stream, parts, pushed[stream.number], bounds) for stream in streams)
    return JoinPlan(
        streams=plans,
        conjuncts=conjuncts,
        pushed=pushed,
        parts=parts,
        outputs=logical_plan.outputs,
        retention_us=bounds,
        common_part=common_part(parts, len(streams)),
        time_zone=logical_plan.time_zone,
        schemas=tuple(_stored_schema(s, plan, parts) for s, plan in zip(streams, plans, strict=True)),
        output_schema=logical_plan.output_schema,
        sink_schema=logical_plan.sink_schema,
        aggregation=logical_plan.aggregation,
        ordered=logical_plan.ordered,
    )


def _own_first(conjuncts: tuple[Conjunct, ...]) -> tuple[Conjunct, ...]:
    """Conjuncts on one stream before those on more streams; otherwise as written.

    Spark filters the sides of a join before it evaluates the condition, so such a conjunct also guards those written
    before it.
    """
    return tuple(sorted(conjuncts, key=lambda conjunct: len(conjunct.streams) > 1))


def _pushed(conjuncts: tuple[Conjunct, ...], stream: int) -> tuple[int, ...]:
    return tuple(
        number
        for number, conjunct in enumerate(conjuncts)
        if conjunct.streams == {stream} and not conjunct.raises and conjunct.function is None
    )


def _stream_plan(
    logical_plan: LogicalPlan,
    stream: LogicalStream,
    parts: tuple[KeyPart, ...],
    pushed: tuple[int, ...],
    bounds: Bounds,
) -> StreamPlan:
    number = stream.number
    return StreamPlan(
        name=stream.name,
        number=number,
        time=stream.time,
        columns=_needed(logical_plan, stream, pushed),
        window_us=stream.window_us,
        lateness_us=stream.lateness_us,
        idle_after_ms=stream.idle_after_ms,
        required=_required(logical_plan.conjuncts, parts, number),
        indexes=build_indexes(number, stream.time_column, parts, logical_plan.conjuncts, bounds),
        window_rows=stream.window_rows,
        max_ahead_us=stream.max_ahead_us,
        routing=routing_number(number, len(logical_plan.streams), stream.time_column, logical_plan.conjuncts),
        site=stream.site,
    )


def _needed(logical_plan: LogicalPlan, stream: LogicalStream, pushed: tuple[int, ...]) -> tuple[Column, ...]:
    """The columns that are read after ingest, in the stream's own order."""
    read = {stream.time}
    for number, conjunct in enumerate(logical_plan.conjuncts):
        if number not in pushed:
            read |= {column.name for column in conjunct.columns}
    for output in logical_plan.outputs:
        read |= {column.name for column in output.columns}
    return tuple(column for column in stream.columns if column.name in read)


def _required(conjuncts: tuple[Conjunct, ...], parts: tuple[KeyPart, ...], stream: int) -> tuple[str, ...]:
    """Columns whose NULL makes a conjunct NULL, and the hashes of key parts that must not be NULL."""
    names: dict[str, None] = {}
    for conjunct in conjuncts:
        if conjunct.expression is not None:
            for column in _strict_columns(conjunct.expression):
                if column.stream == stream:
                    names[column.name] = None
    for part in parts:
        hashed = part.hash_column(stream)
        if hashed is not None and not part.null_safe:
            names[hashed] = None
    return tuple(names)


def _strict_columns(expression: Expression) -> list[Column]:
    """The columns that are never NULL in a row for which the expression is true."""
    if not isinstance(expression, Call):
        return [expression] if isinstance(expression, Column) else []
    if expression.function == "and":
        return [column for argument in expression.arguments for column in _strict_columns(argument)]
    if expression.function in COMPARISONS:
        return [column for argument in expression.arguments if _is_strict(argument) for column in columns_of(argument)]
    return []


def _is_strict(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return True
    return expression.function in STRICT and all(_is_strict(argument) for argument in expression.arguments)


def _stored_schema(stream: LogicalStream, plan: StreamPlan, parts: tuple[KeyPart, ...]) -> pa.Schema:
    fields = [stream.schema.field(column.name) for column in plan.columns]
    columns = dict.fromkeys(part.hash_column(stream.number) for part in parts)
    hashes = [pa.field(name, pa.int64()) for name in columns if name is not None]
    ids = [] if stream.window_rows is None else [pa.field(id_column(stream.number), pa.int64())]
    return pa.schema([*fields, *hashes, *ids])
