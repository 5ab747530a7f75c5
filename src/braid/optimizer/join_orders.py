"""Join orders: for each delta stream the order in which the other streams are looked up, and how.

The order is greedy: the next stream is the one with the fewest expected matches per row. Observed fan-outs are used
first. Without observations an equality is expected to give 1 match per row, a band 10, a time range or inequality
1,000, a nested loop 1,000,000.
"""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.indexes import guards_of, usable_ranges
from braid.optimizer.ranges import Range
from braid.plan.expressions import Call, Column, Expression
from braid.plan.join import EXPECTED_MATCHES, Access, Bound, Guard, JoinPlan, Probe, ProbeOrder, Stage
from braid.plan.once_per_plan import once_per_plan
from braid.plan.predicate import Conjunct, Side
from braid.state.manifest import Fanout

# Fan-outs of fewer probing rows are too noisy to change an order.
MIN_PROBES = 1000.0

Order = tuple[int, ...]
Seen = dict[tuple[int, int, tuple[int, ...]], float]


def choose_join_orders(plan: JoinPlan, fanouts: Sequence[Fanout]) -> tuple[Order, ...]:
    """For each delta stream the streams in the order they are looked up.

    An observed fan-out is used only after the same joined streams: the end of a chain has few partners after its
    middle, but every row of the window before it.
    """
    seen = seen_matches(fanouts)
    streams = range(len(plan.streams))
    return tuple(
        greedy_order(plan, delta_stream, [n for n in streams if n != delta_stream], seen) for delta_stream in streams
    )


@once_per_plan
def build_probe_orders(plan: JoinPlan, join_orders: tuple[Order, ...]) -> tuple[ProbeOrder, ...]:
    """The probe order of every delta stream; shorter ones start later, so that all end together."""
    rounds = max(len(order) for order in join_orders)
    return tuple(
        build_probe_order(plan, delta_stream, order, rounds - len(order))
        for delta_stream, order in enumerate(join_orders)
    )


def build_probe_order(plan: JoinPlan, delta_stream: int, order: Order, start: int = 0) -> ProbeOrder:
    """The probe order of a delta stream for a given order of streams and intermediate results."""
    joined: list[tuple[int, ...]] = [(delta_stream,)]
    probes = []
    for number in order:
        probes.append(build_probe(plan, joined[-1], number))
        joined.append((*joined[-1], *plan.members(number)))
    return ProbeOrder(delta_stream, tuple(probes), tuple(joined), start)


@once_per_plan
def build_probe(
    plan: JoinPlan,
    joined: tuple[int, ...],
    stream: int,
    choices: tuple[int, ...] = (),
    check_order: tuple[int, ...] = (),
) -> Probe:
    """How joined rows look up a stream or intermediate result, whose indexes are sorted by the chosen numbers.

    Which index is used, and what is checked, does not depend on the choice. `check_order` has the conjuncts that
    cannot raise in the order of their evaluation; without it they are evaluated in the order written.
    """
    number, keys = _choose_index(plan, joined, stream)
    searched = plan.indexes(stream, choices)[number].range
    ranges = _ranges(plan, joined, stream)
    bounds = tuple(bound for found in ranges if found.number == searched for bound in found.bounds)
    guards = _guards(plan, stream, bounds) if any(choices) else ()
    bounds = () if guards is None else bounds
    # An intermediate result is stored where its first stream is.
    routed_by = plan.streams[plan.members(stream)[0]].routing
    conjuncts = _newly_applicable(plan, joined, stream)
    stages = _stages(plan, [n for n in conjuncts if not _enforced(plan, n, keys, stream)], check_order)
    return Probe(
        stream=stream,
        access=_access(plan, joined, stream, bool(keys), bounds, searched),
        index=number,
        keys=keys,
        range=searched,
        bounds=bounds,
        guards=guards or (),
        checks=stages[0].conjuncts,
        later=stages[1:],
        routing=tuple(bound for found in ranges if found.number == routed_by for bound in found.bounds),
    )


