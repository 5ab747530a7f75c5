"""Which number each index of a stream is sorted by, and how its blocks are cut by event time.

Both are decided from samples of the step's own rows and from what earlier steps recorded. A path costs the share of
stored rows that remain as candidates of a probing row. Where a step spans much more event time than the window, its
rows are also cut into sub-indexes of event time: a row then searches only those that its window touches. The functions
read no clock and no file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.plan.explain import render
from braid.plan.expressions import Expression
from braid.plan.join import AccessPath, JoinPlan, SortOrder
from braid.plan.layout import Layout
from braid.state.observed.samples import PathShare

# The sampled pairs of two streams are compared on the driver: 65,536 comparisons for each path.
SAMPLED_ROWS = 256
# Shares of fewer rows are mostly chance.
MIN_SAMPLED_ROWS = 32
MIN_ROWS_PER_TASK = 8
# Of rarer pairs the share among the pairs of the window is chance; both shares are taken as independent then.
MIN_HITS = 8
# Half of what is known is replaced by the shares of a step, so paths follow a change within a few steps.
WEIGHT_OF_A_STEP = 0.5
# Another number must leave clearly fewer candidates, or the choice would follow the noise of samples.
MIN_GAIN = 1.5
# Lookups in smaller sub-indexes cost more than they save; this many keep the footer of a block small.
MIN_ROWS_PER_PIECE = 128
MAX_PIECES = 256
# Measured nanoseconds: a visit of a sub-index, a probing row there, a search of a row that is not outside, a pair.
VISIT_NS, ROW_NS, SEARCH_NS, PAIR_NS = 350_000.0, 3.0, 250.0, 12.0

Floats = npt.NDArray[np.float64]
Columns = Mapping[Expression, Floats]


@dataclass(frozen=True)
class RowSample:
    """How many rows a task has stored of a stream, and of some of them the values of `sampled_expressions`."""

    rows: int = 0
    columns: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class PathDecision:
    """How the rows of a step are sorted, the shares on which later steps decide, and what has changed."""

    sort_orders: tuple[SortOrder, ...]
    shares: tuple[PathShare, ...]
    adaptations: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Stored:
    """The rows of a stream in a step: how many, how many in a unit, the event time they span, and a sample of them.

    `visiting` is the share of probing rows that visit a unit: few, where rows are routed by ranges.
    """

    rows: int
    rows_per_unit: float
    visiting: float
    span_us: float
    sample: Columns
    sampled: int


def rows_to_sample(ingest_tasks: int) -> int:
    """How many rows each ingest task samples: together enough of every stream."""
    return max(MIN_ROWS_PER_TASK, -(-SAMPLED_ROWS // max(1, ingest_tasks)))


def decide_paths(
    plan: JoinPlan,
    paths: Sequence[AccessPath],
    expressions: Sequence[Sequence[Expression]],
    layout: Layout,
    before: Sequence[SortOrder],
    known: Sequence[PathShare],
    samples: Sequence[Sequence[RowSample]],
) -> PathDecision:
    """The sort orders of a step, from what its ingest tasks sampled: the `expressions` of each stream."""
    orders = list(before)
    if not paths:
        return PathDecision(tuple(orders), ())
    stored = [
        _stored(layout, stream, *sampled) for stream, sampled in enumerate(zip(expressions, samples, strict=True))
    ]
    shares = {(share.stream, share.index, share.choice): share for share in known}
    for key, share in _step_shares(plan, paths, stored).items():
        earlier = shares.get(key)
        weight = 1.0 if earlier is None else WEIGHT_OF_A_STEP
        shares[key] = PathShare(*key, weight * share + (1 - weight) * (share if earlier is None else earlier.share))
    adaptations = []
    for stream in plan.streams:
        choices = _choices(plan, stream.number, orders[stream.number].choices, shares)
        adaptations += _changes(plan, stream.number, orders[stream.number].choices, choices, shares)
        cut_us = _cut_us(plan, paths, stored, stream.number, choices)
        if stored[stream.number].sampled:
            orders[stream.number] = SortOrder(choices, cut_us)
    return PathDecision(tuple(orders), tuple(shares[key] for key in sorted(shares)), tuple(adaptations))


def _stored(layout: Layout, stream: int, expressions: Sequence[Expression], samples: Sequence[RowSample]) -> _Stored:
    """The samples of a stream's tasks as one, in which every task has its share of the rows."""
    some = [sample for sample in samples if sample.rows and sample.columns]
    rows = sum(sample.rows for sample in some)
    parts = []
    for sample in some:
        table = np.array(sample.columns)
        wanted = min(table.shape[1], max(1, round(SAMPLED_ROWS * sample.rows / rows)))
        parts.append(table[:, np.linspace(0, table.shape[1] - 1, wanted).astype(np.int64)])
    table = np.concatenate(parts, axis=1) if parts else np.zeros((len(expressions), 0))
    times = table[0] if len(table) else np.zeros(0)
    # Without the extremes: a few rows that are far too early or late must not decide.
    span = float(np.subtract(*np.quantile(times, (0.98, 0.02)))) / 0.96 if len(times) else 0.0
    units = layout.units[stream] if layout.kind == "biclique" else max(layout.units)
    visiting = 1.0 if layout.ranges is None else 1.0 / units
    return _Stored(rows, rows / units, visiting, span, dict(zip(expressions, table, strict=True)), table.shape[1])


