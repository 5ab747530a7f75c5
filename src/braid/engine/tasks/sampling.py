"""What an ingest task samples of its rows.

Frequent keys, with readable values, because a stored key may be a hash; the numbers that rows are routed by; and those
that they can be searched by.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.control.number_samples import Points, make_points, to_sample
from braid.control.paths import RowSample
from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.keys import Keys
from braid.kernels.limits import limits_of, number_values
from braid.kernels.ordering import range_values
from braid.kernels.readable import cut, readable
from braid.kernels.rows import Rows
from braid.kernels.sampling import frequent_keys, sample_places
from braid.optimizer.join_orders import build_probe
from braid.optimizer.paths import sampled_expressions
from braid.plan.expressions import Column, Expression, columns_of
from braid.plan.join import JoinPlan
from braid.state.observed.samples import FrequentKey, KeyCounts, NumberSample

READABLE = frozenset({"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string"})


class KeySample:
    """Adds up the frequent keys of a task's chunks."""

    def __init__(self, plan: JoinPlan, stream: int) -> None:
        part = None if plan.common_part is None else plan.parts[plan.common_part]
        self._side = None if part is None else part.side_of(stream)
        self._rows = 0
        self._found: dict[int, tuple[str, float]] = {}

    def add(self, keys: Keys, rows: Rows) -> None:
        self._rows += rows.length
        for key, count, place in frequent_keys(keys):
            text, before = self._found.get(key) or (self._text(rows.slice(place, place + 1)), 0.0)
            self._found[key] = (text, before + count)

    def counts(self) -> KeyCounts:
        keys = (FrequentKey(key, text, count) for key, (text, count) in self._found.items())
        return KeyCounts(self._rows, tuple(keys))

    def _text(self, row: Rows) -> str:
        """The key of one row; for an expression that only the JVM evaluates, the columns it reads."""
        if self._side is None:
            raise ValueError("there are no keys without a key part")
        read = self._side.columns if self._side.expression is None else (self._side.expression,)
        text = ", ".join(_value(expression, row) for expression in read)
        return cut(text)


class NumberSampling:
    """A sample of the numbers that a task's rows are routed by, and of what these rows reach of another stream."""

    def __init__(self, plan: JoinPlan, stream: int, most: int) -> None:
        self._routing = plan.streams[stream].routing
        others = (other.number for other in plan.streams if other.number != stream)
        reached = ((other, build_probe(plan, (stream,), other).routing) for other in others)
        self._reached = next(((other, bounds) for other, bounds in reached if bounds), None)
        self._most = most
        self._points: list[Points] = []

    def add(self, rows: Rows) -> None:
        if self._routing is None:
            return
        places = sample_places(rows.length, self._most)
        some = rows if len(places) == rows.length else rows.take(places)
        numbers = range_values(self._routing, some).astype(np.float64)
        lower = upper = None
        if self._reached is not None:
            limits, _ = limits_of(self._reached[1], some)
            lower, upper = limits.lower, limits.upper
        self._points.append(make_points(numbers, rows.length, lower, upper))

    def sample(self) -> NumberSample:
        return to_sample(np.concatenate(self._points), self._most) if self._points else NumberSample()


class RowSampling:
    """Samples up to `most` rows of a task: the values that access paths are chosen by."""

    def __init__(self, plan: JoinPlan, stream: int, most: int) -> None:
        self._expressions = sampled_expressions(plan, stream)
        self._names = dict.fromkeys(column.name for e in self._expressions for column in columns_of(e))
        self._most = most
        self._rows = 0
        self._tables: list[npt.NDArray[np.float64]] = []

    def add(self, rows: Rows) -> None:
        self._rows += rows.length
        if not self._expressions or not self._most:
            return
        places = pa.array(np.sort(sample_places(rows.length, self._most)))
        some = Rows({name: rows.columns[name].take(places) for name in self._names}, rows.types, len(places))
        self._tables.append(np.array([number_values(expression, some) for expression in self._expressions]))

    def taken(self) -> RowSample:
        if not self._tables:
            return RowSample(self._rows)
        table = np.concatenate(self._tables, axis=1)
        table = table[:, :: -(-table.shape[1] // self._most)]
        return RowSample(self._rows, tuple(tuple(column) for column in table.tolist()))


def _value(expression: Expression, row: Rows) -> str:
    if isinstance(expression, Column):
        return readable(row.array(expression.name)[0])
    if expression.type not in READABLE:
        return ", ".join(_value(column, row) for column in columns_of(expression))
    vector = evaluate(expression, row.vector)
    if vector.valid is not None and not vector.valid.all():
        return "None"
    value = vector.values[0]
    return readable(value) if isinstance(value, pa.Scalar) else str(value)
