"""The changes of groups over result time: one row per group and per time at which its values change.

Partial totals are sorted by group and time. An event is a group and a time at which it gains or loses results. Its
totals are those of the rows inside the sliding interval that ends at this time. The clock is the sequence of released
result times: a result is lost at the first of them whose interval no longer contains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.aggregate.aggregation import (
    LARGEST,
    decimals_of,
    finish,
    refuse_overflow,
    unscaled,
)
from braid.kernels.aggregate.columns import ROWS, TIME, Total, count_column, group_columns, total_columns, value_columns
from braid.kernels.aggregate.spans import Places, Spans, fold, sum_whole
from braid.plan.aggregation import Aggregation

SMALLEST = -LARGEST - 1
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Clock:
    """The result times that a step releases, in order; a result counts for `over_us` (None: without limit)."""

    times: Times
    over_us: int | None

    def since(self, times: Times) -> Times:
        """The oldest result time that counts at each time."""
        if self.over_us is None:
            return np.full(len(times), SMALLEST)
        return np.where(times < SMALLEST + self.over_us, SMALLEST, times - self.over_us)

    def until(self, times: Times) -> Times:
        """The newest time at which a result of each time still counts."""
        if self.over_us is None:
            return np.full(len(times), LARGEST)
        return np.where(times > LARGEST - self.over_us, LARGEST, times + self.over_us)

    def losses(self, times: Times) -> tuple[npt.NDArray[np.bool_], Times]:
        """Which results stop counting within this step, and the times at which they do."""
        next_release = np.searchsorted(self.times, self.until(times), "right")
        lost = next_release < len(self.times)
        return lost, self.times[next_release[lost]]


class GroupOrder:
    """Finds positions in rows sorted by group and time."""

    def __init__(self, groups: Places, times: Times) -> None:
        self._times = np.unique(times)
        self._width = len(self._times) + 1
        self._keys = groups * self._width + np.searchsorted(self._times, times)

    def up_to(self, groups: Places, times: Times) -> Places:
        return self._place(groups, np.searchsorted(self._times, times, "right"))

    def before(self, groups: Places, times: Times) -> Places:
        return self._place(groups, np.searchsorted(self._times, times, "left"))

    def starts(self, groups: Places) -> Places:
        return self._place(groups, np.zeros(len(groups), np.int64))

    def _place(self, groups: Places, rank: Places) -> Places:
        return np.searchsorted(self._keys, groups * self._width + rank, "left").astype(np.int64)


@dataclass(frozen=True)
class Events:
    """Pairs of a group and a time at which it gains or loses results, sorted; `groups` is the number of all groups."""

    groups: int
    group: Places
    time: Times


@dataclass(frozen=True)
class Live:
    """Distinct values per group: those known before the step with their newest time, and those of the step."""

    known: pa.Table
    fresh: pa.Table


def changes(
    aggregation: Aggregation, known: pa.Table, fresh: pa.Table, clock: Clock, sets: Mapping[int, Live]
) -> tuple[pa.RecordBatch, Times]:
    """The rows to emit and their times. `known` are rows that counted before the step; no `fresh` row is older.

    `sets` has the values of each call on distinct values, where the aggregation slides.
    """
    rows = pa.concat_tables([known, fresh], promote_options="default")
    others = [table for live in sets.values() for table in (live.known, live.fresh)]
    groups, (group, *owners) = number_rows([rows, *others], group_columns(aggregation))
    is_fresh = np.arange(rows.num_rows) >= known.num_rows
    events = _events(groups.num_rows, group, rows[TIME].to_numpy(), is_fresh, clock)
    totals = _totals(aggregation, *_ranges(rows, group, is_fresh, events, clock))
    for (call, live), mine in zip(sets.items(), zip(owners[::2], owners[1::2], strict=True), strict=True):
        names = [*group_columns(aggregation), *value_columns(aggregation, aggregation.sets.index(call) + 1)]
        totals[count_column(call)] = pa.array(_live_counts(live, names, np.concatenate(mine), clock, events))
    return _differing(aggregation, groups, events, totals)


def number_rows(tables: Sequence[pa.Table], names: list[str]) -> tuple[pa.Table, list[Places]]:
    """The distinct rows of some columns, and for every row of every table the number of its distinct row."""
    keys = pa.concat_tables([table.select(names) for table in tables])
    placed = keys.append_column("place", pa.array(np.arange(keys.num_rows)))
    found = placed.group_by(names, use_threads=False).aggregate([("place", "list")])
    lists = found["place_list"].combine_chunks()
    numbers = np.empty(keys.num_rows, np.int64)
    numbers[lists.flatten().to_numpy()] = np.repeat(np.arange(found.num_rows), lists.value_lengths().to_numpy())
    edges = np.cumsum([table.num_rows for table in tables])[:-1]
    return found.select(names), np.split(numbers, edges)


def _events(groups: int, group: Places, time: Times, is_fresh: npt.NDArray[np.bool_], clock: Clock) -> Events:
    """Each distinct pair of a group and a time at which it gains or loses results."""
    lost, lost_at = clock.losses(time)
    changed = np.concatenate((group[is_fresh], group[lost]))
    times = np.concatenate((time[is_fresh], lost_at))
    order = np.lexsort((times, changed))
    changed, times = changed[order], times[order]
    first = np.ones(len(changed), bool)
    first[1:] = (changed[1:] != changed[:-1]) | (times[1:] != times[:-1])
    return Events(groups, changed[first], times[first])


def _ranges(
    rows: pa.Table, group: Places, is_fresh: npt.NDArray[np.bool_], events: Events, clock: Clock
) -> tuple[pa.Table, Spans]:
    """The rows sorted by group and time, and the range of them for each group before the step and for every event."""
    time = rows[TIME].to_numpy()
    order = np.lexsort((is_fresh, time, group))
    placed = GroupOrder(group[order], time[order])
    starts = placed.starts(np.arange(events.groups))
    known = starts + np.bincount(group[~is_fresh], minlength=events.groups)
    first, last = placed.before(events.group, clock.since(events.time)), placed.up_to(events.group, events.time)
    return rows.take(pa.array(order)), Spans(np.concatenate((starts, first)), np.concatenate((known, last)))


def _differing(
    aggregation: Aggregation, groups: pa.Table, events: Events, totals: dict[str, pa.Array]
) -> tuple[pa.RecordBatch, Times]:
    """The events whose values differ from the group's previous ones; `totals` has all groups, then all events."""
    group = np.concatenate((np.arange(events.groups), events.group))
    order = np.argsort(group, kind="stable")
    columns = groups.take(pa.array(group)).combine_chunks()
    named = dict(zip(columns.column_names, columns.columns, strict=True))
    whole = pa.table({**named, **totals}).take(pa.array(order)).combine_chunks()
    values = finish(aggregation, whole, {})
    kept = np.flatnonzero((order >= events.groups) & _differs(aggregation, values, whole[ROWS].to_numpy() > 0))
    return values.take(pa.array(kept)), events.time[order[kept] - events.groups]


