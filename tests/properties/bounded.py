"""Rows by their event times, and the files of a checkpoint: what the tests of bounds count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

SECOND = 1_000_000
TYPES = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("k", pa.int32())])


def rows(first_id: int, seconds: np.ndarray, keys: int = 3) -> pa.Table:
    """Rows at the given event times."""
    times = pa.array((seconds * SECOND).astype(np.int64)).cast(TYPES.field("ts").type)
    ids = np.arange(first_id, first_id + len(seconds))
    return pa.table([pa.array(ids), times, pa.array((ids % keys).astype(np.int32))], schema=TYPES)


def own_files(checkpoint: Path) -> int:
    """The files of a checkpoint that are Braid's; Spark keeps its own for a hundred batches."""
    return sum(path.is_file() and "spark" not in path.relative_to(checkpoint).parts for path in checkpoint.rglob("*"))
