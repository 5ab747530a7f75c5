"""Join sequences: for each head the order in which the other streams are looked up, and how.

The order is greedy: at every step the stream from which the fewest matches per row are expected. What has been
seen counts first; before anything was seen, an equality is expected to give 1 match a row, a band 10, a time
range or inequality 1,000, a nested loop 1,000,000.
"""

from __future__ import annotations

from collections.abc import Sequence as Several

from braid.optimizer.indexes import usable_ranges
from braid.optimizer.ranges import Range
from braid.plan.expressions import Call, Column
from braid.plan.join import EXPECTED_MATCHES, Access, Bound, JoinPlan, Probe, ProbeOrder, Stage
from braid.plan.predicate import Conjunct, Side
from braid.state.manifest import Fanout

ENOUGH_PROBES = 1000.0

Order = tuple[int, ...]
Seen = dict[tuple[int, int, tuple[int, ...]], float]


def choose_join_orders(plan: JoinPlan, fanouts: Several[Fanout]) -> tuple[Order, ...]:
    """For each head the streams in the order they are looked up.

    What was seen of a lookup counts only after the same streams: a chain's end has few partners after its middle, and
    every row of the window before it.
    """
    seen = seen_matches(fanouts)
    everything = range(len(plan.streams))
    return tuple(
        greedy_order(plan, delta_stream, [n for n in everything if n != delta_stream], seen)
        for delta_stream in everything
    )


def build_probe_orders(plan: JoinPlan, join_orders: Several[Order]) -> list[ProbeOrder]:
    """The join steps of every head; shorter sequences start later, so that all end together."""
    rounds = max(len(order) for order in join_orders)
    return [
        build_probe_order(plan, delta_stream, order, rounds - len(order))
        for delta_stream, order in enumerate(join_orders)
    ]


def build_probe_order(plan: JoinPlan, delta_stream: int, order: Order, start: int = 0) -> ProbeOrder:
    """The join steps of a head for a given order of streams and derived streams."""
    joined: list[tuple[int, ...]] = [(delta_stream,)]
    probes = []
    for number in order:
        probes.append(build_probe(plan, joined[-1], number))
        joined.append((*joined[-1], *plan.members(number)))
    return ProbeOrder(delta_stream, tuple(probes), tuple(joined), start)


def build_probe(plan: JoinPlan, joined: tuple[int, ...], stream: int) -> Probe:
    """How rows of the `joined` streams, already together, look up a stream or derived stream."""
    number, keys = _choose_index(plan, joined, stream)
    index = plan.indexes(stream)[number]
    ranges = [r for r in _ranges(plan, joined, stream) if r.number == index.range]
    bounds = tuple(bound for found in ranges for bound in found.bounds)
    conjuncts = _newly_applicable(plan, joined, stream)
    stages = _stages(plan, [n for n in conjuncts if not _enforced(plan, n, keys, stream)])
    return Probe(
        stream=stream,
        access=_access(plan, joined, stream, bool(keys), bounds, number),
        index=number,
        keys=keys,
        bounds=bounds,
        checks=stages[0].conjuncts,
        later=stages[1:],
    )


def seen_matches(fanouts: Several[Fanout]) -> Seen:
    """The matches a row that lookups gave, where enough were seen to believe it."""
    return {(f.delta_stream, f.stream, f.joined): f.matches / f.probes for f in fanouts if f.probes >= ENOUGH_PROBES}


def greedy_order(plan: JoinPlan, delta_stream: int, others: Several[int], seen: Seen) -> Order:
    """Some streams in the order in which the fewest matches per row of the head are expected."""
    joined, left = [delta_stream], list(others)
    while left:
        best = min(left, key=lambda stream: expected_matches(plan, delta_stream, tuple(joined), stream, seen))
        joined.append(best)
        left.remove(best)
    return tuple(joined[1:])


def expected_matches(plan: JoinPlan, delta_stream: int, joined: tuple[int, ...], stream: int, seen: Seen) -> float:
    """The matches that a row of the `joined` streams finds in another, as seen, or else as its access path promises."""
    known = seen.get((delta_stream, stream, tuple(sorted(joined))))
    return expected_access(plan, joined, stream) if known is None else known


