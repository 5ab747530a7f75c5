"""The changes of groups over result time: one row per group and time at which its values are others than before.

Partial totals lie by group and time. An event is a group at a time at which it gains or loses results; its totals are
those of the rows in the stretch of time that counts then. The clock is the sequence of released result times: what is
older than the stretch is lost at the first of them that is too late for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.aggregation import (
    LARGEST,
    ROWS,
    TIME,
    decimals_of,
    finish,
    group_names,
    refuse_overflow,
    unscaled,
)
from braid.kernels.spans import Places, Spans, fold, sum_whole
from braid.plan.aggregation import Aggregation

SMALLEST = -LARGEST - 1
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Clock:
    """The result times that a step releases, in order; results count for `over_us` from their own (None: for ever)."""

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
        """Which results stop to count, and when those do."""
        place = np.searchsorted(self.times, self.until(times), "right")
        lost = place < len(self.times)
        return lost, self.times[place[lost]]


class GroupOrder:
    """Rows by group and time, and where in them a group's rows up to a time end."""

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
    """Groups at times at which they gain or lose results, by group and time, of so many `groups`."""

    groups: int
    group: Places
    time: Times


@dataclass(frozen=True)
class Live:
    """Different values of groups: those known before the step with their newest time, and those of the step."""

    known: pa.Table
    fresh: pa.Table


def changes(
    aggregation: Aggregation, known: pa.Table, fresh: pa.Table, clock: Clock, sets: Mapping[int, Live]
) -> tuple[pa.RecordBatch, Times]:
    """What leaves, with its times: `known` are rows that counted before the step, none of `fresh` is older.

    `sets` has, where the summary slides, the values of each call that counts different ones.
    """
    rows = pa.concat_tables([known, fresh], promote_options="default")
    others = [table for live in sets.values() for table in (live.known, live.fresh)]
    groups, (group, *owners) = number_rows([rows, *others], group_names(rows))
    is_fresh = np.arange(rows.num_rows) >= known.num_rows
    events = _events(groups.num_rows, group, rows[TIME].to_numpy(), is_fresh, clock)
    totals = _totals(aggregation, *_ranges(rows, group, is_fresh, events, clock))
    for (call, live), mine in zip(sets.items(), zip(owners[::2], owners[1::2], strict=True), strict=True):
        totals[f"n{call}"] = pa.array(_live_counts(live, np.concatenate(mine), clock, events))
    return _differing(aggregation, groups, events, totals)


def number_rows(tables: Sequence[pa.Table], names: list[str]) -> tuple[pa.Table, list[Places]]:
    """The different rows of some columns, and the number among them of every row of every table."""
    keys = pa.concat_tables([table.select(names) for table in tables])
    placed = keys.append_column("place", pa.array(np.arange(keys.num_rows)))
    found = placed.group_by(names, use_threads=False).aggregate([("place", "list")])
    lists = found["place_list"].combine_chunks()
    numbers = np.empty(keys.num_rows, np.int64)
    numbers[lists.flatten().to_numpy()] = np.repeat(np.arange(found.num_rows), lists.value_lengths().to_numpy())
    edges = np.cumsum([table.num_rows for table in tables])[:-1]
    return found.select(names), np.split(numbers, edges)


def _events(groups: int, group: Places, time: Times, is_fresh: npt.NDArray[np.bool_], clock: Clock) -> Events:
    """Every group at every time at which it gains or loses results, once."""
    lost, when = clock.losses(time)
    every = np.concatenate((group[is_fresh], group[lost]))
    times = np.concatenate((time[is_fresh], when))
    order = np.lexsort((times, every))
    every, times = every[order], times[order]
    first = np.ones(len(every), bool)
    first[1:] = (every[1:] != every[:-1]) | (times[1:] != times[:-1])
    return Events(groups, every[first], times[first])


def _ranges(
    rows: pa.Table, group: Places, is_fresh: npt.NDArray[np.bool_], events: Events, clock: Clock
) -> tuple[pa.Table, Spans]:
    """The rows by group and time, and which of them each group had before the step, and has at every event."""
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
    """The events that differ from what the same group had before; `totals` has all groups first, then all events."""
    group = np.concatenate((np.arange(events.groups), events.group))
    order = np.argsort(group, kind="stable")
    columns = groups.take(pa.array(group)).combine_chunks()
    named = dict(zip(columns.column_names, columns.columns, strict=True))
    whole = pa.table({**named, **totals}).take(pa.array(order)).combine_chunks()
    values = finish(aggregation, whole, {})
    kept = np.flatnonzero((order >= events.groups) & _differs(aggregation, values, whole[ROWS].to_numpy() > 0))
    return values.take(pa.array(kept)), events.time[order[kept] - events.groups]


