"""Requirements on the Spark session, the settings that a query fixes, and the number of cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from braid.errors import QueryError, StreamError, UnsupportedSessionError

TIME_ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"
CASE_SENSITIVE = "spark.sql.caseSensitive"


@dataclass(frozen=True)
class Settings:
    """Session settings that change what an expression means; a checkpoint stores them."""

    time_zone: str
    ansi: bool
    case_sensitive: bool

    def as_options(self) -> dict[str, str]:
        """The settings by Spark's names."""
        return {
            TIME_ZONE: self.time_zone,
            ANSI: str(self.ansi).lower(),
            CASE_SENSITIVE: str(self.case_sensitive).lower(),
        }


def require_classic(name: str, df: object) -> None:
    """Refuse anything but a DataFrame of a classic session."""
    if isinstance(df, ClassicDataFrame):
        return
    if isinstance(df, DataFrame):
        raise UnsupportedSessionError(
            f"The stream {name!r} comes from a Spark Connect session, which Braid does not support yet.",
            hint="Create the session without .remote(...), or unset SPARK_REMOTE.",
        )
    raise StreamError(
        f"The stream {name!r} needs a Spark DataFrame, but got {type(df).__name__}.",
        hint="Pass spark.readStream...load() or any DataFrame made from it.",
    )


def read_settings(spark: SparkSession) -> Settings:
    return Settings(
        time_zone=str(spark.conf.get(TIME_ZONE)),
        ansi=spark.conf.get(ANSI) == "true",
        case_sensitive=spark.conf.get(CASE_SENSITIVE) == "true",
    )


def require_unchanged(spark: SparkSession, built: Settings) -> None:
    """Refuse to run a query whose expressions the session would interpret differently now.

    Its meaning was fixed when it was built: Braid evaluates one part, and Spark the other part with the session's
    settings. Both must agree.
    """
    before, now = built.as_options(), read_settings(spark).as_options()
    changed = [f"  {name}: was {before[name]}, is {now[name]}" for name in before if before[name] != now[name]]
    if changed:
        raise QueryError(
            "Settings of the session that change what this query means were changed after it was built.",
            detail="\n".join(changed),
            hint="Set them before braid.join and build the query again, or set them back.",
        )


def pinned_range(spark: SparkSession) -> Callable[[int], DataFrame]:
    """A factory of DataFrames with one row and one partition per slot.

    They belong to a copy of the current session, so later changes of its settings do not affect them.
    """
    copy = spark._jsparkSession.cloneSession()
    return lambda slots: ClassicDataFrame(copy.range(0, slots, 1, slots).toDF(), spark)


def is_one_host(spark: SparkSession) -> bool:
    """Whether all tasks run on this machine and can use its local paths."""
    return str(spark.sparkContext.master).startswith("local")


def use_this_python(spark: SparkSession) -> None:
    """Let the workers of a local session run this interpreter, which has Braid, unless another is configured."""
    if (
        is_one_host(spark)
        and "PYSPARK_PYTHON" not in os.environ
        and spark.conf.get("spark.pyspark.python", None) is None
    ):
        spark.sparkContext.pythonExec = sys.executable


def require_mappable_memory(spark: SparkSession) -> None:
    """Refuse a limit on the workers' address space: mapped state counts against it, though it uses no memory."""
    limit = spark.sparkContext.getConf().get("spark.executor.pyspark.memory")
    if limit:
        raise UnsupportedSessionError(
            f"The session limits its Python workers with spark.executor.pyspark.memory={limit}, which also limits the "
            "files they may map, and state is mapped files.",
            hint="Unset spark.executor.pyspark.memory; give the container memory with spark.executor.memoryOverhead.",
        )


def slot_count(spark: SparkSession) -> int:
    """One slot for each core of the cluster."""
    return max(1, int(spark.sparkContext.defaultParallelism))
