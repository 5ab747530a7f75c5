"""64-bit keys: the value itself where the type fits 64 bits, else a hash, and their combinations.

Equal values have equal keys, with Spark's equality: NaN equals NaN and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.rows import Pairs, Rows
from braid.plan.join import Index, JoinPlan, KeyPart

Keys = npt.NDArray[np.int64]

EXACT_TYPES = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz"}
)


def is_exact(spark_type: str) -> bool:
    """Whether values of the type are their own 64-bit key."""
    if spark_type.startswith("decimal("):
        return int(spark_type[len("decimal(") :].split(",")[0]) <= 18
    return spark_type in EXACT_TYPES


def stored_keys(plan: JoinPlan, part: int, number: int, rows: Rows) -> Keys:
    """The keys of one part of stored rows, from the first of their streams that has a side in it."""
    source = plan.source_of(part, number)
    return part_keys(plan.parts[part], number if source is None else source, rows)


def common_keys(plan: JoinPlan, number: int, rows: Rows) -> Keys | None:
    """The keys that all streams share, if there are any."""
    return None if plan.common_part is None else stored_keys(plan, plan.common_part, number, rows)


def part_keys(part: KeyPart, stream: int, rows: Rows | Pairs) -> Keys:
    """The keys of one part, from the side that `stream` contributes."""
    side = part.side_of(stream)
    if side is None:
        raise KeyError(f"stream {stream} has no side in key part {part.number}")
    hashed = part.hash_column(stream)
    if hashed is not None or side.expression is None:
        return np.asarray(rows.vector(str(hashed)).values)
    return value_keys(np.asarray(evaluate(side.expression, rows.vector).values))


def value_keys(values: npt.NDArray[np.generic]) -> Keys:
    """Numbers as 64-bit keys; floating-point ones by their canonical bits."""
    if values.dtype.kind == "f":
        wide = values.astype(np.float64)
        wide[np.isnan(wide)] = np.nan
        wide += 0.0
        return wide.view(np.int64)
    return values.astype(np.int64, copy=False)


def combine(keys: Sequence[Keys]) -> Keys:
    """One key combined from several; a single key is unchanged."""
    if len(keys) == 1:
        return keys[0]
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = scramble(mixed + np.uint64(0x9E3779B97F4A7C15) + key.view(np.uint64)).view(np.uint64)
    return mixed.view(np.int64)


def scramble(keys: npt.NDArray[np.generic]) -> Keys:
    """A bijection of 64-bit words that spreads adjacent keys (the finaliser of SplitMix64)."""
    words = keys.view(np.uint64).copy()
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words.view(np.int64)


def buckets(keys: Keys, count: int) -> npt.NDArray[np.int64]:
    """An even spread of keys over `count` buckets."""
    return (scramble(keys).view(np.uint64) % np.uint64(count)).astype(np.int64)


def index_keys(plan: JoinPlan, index: Index, number: int, rows: Rows) -> Keys | None:
    """The keys stored rows are sorted by in an index; None when the index has no key parts."""
    if not index.parts:
        return None
    return combine([stored_keys(plan, part, number, rows) for part in index.parts])