def _live_counts(live: Live, owners: Places, clock: Clock, events: Events) -> Places:
    """How many different values every group had before the step, and has at every event.

    A value counts from its first time until its newest is too old; in between it may cease and begin again.
    """
    both = pa.concat_tables([live.known, live.fresh], promote_options="default")
    _, (value,) = number_rows([both], [name for name in both.column_names if name[0] in "gv"])
    time = both[TIME].to_numpy()
    order = np.lexsort((time, value))
    value, time, owner = value[order], time[order], owners[order]
    begins, ends = np.ones(len(value), bool), np.ones(len(value), bool)
    begins[1:] = (value[1:] != value[:-1]) | (time[1:] > clock.until(time[:-1]))
    ends[:-1] = begins[1:]
    lost, when = clock.losses(time[ends])
    gained = _count_at(events, owner[begins], time[begins])
    known = np.bincount(owners[: live.known.num_rows], minlength=events.groups)
    counts: Places = np.concatenate((known, gained - _count_at(events, owner[ends][lost], when)))
    return counts


def _count_at(events: Events, group: Places, time: Times) -> Places:
    """How many of some moments of groups every event has behind it."""
    order = np.lexsort((time, group))
    placed = GroupOrder(group[order], time[order])
    return placed.up_to(events.group, events.time) - placed.starts(events.group)


def _totals(aggregation: Aggregation, rows: pa.Table, spans: Spans) -> dict[str, pa.Array]:
    """The partial columns over every range of rows."""
    names = [name for name in rows.column_names if name[0] in "nsm" or name == ROWS]
    return {name: _total(aggregation, name, rows[name].combine_chunks(), spans) for name in names}


def _total(aggregation: Aggregation, name: str, column: pa.Array, spans: Spans) -> pa.Array:
    if name[0] == "n" or name == ROWS:
        return pa.array(sum_whole(column.fill_null(0).to_numpy(), spans))
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    spans = spans.among(valid)
    column = column.drop_null()
    if name[0] == "m":
        return _extremes(column, spans, largest=aggregation.calls[int(name[1:])].function == "max")
    if pa.types.is_floating(column.type):
        return pa.array(_floating_sums(column.to_numpy(), spans), mask=spans.lengths == 0)
    if pa.types.is_decimal(column.type):
        sums = sum_whole(unscaled(column), spans)
        refuse_overflow(sums.min(initial=0), sums.max(initial=0), 10**column.type.precision - 1)
        return decimals_of(sums, spans.lengths == 0, column.type)
    return pa.array(_whole_sums(aggregation, column.to_numpy(), spans), mask=spans.lengths == 0)


def _floating_sums(values: npt.NDArray[np.float64], spans: Spans) -> npt.NDArray[np.float64]:
    """Zeros are left out, so that rows that add nothing change no total by rounding."""
    with np.errstate(invalid="ignore", over="ignore"):
        return fold(values[values != 0], spans.among(values != 0), np.add, 0.0)


def _whole_sums(aggregation: Aggregation, values: npt.NDArray[np.int64], spans: Spans) -> npt.NDArray[np.int64]:
    if aggregation.ansi and np.abs(values.astype(np.float64)).sum() > LARGEST / 2:
        exact = sum_whole(values.astype(object), spans)
        refuse_overflow(exact.min(initial=0), exact.max(initial=0), LARGEST)
    sums: npt.NDArray[np.int64] = sum_whole(values, spans)
    return sums


def _extremes(column: pa.Array, spans: Spans, largest: bool) -> pa.Array:
    """By the rank of values, whatever their type."""
    if len(column) == 0:
        return pa.nulls(len(spans.start), column.type)
    encoded = column.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    codes = ranks[encoded.indices.to_numpy()]
    combine, nothing = (np.maximum, -1) if largest else (np.minimum, len(order))
    found = fold(codes, spans, combine, nothing)
    inside = np.where(spans.lengths == 0, 0, found)
    return encoded.dictionary.take(pa.array(order[inside], mask=spans.lengths == 0))


def _differs(aggregation: Aggregation, values: pa.RecordBatch, exists: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which rows have other values than the row before, or are there where that was not."""
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