def seen_matches(fanouts: Sequence[Fanout]) -> Seen:
    """The observed matches per probing row, of lookups with enough probing rows."""
    return {(f.delta_stream, f.stream, f.joined): f.matches / f.probes for f in fanouts if f.probes >= MIN_PROBES}


def greedy_order(plan: JoinPlan, delta_stream: int, others: Sequence[int], seen: Seen) -> Order:
    """The given streams, at each position the one with the fewest expected matches per row."""
    joined, remaining = [delta_stream], list(others)
    while remaining:
        best = min(remaining, key=lambda stream: expected_matches(plan, delta_stream, tuple(joined), stream, seen))
        joined.append(best)
        remaining.remove(best)
    return tuple(joined[1:])


def expected_matches(plan: JoinPlan, delta_stream: int, joined: tuple[int, ...], stream: int, seen: Seen) -> float:
    """The matches of a row of the `joined` streams in another stream: observed, or else expected of its access path."""
    known = seen.get((delta_stream, stream, tuple(sorted(joined))))
    return expected_access(plan, joined, stream) if known is None else known


def expected_access(plan: JoinPlan, joined: tuple[int, ...], stream: int) -> float:
    """The matches expected of a lookup's access path, without observations."""
    return EXPECTED_MATCHES[build_probe(plan, joined, stream).access]


def _ranges(plan: JoinPlan, joined: tuple[int, ...], number: int) -> list[Range]:
    """The ranges that the conjuncts imply for numbers of a stored row, given rows of the joined streams."""
    streams = frozenset(joined)
    return [found for member in plan.members(number) for found in usable_ranges(member, streams, plan.conjuncts)]


def _guards(plan: JoinPlan, stream: int, bounds: tuple[Bound, ...]) -> tuple[Guard, ...] | None:
    """The comparisons that must not overflow where rows outside the bounds are left out; None: it cannot be known."""
    found: dict[Guard, None] = {}
    for position in {bound.conjunct for bound in bounds}:
        guards = guards_of(plan.conjuncts, position, stream)
        if guards is None:
            return None
        found.update(dict.fromkeys(guards))
    return tuple(found)


def _choose_index(plan: JoinPlan, joined: tuple[int, ...], stream: int) -> tuple[int, tuple[tuple[int, int], ...]]:
    """The index with the most key parts that the joined rows provide; among equals the one with a usable range."""
    ranged = {r.number for r in _ranges(plan, joined, stream)}
    best: tuple[tuple[int, bool, int], int, tuple[tuple[int, int], ...]] | None = None
    for number, index in enumerate(plan.indexes(stream)):
        keys = []
        for part in index.parts:
            source = next((s for s in joined if plan.parts[part].side_of(s) is not None), None)
            if source is not None:
                keys.append((part, source))
        if len(keys) < len(index.parts):
            continue
        rank = (len(keys), index.range in ranged, -number)
        if best is None or rank > best[0]:
            best = (rank, number, tuple(keys))
    return (0, ()) if best is None else best[1:]


def _access(
    plan: JoinPlan,
    joined: tuple[int, ...],
    stream: int,
    keyed: bool,
    bounds: tuple[Bound, ...],
    ranged: Expression | None,
) -> Access:
    if keyed:
        return "equality"
    sides = {bound.side for bound in bounds}
    timed = next((m for m in plan.members(stream) if ranged == plan.streams[m].time_column), None)
    if timed is not None:
        windowed = any(plan.streams[s].window_us is not None for s in (timed, *joined))
        return "time" if windowed or sides else "nested loop"
    if len(sides) == 2:
        return "band"
    return "inequality" if sides else "nested loop"


