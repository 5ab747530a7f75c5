"""Spark's own log of the query, in the checkpoint: the batches it has planned and committed.

`offsets/<batch>` is written when a batch is planned and never changed. It has the time of planning, so a batch that is
planned again has different content.
"""

from __future__ import annotations

import xxhash

from braid.state.files import Files

SPARK_DIRECTORY = "spark"


def last_commit(files: Files, path: str) -> int:
    """The newest batch that Spark has committed; -1 before the first."""
    return max((int(name) for name in files.list(f"{path}/commits") if name.isdigit()), default=-1)


def planned_rows(files: Files, path: str, batch: int) -> str | None:
    """A digest of the rows that Spark has planned for a batch; None if its log has no entry."""
    try:
        return xxhash.xxh3_64_hexdigest(files.read(f"{path}/offsets/{batch}"))
    except FileNotFoundError:
        return None
