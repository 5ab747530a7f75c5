"""The locations of a run must not contain each other, or it would read what it wrote."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession

from braid.analysis.logical_plans import plan_nodes
from braid.errors import SinkError
from braid.spark.storage import PATTERNS, hadoop_location
from braid.state.files import locate
from braid.state.locations import LOCAL_SCHEMES, scheme_of


def check_apart(spark: SparkSession, frames: Sequence[DataFrame], checkpoint: str | None, path: str | None) -> None:
    """Raise SinkError if the path, the checkpoint and the input directories overlap.

    A directory whose name starts with `_` or `.` may be inside another one: Spark's readers ignore it.
    """
    state = None if checkpoint is None else _plain(spark, checkpoint)
    results = None if path is None else _plain(spark, path)
    if results is not None and state is not None and (_contains(results, state) or _contains(state, results)):
        raise SinkError(
            f"The path {path!r} and the checkpointLocation {checkpoint!r} overlap: readers of the results "
            "would find the state among them.",
            hint="Give the results a directory of their own.",
        )
    for name in (text for frame in frames for text in _directories(frame)):
        read = _plain(spark, name)
        for what, given, place in (("path", path, results), ("checkpointLocation", checkpoint, state)):
            if place is not None and (_contains(read, place) or (what == "path" and _contains(place, read))):
                raise SinkError(
                    f"The {what} {given!r} and the input {name!r} overlap: the query would read what it writes.",
                    hint="Give what the query writes a directory of its own.",
                )


def _contains(outer: str, inner: str) -> bool:
    """Whether a location is another one, or inside it and visible to readers."""
    if PATTERNS & set(outer) and fnmatch.fnmatchcase(inner, outer):
        return True
    if inner.rstrip("/") == outer.rstrip("/"):
        return True
    if not inner.startswith(f"{outer.rstrip('/')}/"):
        return False
    below = inner[len(outer.rstrip("/")) + 1 :].split("/")
    return not any(_is_hidden(part) for part in below)


def _is_hidden(name: str) -> bool:
    """Whether Spark's readers ignore a directory; one with a `=` is a partition to them."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _plain(spark: SparkSession, location: str) -> str:
    """A canonical form of a location: local ones without links and dots, others unchanged."""
    found = hadoop_location(spark, location)
    return os.path.realpath(locate(found)[1]) if scheme_of(found) in LOCAL_SCHEMES else found


def _directories(frame: DataFrame) -> Iterator[str]:
    """The directories that the file sources of a streaming DataFrame read."""
    for kind, node in plan_nodes(frame):
        if kind == "StreamingRelation":
            given = node.dataSource().options().get("path")
            if given.isDefined():
                yield str(given.get())
