"""The fingerprint of a query: names, order and types of everything that a checkpoint stores.

Strategy, units, interleave, memory limit, ordering policy, trigger, retention and sink options are not part of it: they
may change. Every recorded difference is found by `differences.py`, and refused.
"""

from __future__ import annotations

import json
from typing import Any

import xxhash

from braid.engine.restart.function_digest import function_record
from braid.optimizer.join_orders import build_probe
from braid.plan.aggregation import Aggregation, Call
from braid.plan.explain import render
from braid.plan.expressions import Column
from braid.plan.join import JoinPlan, StreamPlan
from braid.plan.logical import LogicalPlan, LogicalStream
from braid.plan.predicate import Conjunct, Output

FORMAT = 6


def fingerprint(logical_plan: LogicalPlan, plan: JoinPlan, pushdown: bool) -> dict[str, Any]:
    """Everything that must stay the same to continue a checkpoint, and how its rows are stored.

    Ordered data is a list: the keys of a record are sorted when it is written.
    """
    return {
        "query": {
            "format": FORMAT,
            "streams": {stream.name: _stream(logical_plan, stream) for stream in logical_plan.streams},
            "predicates": [_predicate(conjunct) for conjunct in logical_plan.conjuncts],
            **_selection(logical_plan),
            **({"order": "by result time"} if logical_plan.ordered else {}),
            "settings": {
                "time zone": logical_plan.time_zone,
                "ANSI mode": logical_plan.ansi,
                "case sensitivity": logical_plan.case_sensitive,
            },
        },
        "storage": {stream.name: _storage(plan, stream) for stream in plan.streams},
        "pushdown": pushdown,
    }


def storage_digest(plan: JoinPlan) -> str:
    """Identifies how rows are placed, sorted and stored: rows stored by another plan are sorted again when read."""
    common = () if plan.common_part is None else plan.parts[plan.common_part].sides
    stored = [[found["columns"], found["orders"]] for found in (_storage(plan, stream) for stream in plan.streams)]
    # Stored segments also say what their rows reach when they probe, by these bounds.
    numbers = range(len(plan.streams))
    routing = [repr(build_probe(plan, (a,), b).routing) for a in numbers for b in numbers if a != b]
    routing += ["" if stream.routing is None else render(stream.routing) for stream in plan.streams]
    return xxhash.xxh3_64_hexdigest(json.dumps([stored, [side.sql for side in common], routing]).encode())


def _stream(logical_plan: LogicalPlan, stream: LogicalStream) -> dict[str, Any]:
    return {
        "position": stream.number,
        "time": stream.time,
        "window": _window(stream),
        "lateness": stream.lateness_us,
        "idle_after": stream.idle_after_ms,
        **({} if stream.max_ahead_us is None else {"max_ahead": stream.max_ahead_us}),
        **({} if stream.site is None else {"site": [stream.site.name, stream.site.storage]}),
        "columns": {column.name: column.type for column in _read_columns(logical_plan, stream)},
        **_row_order(stream),
    }


def _read_columns(logical_plan: LogicalPlan, stream: LogicalStream) -> list[Column]:
    """The columns that the query reads, by name: their order in the source does not matter."""
    read = {stream.time}
    read |= {column.name for conjunct in logical_plan.conjuncts for column in conjunct.columns}
    read |= {column.name for output in logical_plan.outputs for column in output.columns}
    return [column for column in stream.columns if column.name in read]


def _row_order(stream: LogicalStream) -> dict[str, Any]:
    """A row-based window orders rows of one time by all their values, column by column."""
    if stream.window_rows is None:
        return {}
    return {"order of rows": [[column.name, column.type] for column in stream.columns]}


def _window(stream: LogicalStream) -> int | str | None:
    if stream.window_rows is not None:
        return f"{stream.window_rows} rows"
    return "auto" if stream.automatic else stream.window_us


def _predicate(conjunct: Conjunct) -> dict[str, Any]:
    """`sql` has the resolved columns of the text; a Python function is also identified by its code."""
    record: dict[str, Any] = {"written": conjunct.written, "sql": conjunct.sql}
    if conjunct.function is not None:
        record |= {"sql": list(conjunct.function.columns), "function": function_record(conjunct.function)}
    return record


def _selection(logical_plan: LogicalPlan) -> dict[str, Any]:
    """The output columns in order; for an aggregation also the meaning of its state."""
    aggregation = logical_plan.aggregation
    if aggregation is None:
        # The last output of an ordered query is its result time.
        outputs = logical_plan.outputs[:-1] if logical_plan.ordered else logical_plan.outputs
        return {"selection": [_output(output) for output in outputs]}
    groups = [_output(output) for output in logical_plan.outputs[: aggregation.groups]]
    if aggregation.is_distinct:
        return {"selection": groups, "distinct": "each row once"}
    return {
        "groups": groups,
        "aggregates": [
            _aggregate(logical_plan, aggregation, number, call) for number, call in enumerate(aggregation.calls)
        ],
        "over": aggregation.over_us,
        "updates": aggregation.updates,
    }


def _output(output: Output) -> list[str]:
    return [output.name, output.sql, output.type_json]


def _aggregate(logical_plan: LogicalPlan, aggregation: Aggregation, number: int, call: Call) -> list[str]:
    field = aggregation.schema.field(aggregation.groups + number)
    arguments = [logical_plan.outputs[place] for place in call.arguments]
    text = f"{call.function}({', '.join(output.sql for output in arguments)})"
    types = ", ".join([*(output.type_json for output in arguments), str(field.type)])
    return [field.name, text, types]


def _storage(plan: JoinPlan, stream: StreamPlan) -> dict[str, Any]:
    """How a stream's rows are stored: columns, sort orders, what is left out, and how long the rest is kept."""
    join_orders = []
    for index in stream.indexes:
        sides = [plan.parts[part].side_of(stream.number) for part in index.parts]
        keys = [side.sql for side in sides if side is not None]
        join_orders.append([*keys, "" if index.range is None else render(index.range), *map(render, index.candidates)])
    return {
        "columns": sorted(plan.schemas[stream.number].names),
        "orders": join_orders,
        "left out unless": [plan.conjuncts[number].sql for number in plan.pushed[stream.number]],
        "left out if null": sorted(name for name in stream.required if not name.startswith("#")),
        "left out if the key is null": sorted(_required_keys(plan, stream)),
        "kept": {plan.streams[other].name: reach for other, reach in plan.reaches(stream.number)},
    }


def _required_keys(plan: JoinPlan, stream: StreamPlan) -> set[str]:
    """The keys whose NULLs are left out, apart from plain columns for which that is known."""
    sides = (plan.hashed(stream.number)[name].side_of(stream.number) for name in stream.required if name[0] == "#")
    known = {f"`{name}`" for name in stream.required}
    return {side.sql for side in sides if side is not None and side.sql not in known}