def _step_shares(
    plan: JoinPlan, paths: Sequence[AccessPath], stored: Sequence[_Stored]
) -> dict[tuple[int, int, int], float]:
    """The share of candidates on each path, among the sampled pairs of a step; the mean of the streams that take it."""
    found: dict[tuple[int, int, int], list[float]] = defaultdict(list)
    for path in paths:
        own, other = stored[path.stream], stored[path.other]
        if min(own.sampled, other.sampled) >= MIN_SAMPLED_ROWS:
            found[path.stream, path.index, path.choice].append(_share(plan, path, own, other))
    return {key: float(np.mean(shares)) for key, shares in found.items()}


def _share(plan: JoinPlan, path: AccessPath, own: _Stored, other: _Stored) -> float:
    """The share of the stored rows that a probing row is compared with, if they are sorted by this number."""
    mask = _candidates(path, own.sample, other.sample)
    alone = float(mask.mean())
    if path.number == plan.streams[path.stream].time_column:
        return float((mask & _in_window(plan, path, own.sample, other.sample, 0.0)).mean())
    pieces = _pieces(plan, path, own, other, alone)
    if pieces == 1:
        return alone
    near = _in_window(plan, path, own.sample, other.sample, own.span_us / pieces / 2)
    both = mask & near
    if both.sum() >= MIN_HITS:
        return float(both.mean())
    return alone * max(float(near.mean()), 1.0 / near.size)


def _candidates(path: AccessPath, own: Columns, other: Columns) -> npt.NDArray[np.bool_]:
    """For every sampled probing row (down) and stored row (across) whether the bounds allow the pair."""
    values = own[path.number][None, :]
    mask = np.ones((len(next(iter(other.values()))), values.shape[1]), bool)
    for bound in path.bounds:
        end = np.full(len(mask), bound.offset)
        for sign, terms in ((1.0, bound.plus), (-1.0, bound.minus)):
            for term in terms:
                end = end + sign * other[term]
        mask &= ~(values < end[:, None]) if bound.side == "lower" else ~(values > end[:, None])
    return mask


def _in_window(
    plan: JoinPlan, path: AccessPath, own: Columns, other: Columns, slack_us: float
) -> npt.NDArray[np.bool_]:
    """The same for the window, with some more time at both ends."""
    stored, probing = plan.streams[path.stream], plan.streams[path.other]
    newer = other[probing.time_column][:, None] - own[stored.time_column][None, :]
    mask = np.ones(newer.shape, bool)
    after, before = (plan.retention_us[a][b] for a, b in ((path.stream, path.other), (path.other, path.stream)))
    if after is not None:
        mask &= newer <= after + slack_us
    if before is not None:
        mask &= -newer <= before + slack_us
    return mask


def _pieces(plan: JoinPlan, path: AccessPath, own: _Stored, other: _Stored, share: float) -> int:
    """How many sub-indexes of event time cost least: visits of sub-indexes against pairs outside the window."""
    stream = plan.streams[path.stream]
    reaches = [plan.retention_us[path.stream][path.other], plan.retention_us[path.other][path.stream]]
    if any(index.parts for index in stream.indexes) or None in reaches or own.span_us <= 0:
        return 1
    window_us = float(sum(reach for reach in reaches if reach is not None))
    probes = max(own.rows, other.rows) * own.visiting

    def cost(pieces: int) -> float:
        part = min(1.0, (window_us + own.span_us / pieces) / own.span_us)
        pairs = probes * own.rows_per_unit * share * part
        return pieces * (VISIT_NS + probes * ROW_NS) + probes * pieces * part * SEARCH_NS + pairs * PAIR_NS

    most = min(MAX_PIECES, int(own.rows_per_unit // MIN_ROWS_PER_PIECE))
    return min((1 << power for power in range(max(1, most).bit_length())), key=cost)


def _choices(
    plan: JoinPlan, stream: int, before: tuple[int, ...], shares: Mapping[tuple[int, int, int], PathShare]
) -> tuple[int, ...]:
    """The candidate of each index with the smallest share; the one in force unless another is clearly better."""
    chosen = []
    for number, index in enumerate(plan.streams[stream].indexes):
        current = before[number] if before else 0
        seen = {
            c: shares[stream, number, c].share for c in range(len(index.candidates)) if (stream, number, c) in shares
        }
        best = min(seen, key=lambda choice: seen[choice], default=current)
        chosen.append(best if current in seen and seen[best] * MIN_GAIN < seen[current] else current)
    return tuple(chosen) if any(chosen) else ()


def _changes(
    plan: JoinPlan,
    stream: int,
    before: tuple[int, ...],
    after: tuple[int, ...],
    shares: Mapping[tuple[int, int, int], PathShare],
) -> list[str]:
    found = []
    for number, index in enumerate(plan.streams[stream].indexes):
        old, new = (choices[number] if choices else 0 for choices in (before, after))
        if old != new:
            fewer, more = (shares[stream, number, choice].share for choice in (new, old))
            found.append(
                f"sorts {plan.streams[stream].name} by {render(index.candidates[new])} instead of "
                f"{render(index.candidates[old])}: {fewer:.2g} instead of {more:.2g} of the rows are candidates"
            )
    return found


def _cut_us(
    plan: JoinPlan,
    paths: Sequence[AccessPath],
    stored: Sequence[_Stored],
    stream: int,
    choices: tuple[int, ...],
) -> int | None:
    """The event time of a sub-index of a stream's rows; None: its rows are not cut."""
    own = stored[stream]
    pieces = 1
    for path in paths:
        is_chosen = path.stream == stream and path.choice == (choices[path.index] if choices else 0)
        if is_chosen and path.number != plan.streams[stream].time_column and own.sampled:
            other = stored[path.other]
            alone = float(_candidates(path, own.sample, other.sample).mean()) if other.sampled else 1.0
            pieces = max(pieces, _pieces(plan, path, own, other, alone))
    return None if pieces == 1 else max(1, int(own.span_us / pieces))
