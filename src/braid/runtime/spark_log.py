"""Spark's own log of a streaming query: where its settings for it come from.

On local storage Spark writes its logs through a file manager that starts a process for every file's permissions, some
50 ms each and four of them a batch. Its other file manager writes the same files, checksums included, in a fifth of
that, and renames them as atomically on a local filesystem. It is chosen for Braid's own query only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from braid.state.files import LOCAL_SCHEMES, scheme_of

FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
PACKAGES = (
    "org.apache.spark.sql.execution.streaming.checkpointing",
    "org.apache.spark.sql.execution.streaming",
)


@contextmanager
def quick_log(spark: SparkSession, location: str) -> Iterator[None]:
    """While this lasts, a query that is started writes its log the quick way, if its checkpoint is local."""
    chosen = spark.conf.get(FILE_MANAGER, None)
    manager = _find_manager(spark) if chosen is None and scheme_of(location) in LOCAL_SCHEMES else None
    if manager is None:
        yield
        return
    spark.conf.set(FILE_MANAGER, manager)
    try:
        yield
    finally:
        spark.conf.unset(FILE_MANAGER)


def _find_manager(spark: SparkSession) -> str | None:
    jvm: Any = spark.sparkContext._jvm
    for package in PACKAGES:
        name = f"{package}.FileSystemBasedCheckpointFileManager"
        try:
            jvm.org.apache.spark.util.Utils.classForName(name, True, False)
        except Py4JJavaError:
            continue
        return name
    return None