def _live_counts(live: Live, names: list[str], owners: Places, clock: Clock, events: Events) -> Places:
    """The number of distinct values of every group before the step, and at every event; `names` identify a value.

    A value counts from its first time until its newest time is too old; it may stop and start again in between.
    """
    both = pa.concat_tables([live.known, live.fresh], promote_options="default")
    _, (value,) = number_rows([both], names)
    time = both[TIME].to_numpy()
    order = np.lexsort((time, value))
    value, time, owner = value[order], time[order], owners[order]
    begins, ends = np.ones(len(value), bool), np.ones(len(value), bool)
    begins[1:] = (value[1:] != value[:-1]) | (time[1:] > clock.until(time[:-1]))
    ends[:-1] = begins[1:]
    lost, lost_at = clock.losses(time[ends])
    gained = _count_at(events, owner[begins], time[begins])
    known = np.bincount(owners[: live.known.num_rows], minlength=events.groups)
    counts: Places = np.concatenate((known, gained - _count_at(events, owner[ends][lost], lost_at)))
    return counts


def _count_at(events: Events, group: Places, time: Times) -> Places:
    """For every event, how many of the given times of its group are not after it."""
    order = np.lexsort((time, group))
    placed = GroupOrder(group[order], time[order])
    return placed.up_to(events.group, events.time) - placed.starts(events.group)


