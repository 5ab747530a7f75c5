"""Which sort orders are kept: one per stream that may look it up, and one for an intermediate result."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.ranges import FLIPPED, Range, ranges_of
from braid.optimizer.retention import Bounds
from braid.plan.expressions import Call, Column, Expression, streams_of, walk
from braid.plan.join import Guard, Index, KeyPart
from braid.plan.predicate import Conjunct

SUMS = frozenset({"add", "subtract", "negate", "abs"})
# Every candidate is sampled in every step; the first ones are those that were written first.
MAX_CANDIDATES = 8


def build_indexes(
    stream: int, time: Column, parts: Sequence[KeyPart], conjuncts: Sequence[Conjunct], bounds: Bounds
) -> tuple[Index, ...]:
    """The indexes of a stream. Its rows are stored in the order of the first."""
    found: dict[tuple[tuple[int, ...], Expression], dict[Expression, None]] = {}
    for other in range(len(bounds)):
        if other != stream:
            shared = tuple(part.number for part in parts if {stream, other} <= part.streams)
            timed = bounds[stream][other] is not None or bounds[other][stream] is not None
            numbers = _numbers((stream,), other, time, conjuncts, bool(shared), timed)
            found.setdefault((shared, numbers[0]), {}).update(dict.fromkeys(numbers))
    return tuple(Index(*first, tuple(candidates)) for first, candidates in found.items())


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
    return Index(shared, _numbers(members, probing_stream, times[closest], conjuncts, bool(shared), timed)[0])


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


def _numbers(
    streams: Sequence[int], other: int, time: Column, conjuncts: Sequence[Conjunct], keyed: bool, timed: bool
) -> list[Expression]:
    """The numbers that ranges can be searched on, at first that of a band, else time if bounded, else an inequality."""
    plain = [conjunct for conjunct in conjuncts if not (keyed and conjunct.equality is not None)]
    sides: dict[Expression, set[str]] = {}
    refused: set[Expression] = set()
    for found in (range for stream in streams for range in usable_ranges(stream, frozenset({other}), plain)):
        sides.setdefault(found.number, set()).update(bound.side for bound in found.bounds)
        if any(guards_of(plain, bound.conjunct, stream) is None for stream in streams for bound in found.bounds):
            refused.add(found.number)
    bands = [number for number, both in sides.items() if len(both) == 2 and number != time]
    best = bands[0] if bands else time if timed or not sides else next(iter(sides))
    others = [number for number in (*sides, *([time] if timed else [])) if number not in refused]
    return list(dict.fromkeys([best, *others]))[:MAX_CANDIDATES]


def guards_of(conjuncts: Sequence[Conjunct], position: int, stream: int) -> tuple[Guard, ...] | None:
    """The comparisons that must not overflow where rows are left out because of a conjunct; None: it cannot be known.

    A conjunct that can raise may be false only where those that come first, and can raise too, do not raise.
    """
    if not conjuncts[position].raises:
        return ()
    found: list[Guard] = []
    for number, earlier in enumerate(conjuncts[:position]):
        if earlier.raises or earlier.function is not None:
            ranges = ranges_of(earlier, number, stream) if _only_overflows(earlier) else ()
            if not ranges or any(bound.capacity is None for found in ranges for bound in found.bounds):
                return None
            found += [Guard(range.number, range.bounds) for range in ranges]
    return tuple(found)


def _only_overflows(conjunct: Conjunct) -> bool:
    """Whether it is a comparison of sums, which raises only if a sum exceeds its type."""
    expression = conjunct.expression
    if not isinstance(expression, Call) or expression.function not in FLIPPED:
        return False
    calls = [node for side in expression.arguments for node in walk(side) if isinstance(node, Call)]
    return all(call.function in SUMS for call in calls)
