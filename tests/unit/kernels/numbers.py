"""Numbers of every stored type, the extremes among them, and as they are stored in a sorted index."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

TYPES: dict[str, st.SearchStrategy[Any]] = {
    "int8": st.integers(-128, 127),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**63 - 1, -(2**63)]), st.integers(-3, 3)),
    "float32": st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, 0.1, math.nan, math.inf])),
    "float64": st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 0.1, math.nan, -math.inf])),
}  # fmt: skip


def numbers_of(values: list[Any], dtype: str) -> np.ndarray:
    numbers = np.array(values, dtype)
    return np.where(np.isfinite(numbers), numbers, np.nan).astype(dtype) if numbers.dtype.kind == "f" else numbers
