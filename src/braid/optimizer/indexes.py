"""Which sort orders are kept: one per stream that may look it up, and one for an intermediate result."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.ranges import Range, ranges_of
from braid.optimizer.retention import Bounds
from braid.plan.expressions import Column, Expression, streams_of
from braid.plan.join import Index, KeyPart
from braid.plan.predicate import Conjunct


def build_indexes(
    stream: int, time: Column, parts: Sequence[KeyPart], conjuncts: Sequence[Conjunct], bounds: Bounds
) -> tuple[Index, ...]:
    """The indexes of a stream. Its rows are stored in the order of the first."""
    found: dict[Index, None] = {}
    for other in range(len(bounds)):
        if other != stream:
            shared = tuple(part.number for part in parts if {stream, other} <= part.streams)
            timed = bounds[stream][other] is not None or bounds[other][stream] is not None
            found[Index(shared, _best_number((stream,), other, time, conjuncts, bool(shared), timed))] = None
    return tuple(found)


def intermediate_index(
    members: Sequence[int],
    probing_stream: int,
    times: Sequence[Column],
    parts: Sequence[KeyPart],
    conjuncts: Sequence[Conjunct],
    bounds: Bounds,
) -> Index:
    """The index of an intermediate result for its probing stream; of event times it uses the most tightly bounded."""
    shared = tuple(part.number for part in parts if probing_stream in part.streams and part.streams & set(members))
    closest = min(members, key=lambda member: _closeness(bounds, member, probing_stream))
    timed = _closeness(bounds, closest, probing_stream) < (2, 0)
    return Index(shared, _best_number(members, probing_stream, times[closest], conjuncts, bool(shared), timed))


def usable_ranges(stream: int, joined: frozenset[int], conjuncts: Sequence[Conjunct]) -> list[Range]:
    """The ranges that the conjuncts imply for numbers of `stream`, given rows of the `joined` streams."""
    found = []
    for position, conjunct in enumerate(conjuncts):
        for candidate in ranges_of(conjunct, position, stream):
            sources = [streams_of(e) for bound in candidate.bounds for e in (*bound.plus, *bound.minus)]
            if all(source <= joined for source in sources):
                found.append(candidate)
    return found


def _closeness(bounds: Bounds, member: int, probing_stream: int) -> tuple[int, int]:
    """How tightly the event times of two streams are bounded: the number of open ends, and the width of the others."""
    ends = (bounds[member][probing_stream], bounds[probing_stream][member])
    return sum(end is None for end in ends), sum(end for end in ends if end is not None)


def _best_number(
    streams: Sequence[int], other: int, time: Column, conjuncts: Sequence[Conjunct], keyed: bool, timed: bool
) -> Expression:
    """The number that ranges are searched on: of a band, else time where it is bounded, else of an inequality."""
    plain = [conjunct for conjunct in conjuncts if not (keyed and conjunct.equality is not None)]
    sides: dict[Expression, set[str]] = {}
    for found in (range for stream in streams for range in usable_ranges(stream, frozenset({other}), plain)):
        sides.setdefault(found.number, set()).update(bound.side for bound in found.bounds)
    bands = [number for number, both in sides.items() if len(both) == 2 and number != time]
    if bands:
        return bands[0]
    return time if timed or not sides else next(iter(sides))
