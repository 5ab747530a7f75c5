"""The frequent keys of an ingest task, with readable values: a stored key may be a hash."""

from __future__ import annotations

import pyarrow as pa

from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.keys import Keys
from braid.kernels.readable import cut, readable
from braid.kernels.rows import Rows
from braid.kernels.sampling import frequent_keys
from braid.plan.expressions import Column, Expression, columns_of
from braid.plan.join import JoinPlan
from braid.state.manifest import FrequentKey, KeyCounts

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