def _totals(aggregation: Aggregation, rows: pa.Table, spans: Spans) -> dict[str, pa.Array]:
    """The partial columns over every range of rows."""
    columns = total_columns(aggregation)
    return {
        name: _total(aggregation, columns[name], rows[name].combine_chunks(), spans)
        for name in rows.column_names
        if name in columns
    }


def _total(aggregation: Aggregation, total: Total, column: pa.Array, spans: Spans) -> pa.Array:
    if total.kind == "count":
        return pa.array(sum_whole(column.fill_null(0).to_numpy(), spans))
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    spans = spans.among(valid)
    column = column.drop_null()
    if total.kind == "extreme":
        return _extremes(column, spans, largest=total.combination == "max")
    if pa.types.is_floating(column.type):
        return pa.array(_floating_sums(column.to_numpy(), spans), mask=spans.lengths == 0)
    if pa.types.is_decimal(column.type):
        sums = sum_whole(unscaled(column), spans)
        refuse_overflow(sums.min(initial=0), sums.max(initial=0), 10**column.type.precision - 1)
        return decimals_of(sums, spans.lengths == 0, column.type)
    return pa.array(_whole_sums(aggregation, column.to_numpy(), spans), mask=spans.lengths == 0)


def _floating_sums(values: npt.NDArray[np.float64], spans: Spans) -> npt.NDArray[np.float64]:
    """Sums without the zeros, so that rows that add nothing do not change a total by rounding."""
    with np.errstate(invalid="ignore", over="ignore"):
        return fold(values[values != 0], spans.among(values != 0), np.add, 0.0)


def _whole_sums(aggregation: Aggregation, values: npt.NDArray[np.int64], spans: Spans) -> npt.NDArray[np.int64]:
    if aggregation.ansi and np.abs(values.astype(np.float64)).sum() > LARGEST / 2:
        exact = sum_whole(values.astype(object), spans)
        refuse_overflow(exact.min(initial=0), exact.max(initial=0), LARGEST)
    sums: npt.NDArray[np.int64] = sum_whole(values, spans)
    return sums


def _extremes(column: pa.Array, spans: Spans, largest: bool) -> pa.Array:
    """Extremes by the rank of values, which works for every type."""
    if len(column) == 0:
        return pa.nulls(len(spans.start), column.type)
    encoded = column.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    codes = ranks[encoded.indices.to_numpy()]
    combine, neutral = (np.maximum, -1) if largest else (np.minimum, len(order))
    found = fold(codes, spans, combine, neutral)
    inside = np.where(spans.lengths == 0, 0, found)
    return encoded.dictionary.take(pa.array(order[inside], mask=spans.lengths == 0))


def _differs(aggregation: Aggregation, values: pa.RecordBatch, exists: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which rows differ from the row before in a value, or in whether the group has results at all."""
    differs = np.ones(values.num_rows, bool)
    differs[1:] = exists[1:] != exists[:-1]
    for column in values.columns[aggregation.groups :]:
        differs[1:] |= ~_same(column.slice(1), column.slice(0, max(0, len(column) - 1)))
    return differs


def _same(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    same = pc.or_(pc.equal(left, right).fill_null(False), pc.and_(left.is_null(), right.is_null()))
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left).fill_null(False), pc.is_nan(right).fill_null(False)))
    return np.asarray(same.to_numpy(zero_copy_only=False))
