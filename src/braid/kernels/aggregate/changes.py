"""The changes of groups over result time: one row per group and per time at which its values change.

Partial totals are sorted by group and time. An event is a group and a time at which it gains or loses results. Its
totals are those of the rows inside the sliding interval that ends at this time. The clock is the sequence of released
result times: a result is lost at the first of them whose interval no longer contains it.

Groups and extremes may be large and are the same for many events. So they are numbers until rows are emitted, in pieces
of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.aggregate.aggregation import (
    LARGEST,
    call_value,
    decimals_of,
    finish,
    refuse_overflow,
    unscaled,
)
from braid.kernels.aggregate.columns import (
    ROWS,
    TIME,
    Total,
    count_column,
    extreme_column,
    group_columns,
    total_columns,
    value_columns,
)
from braid.kernels.aggregate.shares import shares_of
from braid.kernels.aggregate.spans import Places, Spans, fold, sum_whole
from braid.kernels.sizes import Sizes, byte_cuts, row_sizes, value_sizes
from braid.plan.aggregation import Aggregation

SMALLEST = -LARGEST - 1
Times = npt.NDArray[np.int64]
Changes = tuple[pa.RecordBatch, Times]


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
) -> Iterator[Changes]:
    """The rows to emit and their times, in pieces. `known` rows counted before the step; no `fresh` row is older.

    `sets` has the values of each call on distinct values, where the aggregation slides.
    """
    rows = pa.concat_tables([known, fresh], promote_options="default")
    others = [table for live in sets.values() for table in (live.known, live.fresh)]
    groups, (group, *owners) = number_rows([rows, *others], group_columns(aggregation))
    is_fresh = np.arange(rows.num_rows) >= known.num_rows
    events = _events(groups.num_rows, group, rows[TIME].to_numpy(), is_fresh, clock)
    ranked, extremes = _ranked(aggregation, rows)
    totals = _totals(aggregation, *_ranges(ranked, group, is_fresh, events, clock))
    for (call, live), mine in zip(sets.items(), zip(owners[::2], owners[1::2], strict=True), strict=True):
        names = [*group_columns(aggregation), *value_columns(aggregation, aggregation.sets.index(call) + 1)]
        totals[count_column(call)] = pa.array(_live_counts(live, names, np.concatenate(mine), clock, events))
    yield from _differing(aggregation, groups, extremes, events, totals)


def number_rows(tables: Sequence[pa.Table], names: list[str]) -> tuple[pa.Table, list[Places]]:
    """The distinct rows of some columns, and for every row of every table the number of its distinct row."""
    keys = pa.concat_tables([table.select(names) for table in tables])
    placed = keys.append_column("place", pa.array(np.arange(keys.num_rows)))
    numbers = np.empty(keys.num_rows, np.int64)
    distinct, count = [keys.slice(0, 0)], 0
    for share in shares_of(placed, names):
        found = share.group_by(names, use_threads=False).aggregate([("place", "list")])
        lists = found["place_list"].combine_chunks()
        own = np.arange(count, count + found.num_rows)
        numbers[lists.flatten().to_numpy()] = np.repeat(own, lists.value_lengths().to_numpy())
        distinct.append(found.select(names))
        count += found.num_rows
    edges = np.cumsum([table.num_rows for table in tables])[:-1]
    return pa.concat_tables(distinct), np.split(numbers, edges)


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


def _ranked(aggregation: Aggregation, rows: pa.Table) -> tuple[pa.Table, dict[str, pa.Array]]:
    """The totals of rows, with ranks instead of extremes, and by column the extremes in order.

    Ranks work for every type.
    """
    columns, extremes = total_columns(aggregation), {}
    rows = rows.select([name for name in rows.column_names if name in columns or name == TIME])
    for place, name in enumerate(rows.column_names):
        if name in columns and columns[name].kind == "extreme":
            ranks, extremes[name] = _ranks_of(rows[name])
            rows = rows.set_column(place, name, ranks)
    return rows, extremes


def _ranks_of(column: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """The rank of every value among the distinct ones, and these in order."""
    encoded = column.dictionary_encode()
    if encoded.num_chunks == 0:
        return pa.array([], pa.int64()), pa.array([], column.type)
    # All chunks have one dictionary.
    values = encoded.chunks[-1].dictionary
    order = pc.array_sort_indices(values).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    indices = pa.concat_arrays([chunk.indices for chunk in encoded.chunks])
    return pa.array(ranks).take(indices), values.take(pa.array(order))


def _differing(
    aggregation: Aggregation,
    groups: pa.Table,
    extremes: dict[str, pa.Array],
    events: Events,
    totals: dict[str, pa.Array],
) -> Iterator[Changes]:
    """The events whose values differ from the group's previous ones; `totals` has all groups, then all events."""
    group = np.concatenate((np.arange(events.groups), events.group))
    order = np.argsort(group, kind="stable")
    kept = order[(order >= events.groups) & _differs(aggregation, pa.table(totals).take(pa.array(order)))]
    sizes = _row_sizes(groups)[group[kept]]
    for name, values in extremes.items():
        sizes = sizes + _sizes_at(values, totals[name].take(pa.array(kept)))
    for cut in byte_cuts(sizes):
        some = pa.array(kept[cut])
        named = {name: groups[name].take(pa.array(group[kept[cut]])) for name in groups.column_names}
        found = {name: column.take(some) for name, column in totals.items()}
        found |= {name: values.take(found[name]) for name, values in extremes.items()}
        yield finish(aggregation, pa.table({**named, **found}), {}), events.time[kept[cut] - events.groups]


def _row_sizes(table: pa.Table) -> Sizes:
    batches = [row_sizes(batch.columns, batch.num_rows) for batch in table.to_batches()]
    return np.concatenate([np.zeros(0, np.int64), *batches])


def _sizes_at(values: pa.Array, ranks: pa.Array) -> Sizes | int:
    """The bytes of the values with some ranks."""
    every = value_sizes(values)
    if isinstance(every, int):
        return every
    return every[ranks.fill_null(0).to_numpy()] if len(every) else 0


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
        return _extremes(column.to_numpy(), spans, largest=total.combination == "max")
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


def _extremes(ranks: npt.NDArray[np.int64], spans: Spans, largest: bool) -> pa.Array:
    """The ranks of extremes."""
    combine, neutral = (np.maximum, -1) if largest else (np.minimum, LARGEST)
    return pa.array(fold(ranks, spans, combine, neutral), mask=spans.lengths == 0)


def _differs(aggregation: Aggregation, totals: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows differ from the row before in a value, or in whether the group has results at all."""
    exists = totals[ROWS].to_numpy() > 0
    differs = np.ones(totals.num_rows, bool)
    differs[1:] = exists[1:] != exists[:-1]
    for number, call in enumerate(aggregation.calls):
        kind = aggregation.schema.field(aggregation.groups + number).type
        is_extreme = call.function in ("min", "max")
        column = totals[extreme_column(number)] if is_extreme else call_value(totals, number, call, kind)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        differs[1:] |= ~_same(column.slice(1), column.slice(0, max(0, len(column) - 1)))
    return differs


def _same(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    same = pc.or_(pc.equal(left, right).fill_null(False), pc.and_(left.is_null(), right.is_null()))
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left).fill_null(False), pc.is_nan(right).fill_null(False)))
    return np.asarray(same.to_numpy(zero_copy_only=False))
