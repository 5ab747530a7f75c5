"""Settings of Spark for Braid's own query, where the session has not set them itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from braid.optimizer.exchange import Exchange
from braid.state.locations import LOCAL_SCHEMES, scheme_of

FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"

ADAPTIVE = "spark.sql.adaptive.streaming.stateless.enabled"

PACKAGES = (
    "org.apache.spark.sql.execution.streaming.checkpointing",
    "org.apache.spark.sql.execution.streaming",
)
BATCH_BYTES = 64 << 20
BATCH_RECORDS = 50_000
# Of at most 64 KB each, while batches of fewer rows would take longer: 2 GB is what an Arrow batch can hold.
BATCH_PIECES = 10_000
UNLIMITED = (1 << 31) - 1
WIDTHS: dict[type[st.DataType], int] = {
    st.BooleanType: 1,
    st.ByteType: 1,
    st.ShortType: 2,
    st.IntegerType: 4,
    st.LongType: 8,
    st.FloatType: 4,
    st.DoubleType: 8,
    st.DateType: 4,
    st.TimestampType: 8,
    st.TimestampNTZType: 8,
    st.DayTimeIntervalType: 8,
    st.DecimalType: 16,
}


@contextmanager
def applied(spark: SparkSession, settings: Mapping[str, str], required: Mapping[str, str]) -> Iterator[None]:
    """Within this context, a started query gets these settings, except those that the session has set.

    It gets the `required` ones in any case.
    """
    before = {name: spark.conf.get(name, None) for name in {**settings, **required}}
    chosen = {name: value for name, value in settings.items() if before[name] is None} | dict(required)
    for name, value in chosen.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in chosen:
            own = before[name]
            if own is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, own)


def required_by(exchange: Exchange) -> dict[str, str]:
    """Settings without which an exchange does not work.

    Adaptive execution runs the tasks before a shuffle when it plans the batch, before the step has begun that gives
    them their command.
    """
    return {ADAPTIVE: "false"} if exchange == "shuffle" else {}


def quick_log(spark: SparkSession, location: str) -> dict[str, str]:
    """How Spark writes its own log of the query.

    On local storage its default file manager starts a process for every file's permissions, about 50 ms each and four
    of them a batch. The other file manager writes the same files, checksums included, in a fifth of that time, and its
    renames are also atomic on a local filesystem.
    """
    manager = _find_manager(spark) if scheme_of(location) in LOCAL_SCHEMES else None
    return {} if manager is None else {FILE_MANAGER: manager}


def quick_crossing(frames: Iterable[DataFrame], exchange: Exchange) -> dict[str, str]:
    """How rows are transferred to Python.

    Spark ends an Arrow batch by its bytes, and measures them again for every row: more than half of the transfer cost
    of narrow rows. Where all columns have a fixed width, a number of rows bounds the bytes as well. The same number
    bounds the pieces of a shuffle, which are larger than such rows.
    """
    widths = [_width(frame.schema) for frame in frames]
    if any(width is None for width in widths):
        return {}
    widest = max((width for width in widths if width is not None), default=1)
    most = BATCH_RECORDS if exchange == "files" else BATCH_PIECES
    records = max(1, min(most, BATCH_BYTES // max(1, widest)))
    return {RECORDS: str(records), BYTES: str(UNLIMITED)}


def _width(schema: st.StructType) -> int | None:
    """The bytes of a row; None if they depend on its values."""
    widths = [WIDTHS.get(type(field.dataType)) for field in schema.fields]
    known = [width for width in widths if width is not None]
    return sum(known) if len(known) == len(widths) else None


def _find_manager(spark: SparkSession) -> str | None:
    # By its whole name: asked for part by part, the JVM searches all its archives for each package's name.
    utilities: Any = getattr(spark.sparkContext._jvm, "org.apache.spark.util.Utils")
    for package in PACKAGES:
        name = f"{package}.FileSystemBasedCheckpointFileManager"
        try:
            utilities.classForName(name, True, False)
        except Py4JJavaError:
            continue
        return name
    return None
