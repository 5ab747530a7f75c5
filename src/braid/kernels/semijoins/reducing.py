"""Semijoins on partial tuples: which tuples of probing rows and which stored rows can match at all.

No window is checked: a partial tuple stands for rows of many times. So what is found is a superset of what the lookup
finds, and the lookup decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from braid.kernels.checks import prepare_checks
from braid.kernels.join import match
from braid.kernels.keys import combine, index_keys, part_keys, value_keys
from braid.kernels.limits import limits_of
from braid.kernels.ordering import SortedIndex, range_values, sort_positions
from braid.kernels.probing import Probing, Searchable, StoredSegment
from braid.kernels.rows import Positions, Rows
from braid.kernels.semijoins.tuple_tables import Tuples
from braid.plan.instants import EARLIEST_US, LATEST_US
from braid.plan.join import JoinPlan, Probe
from braid.plan.sites import Partial


def probing_tuples(plan: JoinPlan, probe: Probe, columns: Sequence[str], rows: Rows) -> Tuples:
    """The partial tuple of each probing row: the key of the lookup, or the given columns."""
    if not probe.keys:
        return column_tuples(columns, rows)
    keys = combine([part_keys(plan.parts[part], stream, rows) for part, stream in probe.keys])
    return keys.reshape(-1, 1)


def stored_tuples(plan: JoinPlan, stream: int, partial: Partial, rows: Rows) -> Tuples:
    """The partial tuple of each stored row of a stream."""
    if partial.columns:
        return column_tuples(partial.columns, rows)
    keys = index_keys(plan, plan.indexes(stream)[partial.index], stream, rows)
    if keys is None:
        raise ValueError("an index without keys has no partial tuples")
    return keys.reshape(-1, 1)


def column_tuples(columns: Sequence[str], rows: Rows) -> Tuples:
    """Columns of numbers as 64-bit values."""
    return np.stack([value_keys(np.asarray(rows.vector(name).values)) for name in columns], axis=1)


def tuple_rows(tuples: Tuples, columns: Sequence[str], types: Mapping[str, str], schema: pa.Schema) -> Rows:
    """Partial tuples of columns as rows again."""
    arrays = {name: _column(tuples[:, place], schema.field(name).type) for place, name in enumerate(columns)}
    return Rows(arrays, types, len(tuples))


def matching(
    plan: JoinPlan, probe: Probe, tuples: Tuples, rows: Rows | None, segment: Searchable
) -> Iterator[tuple[Positions, Positions]]:
    """The (probing tuple, stored row) pairs of a segment that can match; `rows` are the tuples' columns, if any.

    Stored rows are counted from the first of the segment.
    """
    if len(tuples) == 0:
        return
    probing, before = _unbounded(plan, probe, tuples, rows), 0
    for part in segment.parts():
        for pairs in match(probing, part, None):
            yield pairs.left_positions, pairs.right_positions + before
        before += part.length


def tuple_segment(probe: Probe, rows: Rows) -> StoredSegment:
    """Partial tuples of stored rows as a segment that a lookup searches."""
    numbers = None if probe.range is None else range_values(probe.range, rows)
    positions = None if numbers is None else sort_positions(None, numbers)
    ordered = None if numbers is None or positions is None else numbers[positions]
    index = SortedIndex(rows.length, None, ordered, positions)
    return StoredSegment(rows, (index,) * (probe.index + 1), EARLIEST_US, LATEST_US)


def _unbounded(plan: JoinPlan, probe: Probe, tuples: Tuples, rows: Rows | None) -> Probing:
    """Probing tuples that any time of a stored row suits."""
    count = len(tuples)
    own = Rows({}, {}, count) if rows is None else rows
    limits = limits_of(probe.bounds, own)[0] if probe.range is not None else None
    return Probing(
        plan=plan,
        probe=probe,
        rows=own,
        checks=prepare_checks(plan.conjuncts[number] for number in probe.checks),
        keys=tuples[:, 0] if probe.keys else None,
        limits=limits,
        windows=(),
        earliest=np.full(count, EARLIEST_US),
        latest=np.full(count, LATEST_US),
        headrooms=(),
    )


def _column(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    """64-bit values as a column of their type."""
    if pa.types.is_floating(kind):
        return pa.array(values.view(np.float64)).cast(kind, safe=False)
    if pa.types.is_boolean(kind):
        return pa.array(values != 0)
    if pa.types.is_date32(kind):
        return pa.array(values.astype(np.int32)).cast(kind)
    return pa.array(values).cast(kind, safe=False)
