"""Explain: every stage of a plan as readable text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal

from braid.errors import QueryError
from braid.plan.durations import brief_us
from braid.plan.explain_functions import Cost, describe_function, waiting_functions
from braid.plan.explain_layouts import describe_units
from braid.plan.expressions import Call, Column, Constant, Expression, decimal_digits
from braid.plan.join import EXPECTED_MATCHES, Bound, Index, JoinPlan, Probe, ProbeOrder, SortOrder
from braid.plan.layout import Layout
from braid.plan.logical import LogicalPlan
from braid.plan.predicate import Conjunct, Side

STAGES = ("logical", "physical", "layout")


@dataclass(frozen=True)
class Chosen:
    """The chosen strategy, its layout and cost, and how it handles hot keys.

    `others` says what other strategies would do or why they cannot run. `shapes` are the costs of joining by sequences
    and as a tree. `routing` has the number that each stream is routed by, where the layout has ranges. `exchange` is
    how the rows of a run reach their slots; it is chosen at start. `expected` is what lookups are expected to take,
    with their sequences, where the layout has time slices or sites. `payloads` says how wide ones are stored.
    """

    strategy: str
    layout: Layout
    cost: str
    hot_keys: str
    slots: int
    others: tuple[str, ...]
    shapes: tuple[str, ...] = ()
    routing: tuple[str, ...] = ()
    exchange: str | None = None
    expected: tuple[str, ...] = ()
    payloads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """The observed matches per probing row of a lookup, after the streams `joined` before it."""

    delta_stream: int
    stream: int
    joined: tuple[int, ...]
    matches: float


@dataclass(frozen=True)
class Observed:
    """What a run has observed after `step`: the layout in force, the hot keys, and the matches of lookups.

    `sort_orders` are in force; `candidates` are shares of a stream's rows, by stream, index and choice; `checks` are
    the seconds a pair and the share of pairs that pass, by conjunct.
    """

    step: int
    layout: Layout
    older_layouts: int
    hot_keys: tuple[str, ...]
    lookups: tuple[Seen, ...]
    sort_orders: tuple[SortOrder, ...] = ()
    candidates: Mapping[tuple[int, int, int], float] = field(default_factory=dict)
    checks: Mapping[int, Cost] = field(default_factory=dict)

    def matches(self, delta_stream: int, stream: int, joined: Sequence[int]) -> float | None:
        """The matches per probing row of a lookup, if it was observed."""
        wanted = (delta_stream, stream, tuple(sorted(joined)))
        return next((s.matches for s in self.lookups if (s.delta_stream, s.stream, s.joined) == wanted), None)


def explain(
    logical_plan: LogicalPlan,
    plan: JoinPlan,
    probe_orders: Sequence[ProbeOrder],
    chosen: Chosen,
    observed: Observed | None,
    stage: str | None,
) -> str:
    """One stage, or all of them; for a running query with its observations."""
    if stage is not None and stage not in STAGES:
        raise QueryError(
            f"There is no stage {stage!r} to explain.",
            hint=f"Use one of {', '.join(STAGES)}; of a run, also now.",
        )
    parts = {
        "logical": lambda: _logical_plan(logical_plan, plan),
        "physical": lambda: _physical(plan, probe_orders, observed),
        "layout": lambda: _layout(chosen, observed),
    }
    return "\n\n".join(parts[name]() for name in (STAGES if stage is None else (stage,)))


def _logical_plan(logical_plan: LogicalPlan, plan: JoinPlan) -> str:
    lines = ["== Logical =="]
    for stream in logical_plan.streams:
        window = _automatic_window(plan, stream.number) if stream.automatic else _duration(stream.window_us)
        window = window if stream.window_rows is None else f"the last {stream.window_rows} rows"
        lines.append(
            f"stream {stream.name}: time {stream.time}, window {window}, lateness {_duration(stream.lateness_us)}"
        )
    lines += [f"on {conjunct.written}" for conjunct in logical_plan.conjuncts] or [
        "on nothing: every pair in the window"
    ]
    lines.append(_selection(logical_plan))
    if logical_plan.ordered:
        lines.append("in the order of result_time")
    return "\n".join(lines)


def _automatic_window(plan: JoinPlan, stream: int) -> str:
    """How long rows of a stream can find partners according to the predicates; zero if all partners must be older."""
    reaches = [reach for _, reach in plan.reaches(stream) if reach is not None]
    return f"auto: {brief_us(max(0, *reaches))}"


def _selection(logical_plan: LogicalPlan) -> str:
    names, aggregation = [output.name for output in logical_plan.outputs], logical_plan.aggregation
    if aggregation is None:
        # Without the result time of ordered results, which is an output but not a selected column.
        return f"select {', '.join(logical_plan.sink_schema.names)}"
    if aggregation.is_distinct:
        kept = "forever, on disk" if aggregation.bounded_by is None else "until no equal row can appear"
        warning = (
            " (warning: select an event time or result_time to bound it)" if aggregation.bounded_by is None else ""
        )
        return f"select distinct {', '.join(names[: aggregation.groups])}; rows are remembered {kept}{warning}"
    groups = ", ".join(names[: aggregation.groups]) or "nothing"
    over = (
        "all results" if aggregation.over_us is None else f"the newest {_duration(aggregation.over_us)} of result time"
    )
    totals = ", ".join(field.name for field in list(aggregation.schema)[aggregation.groups :])
    when = ", at every result time that changes them" if aggregation.ordered else ""
    return f"group by {groups}: {totals} over {over}{when}, {aggregation.updates} updates"


def _physical(plan: JoinPlan, probe_orders: Sequence[ProbeOrder], observed: Observed | None) -> str:
    lines = ["== Physical plan =="]
    if not any(len(conjunct.streams) > 1 for conjunct in plan.conjuncts):
        lines.append("warning: no predicate relates the streams; this is a cross join of everything in the window")
    for stream in plan.streams:
        lines.append(f"stream {stream.name}")
        lines.append(f"  stores {', '.join(column.name for column in stream.columns)}")
        lines += _sorting(plan, stream.number, observed)
        lines += [f"  at ingest: {plan.conjuncts[n].written}" for n in plan.pushed[stream.number]]
        lines.append(f"  kept {_kept(plan, stream.number)}")
    for intermediate in plan.intermediate:
        lines.append(f"intermediate {intermediate.name}, stored with {plan.streams[intermediate.members[0]].name}")
        lines += [f"  sorted by {_index(plan, index, intermediate.number)}" for index in intermediate.indexes]
        lines.append(f"  kept {_kept(plan, intermediate.number)}")
    for probe_order in probe_orders:
        lines.append(f"new rows of {plan.streams[probe_order.delta_stream].name}")
        joined = [probe_order.delta_stream]
        for probe in probe_order.probes:
            seen = None if observed is None else observed.matches(probe_order.delta_stream, probe.stream, joined)
            lines += _probe(plan, probe, seen, {} if observed is None else observed.checks)
            lines += waiting_functions(plan, probe, joined)
            joined += plan.members(probe.stream)
    if plan.jvm_outputs:
        lines.append("selection: in the JVM")
    return "\n".join(lines)


def _sorting(plan: JoinPlan, stream: int, observed: Observed | None) -> list[str]:
    """The sort orders of a stream; of a run those in force, with the share of rows that each number leaves."""
    order = SortOrder() if observed is None or not observed.sort_orders else observed.sort_orders[stream]
    lines = []
    for number, index in enumerate(plan.indexes(stream, order.choices)):
        seen = {} if observed is None else observed.candidates
        shares = [
            f"{render(candidate)} {seen[stream, number, choice]:.2g}"
            for choice, candidate in enumerate(index.candidates)
            if (stream, number, choice) in seen
        ]
        candidates = f" (seen: share of rows that are candidates by {', '.join(shares)})" if shares else ""
        lines.append(f"  sorted by {_index(plan, index, stream)}{candidates}")
    if order.cut_us is not None:
        lines.append(f"  cut into sub-indexes of about {brief_us(order.cut_us)} of event time")
    return lines


def _probe(plan: JoinPlan, probe: Probe, seen: float | None, checks: Mapping[int, Cost]) -> list[str]:
    matches = f" (guess: {EXPECTED_MATCHES[probe.access]:,.0f} a row until more is seen)"
    if len(plan.members(probe.stream)) > 1:
        matches = ""
    if seen is not None:
        matches = f" (seen: {seen:,.3g} a row)"
    lines = [f"  look up {plan.name_of(probe.stream)} by {probe.access}: {_how(plan, probe)}{matches}"]
    for number in probe.checks:
        conjunct = plan.conjuncts[number]
        cost = describe_function(conjunct, checks.get(number))
        lines.append(f"    then in Python{_how_far(conjunct)}: {conjunct.written}{cost}")
    for stage in probe.later:
        place = "Python" if stage.place == "python" else "the JVM"
        for conjunct in (plan.conjuncts[n] for n in stage.conjuncts):
            reason = f" ({conjunct.jvm_reason})" if conjunct.jvm_reason else ""
            lines.append(f"    then in {place}{reason}: {conjunct.written}")
    return lines


def _how_far(conjunct: Conjunct) -> str:
    return " (pairs that may match)" if conjunct.in_jvm else ""


def _how(plan: JoinPlan, probe: Probe) -> str:
    pieces = []
    for part, source in probe.keys:
        mine, theirs = _side(plan, part, probe.stream), plan.parts[part].side_of(source)
        if mine is not None and theirs is not None:
            pieces.append(f"{_plain(mine.sql)} = {_plain(theirs.sql)}")
    number = probe.range
    if number is not None:
        pieces += [f"{render(number)} {_bound(bound)}" for bound in probe.bounds]
        by_time = number in [plan.streams[member].time_column for member in plan.members(probe.stream)]
        if by_time and any(stream.window_us is not None for stream in plan.streams):
            pieces.append("within the window")
    return ", ".join(pieces) or "every row kept"


def _bound(bound: Bound) -> str:
    sign = ">=" if bound.side == "lower" else "<="
    terms = " + ".join(render(expression) for expression in bound.plus)
    terms += "".join(f" - {render(expression)}" for expression in bound.minus)
    in_time = any(expression.type in ("timestamp", "timestamp_ntz") for expression in bound.plus)
    size = _duration(round(abs(bound.offset))) if in_time else f"{abs(bound.offset):g}"
    offset = "" if bound.offset == 0 else f" {'+' if bound.offset > 0 else '-'} {size}"
    return f"{sign} {terms}{offset}"


def _index(plan: JoinPlan, index: Index, stream: int) -> str:
    keys = [_side(plan, part, stream) for part in index.parts]
    names = [_plain(side.sql) for side in keys if side is not None]
    if index.range is not None:
        names.append(render(index.range))
    return ", ".join(names)


def _side(plan: JoinPlan, part: int, number: int) -> Side | None:
    """The side of a stored row in a key part."""
    source = plan.source_of(part, number)
    return None if source is None else plan.parts[part].side_of(source)


def _kept(plan: JoinPlan, stream: int) -> str:
    pieces = []
    for other, reach in plan.reaches(stream):
        if reach is None:
            return "forever"
        pieces.append(f"the watermark of {plan.streams[other].name} is more than {_duration(reach)} later")
    return f"until {' and '.join(pieces)}"


def _layout(chosen: Chosen, observed: Observed | None) -> str:
    lines = [
        "== Layout ==",
        f"strategy {chosen.strategy}: {chosen.layout.kind} on {chosen.slots} slots",
        describe_units(chosen.layout),
        *([f"routed by {', '.join(chosen.routing)}"] if chosen.routing else []),
        chosen.cost,
        *chosen.expected,
        *chosen.shapes,
        f"hot keys: {chosen.hot_keys}",
    ]
    if chosen.exchange is not None:
        lines.append(f"exchange of new rows: {chosen.exchange}")
    lines += chosen.payloads
    if observed is not None:
        older = {0: "", 1: "; an older layout holds rows too"}.get(
            observed.older_layouts, f"; {observed.older_layouts} older layouts hold rows too"
        )
        lines.append(f"in force after step {observed.step}: {describe_units(observed.layout)}{older}")
        lines += [f"hot: {key}" for key in observed.hot_keys] or ["hot: no key so far"]
    return "\n".join([*lines, *chosen.others])


def render(expression: Expression) -> str:
    """An expression as readable text."""
    if isinstance(expression, Column):
        return expression.name
    if isinstance(expression, Constant):
        return _constant(expression)
    return _render_call(expression)


def _constant(constant: Constant) -> str:
    if constant.value is None:
        return "NULL"
    if digits := decimal_digits(constant.type):
        return format(Decimal(constant.value).scaleb(-digits[1], Context(prec=digits[0])), "f")
    return brief_us(int(constant.value)) if constant.type == "interval" else str(constant.value)


def _render_call(call: Call) -> str:
    signs = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
    arguments = [render(argument) for argument in call.arguments]
    if call.function in signs:
        return f"({f' {signs[call.function]} '.join(arguments)})"
    if call.function == "cast":
        return f"{arguments[0]} as {call.type}"
    return f"{call.function}({', '.join(arguments)})"


def _plain(sql: str) -> str:
    return sql.replace("`", "")


def _duration(microseconds: int | None) -> str:
    return "unbounded" if microseconds is None else brief_us(microseconds)
