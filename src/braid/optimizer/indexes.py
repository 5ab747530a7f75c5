"""Which sort orders a stream keeps: one for every other stream it may be looked up from, without repeats."""

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
    """The indexes of a stream. The first is the order its rows are stored in."""
    found: dict[Index, None] = {}
    for other in range(len(bounds)):
        if other != stream:
            shared = tuple(part.number for part in parts if {stream, other} <= part.streams)
            timed = bounds[stream][other] is not None or bounds[other][stream] is not None
            found[Index(shared, _best_number(stream, other, time, conjuncts, bool(shared), timed))] = None
    return tuple(found)


def usable_ranges(stream: int, joined: frozenset[int], conjuncts: Sequence[Conjunct]) -> list[Range]:
    """What the conjuncts say about numbers of `stream`, using only rows of the `joined` streams."""
    found = []
    for position, conjunct in enumerate(conjuncts):
        for candidate in ranges_of(conjunct, position, stream):
            sources = [streams_of(e) for bound in candidate.bounds for e in (*bound.plus, *bound.minus)]
            if all(source <= joined for source in sources):
                found.append(candidate)
    return found


def _best_number(
    stream: int, other: int, time: Column, conjuncts: Sequence[Conjunct], keyed: bool, timed: bool
) -> Expression:
    """The number to range over: a band first, then time where it is bounded, then an inequality."""
    plain = [conjunct for conjunct in conjuncts if not (keyed and conjunct.equality is not None)]
    sides: dict[Expression, set[str]] = {}
    for found in usable_ranges(stream, frozenset({other}), plain):
        sides.setdefault(found.number, set()).update(bound.side for bound in found.bounds)
    bands = [number for number, both in sides.items() if len(both) == 2 and number != time]
    if bands:
        return bands[0]
    return time if timed or not sides else next(iter(sides))
