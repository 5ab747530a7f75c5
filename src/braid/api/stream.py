"""`braid.stream`: a DataFrame with an event time, a window and a name."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, NumericType, StructType, TimestampNTZType, TimestampType

from braid.analysis.logical_plans import plan_nodes
from braid.api.missing_methods import STREAM, refuse_attribute
from braid.api.types import stream_problem
from braid.api.windows import LastRows, Unbounded, Window, read_limit, read_window
from braid.errors import StreamError, WatermarkWarning
from braid.plan.durations import duration_us
from braid.plan.site_names import Site, site_of
from braid.spark.session import read_settings, require_classic

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, repr=False)
class Stream:
    """One input of a join. Made by `braid.stream`."""

    name: str
    df: DataFrame
    time: str
    window: Window
    lateness_us: int | None
    lateness_given: bool
    idle_after_ms: int | None
    max_ahead_us: int | None
    site: Site | None = None

    def __repr__(self) -> str:
        return f"Stream({self.name!r}, time {self.time}, window {self.window.describe()})"

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(self, name, STREAM)

    @property
    def schema(self) -> StructType:
        return self.df.schema


def stream(
    name: str,
    df: DataFrame,
    *,
    time: str,
    window: str | timedelta | Unbounded | LastRows,
    lateness: str | timedelta | Unbounded | None = None,
    idle_after: str | timedelta | None = None,
    max_ahead: str | timedelta | Unbounded | None = None,
    site: str | Site | None = None,
) -> Stream:
    """Name a DataFrame as an input of a join.

    `time` is its event-time column, `window` how long its rows are joined, `lateness` how far behind its newest row
    a row may arrive, `idle_after` how long it may be silent before the others stop waiting for it,
    `max_ahead` how far ahead of the clock the event time of a row may be, `site` where its rows arise: a name, or a
    `braid.Site`, for the strategy `Semijoin`.
    """
    _check_name(name)
    require_classic(name, df)
    column = _time_column(name, df, time)
    _check_types(name, df)
    _warn_of_watermark(name, df)
    idle_us = None if idle_after is None else duration_us(f"idle_after of stream {name!r}", idle_after)
    return Stream(
        name=name,
        df=df,
        time=column,
        window=read_window(name, window),
        lateness_us=0 if lateness is None else read_limit(name, "lateness", lateness),
        lateness_given=lateness is not None,
        idle_after_ms=None if idle_us is None else max(1, idle_us // 1000),
        max_ahead_us=None if max_ahead is None else read_limit(name, "max_ahead", max_ahead),
        site=None if site is None else site_of(site),
    )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name):
        raise StreamError(
            f"{name!r} cannot be the name of a stream.",
            hint="Use letters, digits and underscores, starting with a letter: expressions say name.column.",
        )
    if name.lower() == "result_time":
        raise StreamError("A stream cannot be named result_time: that is the time of a result.")


def _check_types(name: str, df: DataFrame) -> None:
    """Every column must have a type that can be stored: late rows are stored whole, whatever the query reads."""
    case_sensitive = read_settings(df.sparkSession).case_sensitive
    for field in df.schema.fields:
        problem = stream_problem(field.name, field.dataType, case_sensitive)
        if problem is not None:
            raise StreamError(
                f"The stream {name!r} cannot have the column {field.name!r}: {problem.reason}.",
                detail=f"Its type: {field.dataType.simpleString()}",
                hint=f"Before braid.stream, {problem.remedy}: df.drop({field.name!r}).",
            )


def _time_column(name: str, df: DataFrame, time: str) -> str:
    """The column's own spelling, if one column of that name exists and has timestamps."""
    repeated = {column for column in df.columns if sum(c.lower() == column.lower() for c in df.columns) > 1}
    if repeated:
        raise StreamError(
            f"The stream {name!r} has several columns named {', '.join(sorted(repeated))}.",
            hint="Rename them with .withColumnRenamed or select(... .alias(...)) before braid.stream.",
        )
    found = [column for column in df.columns if column.lower() == str(time).lower()]
    if not found:
        raise StreamError(
            f"The stream {name!r} has no column {time!r} to take event times from.",
            detail=f"Its columns: {', '.join(df.columns)}",
            hint="Name one of them as time=...",
        )
    kind = df.schema[found[0]].dataType
    if not isinstance(kind, TimestampType | TimestampNTZType):
        raise StreamError(
            f"The event time {name}.{found[0]} has type {kind.simpleString()}; it must be timestamp or timestamp_ntz.",
            hint=f"Convert it first: {_conversion(kind, found[0])}.",
        )
    return found[0]


def _conversion(kind: DataType, column: str) -> str:
    """How a column of another type becomes a timestamp."""
    if not isinstance(kind, NumericType):
        return f"df.withColumn({column!r}, to_timestamp({column!r}))"
    return f"df.withColumn({column!r}, timestamp_seconds({column!r})), or timestamp_millis for milliseconds"


def _warn_of_watermark(name: str, df: DataFrame) -> None:
    """Warn that a watermark of Spark does not decide here which rows are late."""
    if any(kind == "EventTimeWatermark" for kind, _ in plan_nodes(df)):
        warnings.warn(
            f"The DataFrame of stream {name!r} has withWatermark. Which rows of the join are late does not depend on "
            "it: lateness=... of braid.stream says so. Where the DataFrame has a stateful operation as well, such as "
            "dropDuplicates, Spark drops rows there that are later than its watermark, before Braid sees them.",
            WatermarkWarning,
            stacklevel=3,
        )