def expected_access(plan: JoinPlan, joined: tuple[int, ...], stream: int) -> float:
    """The matches that the access path of a lookup promises before any was seen."""
    return EXPECTED_MATCHES[build_probe(plan, joined, stream).access]


def _ranges(plan: JoinPlan, joined: tuple[int, ...], number: int) -> list[Range]:
    """What the conjuncts say about numbers of a stored row, given rows of the joined streams."""
    streams = frozenset(joined)
    return [found for member in plan.members(number) for found in usable_ranges(member, streams, plan.conjuncts)]


def _choose_index(plan: JoinPlan, joined: tuple[int, ...], stream: int) -> tuple[int, tuple[tuple[int, int], ...]]:
    """The index with the most key parts the joined rows can give; then the one with a usable range."""
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
        worth = (len(keys), index.range in ranged, -number)
        if best is None or worth > best[0]:
            best = (worth, number, tuple(keys))
    return (0, ()) if best is None else best[1:]


def _access(
    plan: JoinPlan, joined: tuple[int, ...], stream: int, keyed: bool, bounds: tuple[Bound, ...], number: int
) -> Access:
    if keyed:
        return "equality"
    ranged = plan.indexes(stream)[number].range
    sides = {bound.side for bound in bounds}
    timed = next((m for m in plan.members(stream) if ranged == plan.streams[m].time_column), None)
    if timed is not None:
        windowed = any(plan.streams[s].window_us is not None for s in (timed, *joined))
        return "time" if windowed or sides else "nested loop"
    if len(sides) == 2:
        return "band"
    return "inequality" if sides else "nested loop"


def _newly_applicable(plan: JoinPlan, joined: tuple[int, ...], stream: int) -> list[int]:
    """The conjuncts that can be decided now and could not before; pushed ones are decided at ingest.

    What is about the members of a derived stream alone was decided when its rows were found.
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

    One that can raise waits for every conjunct that cannot, and for those written before it: any may be its guard.
    """
    conjunct = plan.conjuncts[number]
    if not _may_raise(conjunct):
        return conjunct.streams <= joined
    guards = (c for n, c in enumerate(plan.conjuncts) if n <= number or not _may_raise(c))
    return all(guard.streams <= joined for guard in guards)


def _enforced(plan: JoinPlan, number: int, keys: tuple[tuple[int, int], ...], stream: int) -> bool:
    """Whether looking up by a single exact key already decides this equality: of both its streams, without NULLs.

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
    """Whether stored rows have no NULL in this side: a required column, perhaps cast."""
    expression = side.expression
    while isinstance(expression, Call) and expression.function == "cast":
        expression = expression.arguments[0]
    return isinstance(expression, Column) and expression.name in plan.streams[side.stream].required


def _stages(plan: JoinPlan, numbers: list[int]) -> tuple[Stage, ...]:
    """What cannot raise first, here and then in the JVM; then what can, in the order it was written."""
    calm = [n for n in numbers if not _may_raise(plan.conjuncts[n])]
    stages = [Stage("python", tuple(n for n in calm if not plan.conjuncts[n].in_jvm))]
    in_jvm = tuple(n for n in calm if plan.conjuncts[n].in_jvm)
    if in_jvm:
        stages.append(Stage("jvm", in_jvm))
    for number in numbers:
        if number not in calm:
            _append(stages, plan.conjuncts[number], number)
    return tuple(stages)


def _append(stages: list[Stage], conjunct: Conjunct, number: int) -> None:
    """Stay where the previous conjunct ran if this one can run there too."""
    last = stages[-1]
    can_stay = conjunct.function is None if last.place == "jvm" else not conjunct.in_jvm
    if can_stay:
        stages[-1] = Stage(last.place, (*last.conjuncts, number))
    else:
        stages.append(Stage("jvm" if last.place == "python" else "python", (number,)))


def _may_raise(conjunct: Conjunct) -> bool:
    return conjunct.raises or conjunct.function is not None
