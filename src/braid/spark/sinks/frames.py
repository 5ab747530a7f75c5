"""The sink that passes a step's results on as a DataFrame: to a user's function, the console, any batch format."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from braid.engine.reports import ResultFile
from braid.engine.sinks import PublishedFile, sweep_staged
from braid.engine.tasks.ordered.buffering import released_at
from braid.errors import SinkError, brief_cause, shortened, text_of, without_stacks
from braid.spark.storage import read_parquet
from braid.state.files import Files
from braid.state.manifest import Move

ROWS_SORTED_TOGETHER = 200_000


class FrameSink:
    """A function of a DataFrame and the step's number: the user's own, the console, any batch format."""

    def __init__(
        self,
        spark: SparkSession,
        schema: StructType,
        files: Files,
        path: str,
        location: str,
        function: Callable[[DataFrame, int], None],
        ordered: bool = False,
    ) -> None:
        self.files = files
        self._spark = spark
        self._schema = schema
        self._path = path
        self._location = location
        self._function = function
        self._ordered = ordered

    def published_files(self) -> list[PublishedFile]:
        return []

    def deliver(self, step: int, owner: int, staged: Sequence[ResultFile]) -> tuple[Move, ...]:
        if staged:
            frame = read_staged(self._spark, self._schema, self._location, staged, self._ordered)
        else:
            frame = self._spark.createDataFrame([], self._schema)
        try:
            self._function(frame, step)
        except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:  # all that can be caught here
            # The function is the user's own, or a format's writer, and may raise anything. A BaseException would
            # end only the thread that calls it, and leave the run waiting; in the main thread it ends the program.
            if not isinstance(error, Exception) and threading.current_thread() is threading.main_thread():
                raise
            raise SinkError(
                "The results could not be delivered: "
                f"{type(error).__name__}: {shortened(without_stacks(text_of(error)), 1000)}",
                hint="Remove the cause and start the query again: the same rows come again, with the same batch_id.",
            ) from brief_cause(error)
        for file in staged:
            self.files.delete(f"{self._path}/{file.name}")
        return ()

    def published(self, step: int) -> None:
        return

    def withdraw(self, stale: list[PublishedFile]) -> None:
        return

    def sweep(self, kept: set[str], step: int) -> None:
        sweep_staged(self.files, self._path, kept, step)


def read_staged(
    spark: SparkSession, schema: StructType, location: str, staged: Sequence[ResultFile], ordered: bool
) -> DataFrame:
    """Staged results as a DataFrame, sorted by result time where they are ordered: few in one partition."""
    names = [file.name for file in staged]
    if not ordered:
        return read_parquet(spark, location, names, schema)
    few = sum(file.rows for file in staged) <= ROWS_SORTED_TOGETHER
    return ordered_frame(spark, schema, location, names, few)


def ordered_frame(
    spark: SparkSession, schema: StructType, location: str, names: Sequence[str] = (), few: bool = False
) -> DataFrame:
    """Released rows, sorted by their time column, which is then dropped."""
    name = released_at(schema.names)
    timed = StructType([*schema.fields, StructField(name, LongType())])
    frame = read_parquet(spark, location, names, timed)
    # A column of this name, not a path into a struct, whatever characters the name has.
    time = f"`{name}`"
    ordered = frame.coalesce(1).sortWithinPartitions(time) if few else frame.orderBy(time)
    return ordered.drop(name)
