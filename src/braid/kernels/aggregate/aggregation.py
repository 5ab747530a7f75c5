"""Partial totals: tables of groups that can be added up in any order.

Table 0 has a row per group (and per result time, where the aggregation slides or is ordered): the number of results,
and the partial columns of every call. Each call on distinct values has a table of its own, with a row per group and
value. A distinct selection has only table 0, without totals. Every table has a hash of its lookup key and is sorted by
that hash. Tables larger than a piece are grouped in shares, and then consist of several chunks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.errors import PredicateError
from braid.kernels.aggregate.columns import (
    EVERYTHING,
    FRESH,
    HASH,
    ROWS,
    TIME,
    combination_of,
    count_column,
    extreme_column,
    group_column,
    group_columns,
    sum_column,
    total_columns,
    value_columns,
)
from braid.kernels.aggregate.shares import shares_of
from braid.kernels.hashing import row_hashes
from braid.kernels.keys import Keys
from braid.plan.aggregation import Aggregation, Call

LARGEST = (1 << 63) - 1


def unit_rows(aggregation: Aggregation, results: pa.RecordBatch) -> list[pa.Table]:
    """The partial totals of every single result, as the list of tables."""
    groups = {group_column(n): _normal(results.column(n)) for n in range(aggregation.groups)}
    if not groups:
        groups = {EVERYTHING: pa.array(np.zeros(results.num_rows, np.int8))}
    times = {}
    if aggregation.time_of is not None:
        times = {TIME: results.column(results.num_columns - 1).cast(pa.int64())}
    main = {**groups, **times}
    if not aggregation.is_distinct:
        main[ROWS] = pa.array(np.ones(results.num_rows, np.int64))
    for number, call in enumerate(aggregation.calls):
        main |= _unit_columns(number, call, results)
    tables = [pa.table(main)]
    for table_number, number in enumerate(aggregation.sets, start=1):
        names = value_columns(aggregation, table_number)
        values = [_normal(results.column(n)) for n in aggregation.calls[number].arguments]
        table = pa.table({**groups, **dict(zip(names, values, strict=True)), **times})
        for name in names:
            table = table.filter(table[name].is_valid())
        tables.append(table)
    return tables


def add_up(aggregation: Aggregation, number: int, tables: Sequence[pa.Table], by_time: bool = False) -> pa.Table:
    """The sum of several tables of one number, with a row per key; `by_time`: per key and time."""
    plain = [table.drop_columns([HASH]) if HASH in table.column_names else table for table in tables]
    whole = pa.concat_tables(plain, promote_options="default")
    keys = key_columns(aggregation, number, whole, by_time)
    totals = [name for name in whole.column_names if name not in keys]
    _require_sums_fit(aggregation, whole, totals)
    combinations = [(name, combination_of(aggregation, name)) for name in totals]
    added = [share.group_by(keys, use_threads=False).aggregate(combinations) for share in shares_of(whole, keys)]
    named = [share.rename_columns([*keys, *totals]).select(whole.column_names).combine_chunks() for share in added]
    return pa.concat_tables(named)


def key_columns(aggregation: Aggregation, number: int, table: pa.Table, by_time: bool = False) -> list[str]:
    """The key columns of a table.

    In a sliding aggregation a set keeps the newest time of each value. Other sets and a distinct selection keep the
    first time.
    """
    keys = [*group_columns(aggregation), *value_columns(aggregation, number)]
    timed = by_time or (number == 0 and not aggregation.is_distinct)
    return [*keys, TIME] if timed and TIME in table.column_names else keys


def lookup_hashes(aggregation: Aggregation, number: int, table: pa.Table) -> Keys:
    """The hashes of the lookup keys of a table.

    A set is looked up by group and value, to find new values; a sliding one by group, to count its values again.
    """
    names = [*group_columns(aggregation), *([] if aggregation.slides else value_columns(aggregation, number))]
    return row_hashes([table[name] for name in names], table.num_rows)


def with_hashes(aggregation: Aggregation, number: int, table: pa.Table) -> pa.Table:
    """The table with the hash of its lookup key, sorted by it."""
    hashes = lookup_hashes(aggregation, number, table)
    order = np.argsort(hashes, kind="stable")
    return table.take(pa.array(order)).append_column(HASH, pa.array(hashes[order])).combine_chunks()


def group_hashes(aggregation: Aggregation, table: pa.Table) -> Keys:
    return row_hashes([table[name] for name in group_columns(aggregation)], table.num_rows)


def unseen(aggregation: Aggregation, number: int, fresh: pa.Table, known: pa.Table) -> pa.Table:
    """The rows of `fresh` that are not in `known`, with their first times; `known` has all rows of the same hashes."""
    keys = key_columns(aggregation, number, fresh)
    times = [name for name in fresh.column_names if name == TIME and name not in keys]
    both = [marked_as(0, fresh.select([*keys, *times])), marked_as(1, known.select(keys))]
    marked = pa.concat_tables(both, promote_options="default")
    wanted = [(FRESH, "max"), *((name, "min") for name in times)]
    found = [share.group_by(keys, use_threads=False).aggregate(wanted) for share in shares_of(marked, keys)]
    novel = [share.filter(pc.equal(share[f"{FRESH}_max"], 0)).drop_columns([f"{FRESH}_max"]) for share in found]
    return pa.concat_tables([share.rename_columns([*keys, *times]).combine_chunks() for share in novel])


def distinct_counts(aggregation: Aggregation, number: int, novel: pa.Table) -> pa.Table:
    """What new values of a set add to table 0: one each to the count of their group, and no result."""
    groups = novel.drop_columns(value_columns(aggregation, number))
    count = count_column(aggregation.sets[number - 1])
    return groups.append_column(count, pa.array(np.ones(novel.num_rows, np.int64)))


def groups_without_results(aggregation: Aggregation, tables: Sequence[pa.Table]) -> pa.Table:
    """The groups of some tables, each once, with no results."""
    names = group_columns(aggregation)
    rows = pa.concat_tables([table.select(names) for table in tables])
    groups = rows.group_by(names, use_threads=False).aggregate([])
    return groups.append_column(ROWS, pa.array(np.zeros(groups.num_rows, np.int64)))


def marked_as(mark: int, table: pa.Table) -> pa.Table:
    """The table with a mark on every row; adding up equal groups keeps the largest mark."""
    return table.append_column(FRESH, pa.array(np.full(table.num_rows, mark, np.int8)))


def finish(aggregation: Aggregation, groups: pa.Table, sets: dict[int, pa.Table]) -> pa.RecordBatch:
    """The output rows: groups with their values. `sets` has the live values of each set, in a sliding aggregation."""
    arrays = [_chunk(groups[group_column(n)]) for n in range(aggregation.groups)]
    wanted = [field.type for field in aggregation.schema]
    for number, call in enumerate(aggregation.calls):
        if number in sets:
            count = _distinct_count(group_columns(aggregation), groups, sets[number])
            groups = groups.append_column(count_column(number), count)
        arrays.append(call_value(groups, number, call, wanted[aggregation.groups + number]))
    typed = [array if array.type.equals(kind) else array.cast(kind) for array, kind in zip(arrays, wanted, strict=True)]
    return pa.RecordBatch.from_arrays(typed, schema=aggregation.schema)


def empty_total(aggregation: Aggregation) -> pa.RecordBatch:
    """The output of an aggregation without groups while there are no results: counts are 0, other values NULL."""
    are_counts = [call.function in ("count", "count_distinct") for call in aggregation.calls]
    arrays = [
        pa.array([0 if is_count else None], field.type)
        for is_count, field in zip(are_counts, aggregation.schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=aggregation.schema)


def only_group() -> pa.Table:
    """The single group of an aggregation without groups."""
    return pa.table({EVERYTHING: pa.array([0], pa.int8())})


def _unit_columns(number: int, call: Call, results: pa.RecordBatch) -> dict[str, pa.Array]:
    if call.function == "count_distinct":
        return {}
    if not call.arguments:
        return {}
    value = results.column(call.arguments[0])
    if call.function == "count":
        return {count_column(number): value.is_valid().cast(pa.int64())}
    if call.function in ("min", "max"):
        return {extreme_column(number): orderable(value)}
    return {
        count_column(number): value.is_valid().cast(pa.int64()),
        sum_column(number): value.cast(_sum_type(call, value.type)),
    }


def _sum_type(call: Call, kind: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal(kind):
        return pa.decimal128(38, kind.scale)
    return pa.int64() if call.function == "sum" and pa.types.is_integer(kind) else pa.float64()


def _normal(column: pa.Array) -> pa.Array:
    """Floating numbers normalized for grouping: one NaN, one zero."""
    if not pa.types.is_floating(column.type):
        return column
    values = column.fill_null(0.0).to_numpy() + 0.0
    values[np.isnan(values)] = np.nan
    return pa.array(values, column.type, mask=_nulls(column))


def orderable(column: pa.Array) -> pa.Array:
    """Floating numbers as integers in Spark's order, where NaN is the largest; other types are unchanged."""
    if not pa.types.is_floating(column.type):
        return column
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    return pa.array(np.where(bits < 0, bits ^ np.int64(LARGEST), bits), mask=_nulls(column))


