"""What steps observed of streams at sites, and the statistics that follow: rates, sizes, distinct join values.

Observations decay, so that statistics follow a stream that changes. The number of distinct values that a stream has at
all is estimated from those of a step: of n rows with any of d values, d (1 - e^(-n/d)) are distinct.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.reduction import reduction_of
from braid.optimizer.semijoins.statistics import FrequentValue, JoinAttribute, StreamStatistics
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.state.manifest import Fanout, Manifest
from braid.state.observed.samples import KeyCounts
from braid.state.site_state import StreamObservation

# A partial tuple has 64 bits for each key part or column.
VALUE_BYTES = 8.0
# What is assumed of a stream before its first rows.
FIRST_RATE, FIRST_ROW_BYTES, FIRST_VALUES = 1000.0, 100.0, 1000.0
# An unbounded window counts as long as the stream has lasted, and at first as this.
FIRST_WINDOW_SECONDS = 60.0
DECAY = 0.9
LEAST_PROBES = 100.0
MOST_VALUES = 1e12
# Shares of fewer rows are mostly chance.
LEAST_KEY_ROWS = 100.0


def observed_after(
    known: Sequence[StreamObservation], streams: int, seen: Iterable[StreamObservation]
) -> tuple[StreamObservation, ...]:
    """Earlier observations decay, and those of a step are added."""
    before = {one.stream: one for one in known}
    sums = {stream: before[stream].decayed(DECAY) for stream in before}
    for one in seen:
        sums[one.stream] = sums[one.stream].plus(one) if one.stream in sums else one
    return tuple(sums[stream] for stream in range(streams) if stream in sums)


def statistics_of(plan: JoinPlan, layout: Layout, manifest: Manifest) -> JoinGraph:
    """The streams of a join as the cost model sees them, from what was observed, or guesses."""
    observed = {one.stream: one for one in (manifest.sites.observed if manifest.sites is not None else ())}
    names = [stream.name for stream in plan.streams]
    attributes: list[list[JoinAttribute]] = [[] for _ in names]
    for part in plan.parts:
        for stream in sorted(part.streams):
            seen = manifest.key_counts[stream] if part.number == plan.common_part and manifest.key_counts else None
            values, frequent = _observed_values(observed.get(stream), part.number, seen or KeyCounts())
            attributes[stream].append(JoinAttribute(f"part {part.number}", values, VALUE_BYTES, frequent))
    described = [_stream(plan, layout, manifest, n, observed.get(n)) for n in range(len(names))]
    for pair in _pairs_without_keys(plan):
        values = _compared_values(manifest.fanouts, described, pair)
        for stream in pair:
            attributes[stream].append(JoinAttribute(f"{names[pair[0]]} and {names[pair[1]]}", values, VALUE_BYTES))
    streams = tuple(
        replace(one, attributes=tuple(own), columns=len(plan.streams[number].columns))
        for number, (one, own) in enumerate(zip(described, attributes, strict=True))
    )
    return JoinGraph(streams, _edges(plan))


def distinct_of(rows: float, distinct: float) -> float:
    """How many values a stream has, of which `rows` rows had so many different ones."""
    if distinct <= 0 or rows <= 0:
        return 1.0
    if distinct > 0.999 * rows:
        # As good as no value came twice: there are at least as many that a repetition would be no surprise.
        return max(distinct, rows * rows / 2)
    low, high = distinct, MOST_VALUES
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if -middle * math.expm1(-rows / middle) < distinct else (low, middle)
    return math.sqrt(low * high)


def frequent_values(seen: KeyCounts, distinct: float) -> tuple[FrequentValue, ...]:
    """The keys that have clearly more rows than one of so many equally frequent values, and their shares of all rows.

    Keys are counted in a sample, and only where they came several times: a key with fewer rows may have been missed.
    """
    if seen.rows < LEAST_KEY_ROWS:
        return ()
    shares = ((key.key, min(1.0, key.rows / seen.rows)) for key in seen.keys)
    return tuple(FrequentValue(key, share) for key, share in shares if share > 1 / distinct)[: int(distinct)]


def _observed_values(
    observed: StreamObservation | None, part: int, seen: KeyCounts
) -> tuple[float, tuple[FrequentValue, ...]]:
    """How many values a key part has, and which are frequent; the others are taken as equally frequent."""
    if observed is None or observed.steps == 0 or part >= len(observed.distinct):
        return FIRST_VALUES, ()
    rows, distinct = observed.rows / observed.steps, observed.distinct[part] / observed.steps
    frequent = frequent_values(seen, max(1.0, distinct_of(rows, distinct)))
    share = sum(one.share for one in frequent)
    others = distinct_of(rows * (1 - share), distinct - len(frequent)) if share < 1 else 0.0
    return max(1.0, len(frequent) + others if frequent else distinct_of(rows, distinct)), frequent


def _stream(
    plan: JoinPlan, layout: Layout, manifest: Manifest, number: int, observed: StreamObservation | None
) -> StreamStatistics:
    site, mark = layout.sites[layout.homes[number]].name, manifest.marks[number]
    lasted = 0.0 if mark.newest_us is None or mark.oldest_us is None else (mark.newest_us - mark.oldest_us) / 1e6
    reaches = [reach for _, reach in plan.reaches(number)]
    kept = [reach / 1e6 for reach in reaches if reach is not None]
    window = max(kept) if len(kept) == len(reaches) else max(lasted, FIRST_WINDOW_SECONDS)
    name = plan.streams[number].name
    if observed is None or observed.rows == 0 or observed.seconds == 0:
        return StreamStatistics(name, site, FIRST_RATE, FIRST_ROW_BYTES, max(window, 0.0), ())
    rate, size = observed.rows / observed.seconds, observed.size / observed.rows
    return StreamStatistics(name, site, rate, size, max(window, 0.0), ())


def _pairs_without_keys(plan: JoinPlan) -> list[tuple[int, int]]:
    """The pairs of streams that are compared, but not by an equality."""
    pairs = combinations(range(len(plan.streams)), 2)
    keyed = [part.streams for part in plan.parts]
    return [
        (one, other)
        for one, other in pairs
        if not any({one, other} <= streams for streams in keyed) and reduction_of(plan, (one,), other) is not None
    ]


def _compared_values(fanouts: Sequence[Fanout], streams: Sequence[StreamStatistics], pair: tuple[int, int]) -> float:
    """As many values as would make equal pairs as frequent as those that were found to match."""
    for one, other in (pair, pair[::-1]):
        known = next((f for f in fanouts if (f.delta_stream, f.stream, f.joined) == (one, other, (one,))), None)
        if known is not None and known.probes >= LEAST_PROBES and known.matches > 0:
            return max(1.0, streams[other].window_rows * known.probes / known.matches)
    return FIRST_VALUES


def _edges(plan: JoinPlan) -> frozenset[frozenset[str]]:
    """The streams with a condition on each other; all of them if the conditions on two streams do not connect them."""
    names = [stream.name for stream in plan.streams]
    pushed = {number for numbers in plan.pushed for number in numbers}
    found = {
        frozenset((names[one], names[other]))
        for number, conjunct in enumerate(plan.conjuncts)
        if number not in pushed
        for one, other in combinations(sorted(conjunct.streams), 2)
    }
    found |= {
        frozenset((names[one], names[other]))
        for part in plan.parts
        for one, other in combinations(sorted(part.streams), 2)
    }
    reached, frontier = {names[0]}, [names[0]]
    while frontier:
        name = frontier.pop()
        near = {other for edge in found if name in edge for other in edge} - reached
        reached |= near
        frontier += near
    if reached != set(names):
        found = {frozenset(pair) for pair in combinations(names, 2)}
    return frozenset(found)
