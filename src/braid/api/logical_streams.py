"""The streams of a join as logical streams, and the checks that they can be joined."""

from __future__ import annotations

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from braid.analysis.catalyst import braid_type
from braid.api.stream import Stream
from braid.errors import StreamError, WindowError
from braid.plan.expressions import Column
from braid.plan.logical import LogicalStream
from braid.spark.transport import with_spark_types


def logical_stream(number: int, stream: Stream, never_late: bool) -> LogicalStream:
    """A stream for the logical plan. `never_late`: rows are never late unless the stream has a lateness."""
    fields = [StructField(f"{stream.name}.{field.name}", field.dataType, True) for field in stream.schema.fields]
    lateness_us = stream.lateness_us if stream.lateness_given or not never_late else None
    return LogicalStream(
        name=stream.name,
        number=number,
        time=f"{stream.name}.{stream.time}",
        columns=tuple(Column(field.name, number, braid_type(field.dataType.simpleString())) for field in fields),
        schema=with_spark_types(to_arrow_schema(StructType(fields), timezone="UTC"), StructType(fields)),
        window_us=stream.window.duration_us,
        window_rows=stream.window.count,
        automatic=stream.window.kind == "auto",
        lateness_us=lateness_us,
        idle_after_ms=stream.idle_after_ms,
        max_ahead_us=stream.max_ahead_us,
        site=stream.site,
    )


def check_alike(streams: tuple[Stream, ...]) -> None:
    """All streaming or all static, of one session, with event times of one type."""
    kinds = {stream.df.isStreaming for stream in streams}
    if len(kinds) > 1:
        static = [stream.name for stream in streams if not stream.df.isStreaming]
        raise StreamError(
            f"A join takes streaming inputs or static ones, not both; static here: {', '.join(static)}.",
            hint="Read all of them with spark.readStream, or all with spark.read.",
        )
    times = {stream.schema[stream.time].dataType.simpleString() for stream in streams}
    if len(times) > 1:
        found = ", ".join(f"{s.name}.{s.time} {s.schema[s.time].dataType.simpleString()}" for s in streams)
        raise StreamError(
            f"The event times of a join must have one type, but are {found}.",
            hint="Cast one of them, for example with df.withColumn(..., col(...).cast('timestamp')).",
        )


def check_row_based(streams: tuple[Stream, ...], ordered: bool) -> None:
    """Refuse row-based windows where the order of rows is unknown or undefined."""
    row_based = [stream for stream in streams if stream.window.kind == "rows"]
    if row_based and row_based[0].df.isStreaming and not ordered:
        raise WindowError(
            f"The window of stream {row_based[0].name!r} counts rows in the order of event time, but the results of "
            "this join have no order.",
            hint="Add .ordered() to the join, or give the stream a window of time.",
        )
    for stream in row_based:
        for field in stream.schema.fields:
            if isinstance(field.dataType, ArrayType | MapType | StructType):
                raise WindowError(
                    f"The window of stream {stream.name!r} counts rows, and rows of one time are ordered by their "
                    f"values, but {field.name} has type {field.dataType.simpleString()}.",
                    hint="Select columns of plain types before braid.stream.",
                )