def _from_orderable(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    bits = column.fill_null(0).to_numpy()
    values = np.where(bits < 0, bits ^ np.int64(LARGEST), bits).view(np.float64)
    return pa.array(values, mask=_nulls(column)).cast(wanted)


def _nulls(column: pa.Array) -> npt.NDArray[np.bool_] | None:
    return None if column.null_count == 0 else column.is_null().to_numpy(zero_copy_only=False)


def _require_sums_fit(aggregation: Aggregation, table: pa.Table, totals: list[str]) -> None:
    """Refuse a sum of integers that does not fit 64 bits, as Spark's ANSI mode does."""
    columns = total_columns(aggregation)
    sums = [name for name in totals if name in columns and columns[name].kind == "sum"]
    for name in sums if aggregation.ansi else ():
        if table[name].type != pa.int64():
            continue
        edges = pc.min_max(table[name])
        largest = max(abs(edges["min"].as_py() or 0), abs(edges["max"].as_py() or 0))
        if largest * table.num_rows <= LARGEST:
            continue
        keys = key_columns(aggregation, 0, table)
        exact = table.select(keys).append_column("wide", table[name].cast(pa.decimal128(19, 0)))
        exact_sums = exact.group_by(keys, use_threads=False).aggregate([("wide", "sum")])["wide_sum"]
        extremes = pc.min_max(exact_sums)
        refuse_overflow(int(extremes["min"].as_py() or 0), int(extremes["max"].as_py() or 0), LARGEST)


def refuse_overflow(least: int, most: int, largest: int) -> None:
    """Raise if the smallest or the largest sum is outside the range of its type."""
    if max(most, -1 - least) > largest:
        raise PredicateError(
            "An aggregation was computed and a sum overflowed.",
            "Spark's ANSI mode allows only sums that fit their type.",
            "sum a wider type, as in sum(CAST(x AS DECIMAL(38, 0))) or sum(CAST(x AS DOUBLE)).",
        )


def _distinct_count(names: list[str], groups: pa.Table, live: pa.Table) -> pa.Array:
    """The number of distinct values of each group, whose columns have these names."""
    one = live.select(names).append_column("n", pa.array(np.ones(live.num_rows, np.int64)))
    none = groups.select(names).append_column("n", pa.array(np.zeros(groups.num_rows, np.int64)))
    place = none.append_column("place", pa.array(np.arange(groups.num_rows)))
    one = one.append_column("place", pa.array(np.full(live.num_rows, groups.num_rows)))
    found = pa.concat_tables([place, one]).group_by(names, use_threads=False)
    totals = found.aggregate([("n", "sum"), ("place", "min")])
    totals = totals.filter(pc.less(totals["place_min"], groups.num_rows)).sort_by("place_min")
    return totals["n_sum"]


def call_value(groups: pa.Table, number: int, call: Call, wanted: pa.DataType) -> pa.Array:
    """The value of a call for every group."""
    if call.function in ("count", "count_distinct"):
        name = count_column(number) if call.arguments else ROWS
        if name not in groups.column_names:
            return pa.array(np.zeros(groups.num_rows, np.int64))
        return _chunk(groups[name]).fill_null(0)
    if call.function in ("min", "max"):
        extreme = _chunk(groups[extreme_column(number)])
        return _from_orderable(extreme, wanted) if pa.types.is_floating(wanted) else extreme
    total, count = _chunk(groups[sum_column(number)]), _chunk(groups[count_column(number)])
    if call.function == "sum":
        return total
    if pa.types.is_decimal(total.type):
        return _decimal_average(total, count, wanted)
    return pc.divide(total, pc.if_else(pc.equal(count, 0), pa.scalar(None, pa.int64()), count).cast(pa.float64()))


def _decimal_average(total: pa.Array, count: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Sum divided by count, with more digits, rounded half away from zero, as Spark divides decimals."""
    absent = pc.or_(total.is_null(), pc.equal(count, 0)).to_numpy(zero_copy_only=False)
    sums = unscaled(pc.if_else(pa.array(absent), pa.scalar(0, total.type), total))
    counts = np.where(absent, 1, count.fill_null(1).to_numpy()).astype(object)
    scaled = np.abs(sums) * 10 ** (wanted.scale - total.type.scale)
    rounded = (2 * scaled + counts) // (2 * counts)
    return decimals_of(np.where(sums < 0, -rounded, rounded), absent, wanted)


def unscaled(column: pa.Array) -> npt.NDArray[np.object_]:
    """Decimals of 128 bits as Python integers."""
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    low, high = words[::2].view(np.uint64), words[1::2]
    return np.asarray(high.astype(object) * (1 << 64) + low.astype(object))


def decimals_of(values: npt.NDArray[np.object_], absent: npt.NDArray[np.bool_], wanted: pa.DataType) -> pa.Array:
    words = np.empty((len(values), 2), np.int64)
    words[:, 0] = (values & ((1 << 64) - 1)).astype(np.uint64).view(np.int64)
    words[:, 1] = (values >> 64).astype(np.int64)
    whole = pa.Array.from_buffers(wanted, len(values), [None, pa.py_buffer(words)])
    return pc.if_else(pa.array(absent), pa.scalar(None, wanted), whole)


def _chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
