"""Python predicates with an SQL expression that means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def near(left: pa.Array, right: pa.Array) -> Any:
    """Null where a side is null: NULL is not true."""
    return pc.less_equal(pc.abs(pc.subtract(left.cast(pa.int64()), right.cast(pa.int64()))), 2)


def same_parity(left: pa.Array, right: pa.Array) -> Any:
    """A NumPy answer."""
    total = pc.add(left.cast(pa.int64()), right.cast(pa.int64()))
    return pc.fill_null(total, 1).to_numpy() % 2 == 0


def within_text(left: pa.Array, right: pa.Array) -> Any:
    """Row by row, as an expensive function would."""
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    return np.array([a is not None and b is not None and a in b for a, b in pairs], bool)


# By the class of columns both arguments have: the function, and its twin in SQL.
TWINS = {
    "int": ((near, "abs({0} - {1}) <= 2"), (same_parity, "({0} + {1}) % 2 = 0")),
    "text": ((within_text, "contains({1}, {0})"),),
}