def _newly_applicable(plan: JoinPlan, joined: tuple[int, ...], stream: int) -> list[int]:
    """The conjuncts that can be evaluated now and could not before; pushed ones are evaluated at ingest.

    Conjuncts on members of an intermediate result alone were evaluated when its rows were found.
    """
    before, members = frozenset(joined), frozenset(plan.members(stream))
    after = before | members
    pushed = {number for numbers in plan.pushed for number in numbers}
    return [
        number
        for number in range(len(plan.conjuncts))
        if number not in pushed
        and _decidable(plan, number, after)
        and (len(joined) == 1 or not _decidable(plan, number, before))
        and (len(members) == 1 or not _decidable(plan, number, members))
    ]


def _decidable(plan: JoinPlan, number: int, joined: frozenset[int]) -> bool:
    """Whether a conjunct may be evaluated on rows of these streams.

    One that can raise waits for every conjunct that cannot raise, and for those written before it: each may guard it.
    """
    conjunct = plan.conjuncts[number]
    if not conjunct.raises:
        return conjunct.streams <= joined
    guards = (c for n, c in enumerate(plan.conjuncts) if n <= number or not c.raises)
    return all(_read_by(plan, guard) <= joined for guard in guards)


def _read_by(plan: JoinPlan, conjunct: Conjunct) -> frozenset[int]:
    """The streams that a conjunct waits for.

    One with a registered function waits for all: Spark evaluates it on every row of a job, also on rows of probe orders
    in which its own streams are not joined yet.
    """
    return frozenset(range(len(plan.streams))) if conjunct.registered else conjunct.streams


def _enforced(plan: JoinPlan, number: int, keys: tuple[tuple[int, int], ...], stream: int) -> bool:
    """Whether a lookup by a single exact key already enforces this equality, on both its streams and without NULLs.

    Another joined stream of the same part may not have been compared with the key's source yet.
    """
    equality = plan.conjuncts[number].equality
    if equality is None or len(keys) != 1 or not plan.parts[keys[0][0]].exact:
        return False
    part, source = plan.parts[keys[0][0]], keys[0][1]
    sides = (equality.left, equality.right)
    return {side.stream for side in sides} == {source, plan.source_of(part.number, stream)} and all(
        part.side_of(side.stream) == side and _never_null(plan, side) for side in sides
    )


def _never_null(plan: JoinPlan, side: Side) -> bool:
    """Whether stored rows have no NULL in this side: it is a required column, or a cast of one."""
    expression = side.expression
    while isinstance(expression, Call) and expression.function == "cast":
        expression = expression.arguments[0]
    return isinstance(expression, Column) and expression.name in plan.streams[side.stream].required


def _stages(plan: JoinPlan, numbers: list[int], check_order: tuple[int, ...]) -> tuple[Stage, ...]:
    """First the conjuncts that cannot raise, in Python, then in the JVM; then the others in the order written.

    What Python can say about those in the JVM costs more than other expressions, so without an order it comes last.
    """
    safe = [n for n in numbers if not plan.conjuncts[n].raises]
    in_jvm = tuple(n for n in safe if plan.conjuncts[n].in_jvm)
    in_python = [n for n in safe if n not in in_jvm]
    in_python += [n for n in in_jvm if plan.conjuncts[n].possible is not None]
    places = {number: place for place, number in enumerate(check_order)}
    stages = [Stage("python", tuple(sorted(in_python, key=lambda n: places.get(n, 0))))]
    if in_jvm:
        stages.append(Stage("jvm", in_jvm))
    for number in numbers:
        if number not in safe:
            _append(stages, plan.conjuncts[number], number)
    return tuple(stages)


def _append(stages: list[Stage], conjunct: Conjunct, number: int) -> None:
    """Add a conjunct to the last stage if it can run there, else to a new one.

    A registered function is the first of its stage. A stage without conjuncts keeps Spark from merging two filters.
    """
    if conjunct.registered and stages[-1].place == "jvm":
        stages.append(Stage("python", ()))
    last = stages[-1]
    can_stay = conjunct.function is None if last.place == "jvm" else not conjunct.in_jvm
    if can_stay:
        stages[-1] = Stage(last.place, (*last.conjuncts, number))
    else:
        stages.append(Stage("jvm" if last.place == "python" else "python", (number,)))
