"""Sinks: where the results of a step go, and when.

Files are published after the commit, by moving what tasks staged: exactly once. Anything else receives the staged
results as a DataFrame before the commit: at least once, with the same step number and rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from braid.errors import SinkError, shortened
from braid.state.files import Files
from braid.state.manifest import Move

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

STAGING = "_braid_staging"


class Sink(Protocol):
    """The end of a step. `files` is where its moves happen."""

    files: Files

    def deliver(self, step: int, staged: list[dict[str, Any]]) -> tuple[Move, ...]:
        """Before the commit: take the staged results, or say how they are to be published."""
        ...

    def published(self, step: int) -> None:
        """After the commit's moves were made."""
        ...

    def sweep(self, kept: set[str]) -> None:
        """At start: remove staged files that no record names."""
        ...


class FileSink:
    """Parquet files in one flat directory; staged in a hidden one inside it, so that a move is a rename."""

    def __init__(
        self,
        files: Files,
        path: str,
        query: str,
        published: Callable[[], None] | None = None,
        staging: str = STAGING,
    ) -> None:
        self.files = files
        self._path = path
        self._staging = f"{path}/{staging}"
        self._query = query
        self._published = published

    def deliver(self, step: int, staged: list[dict[str, Any]]) -> tuple[Move, ...]:
        return tuple(
            Move(
                f"{self._staging}/{file['name']}",
                f"{self._path}/part-{step:012d}-{number:05d}-{self._query[:8]}.parquet",
            )
            for number, file in enumerate(sorted(staged, key=lambda file: str(file["name"])))
        )

    def published(self, step: int) -> None:
        if self._published is not None:
            self._published()

    def sweep(self, kept: set[str]) -> None:
        for name in self.files.list(self._staging):
            path = f"{self._staging}/{name}"
            if path not in kept:
                self.files.delete(path)


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
    ) -> None:
        self.files = files
        self._spark = spark
        self._schema = schema
        self._path = path
        self._location = location
        self._function = function

    def deliver(self, step: int, staged: list[dict[str, Any]]) -> tuple[Move, ...]:
        if staged:
            names = [f"{self._location}/{file['name']}" for file in staged]
            frame = self._spark.read.schema(self._schema).parquet(*names)
        else:
            frame = self._spark.createDataFrame([], self._schema)
        try:
            self._function(frame, step)
        except Exception as error:  # the function is the user's own, or a format's writer, and may raise anything
            raise SinkError(
                f"The results of batch {step} could not be handed on: "
                f"{type(error).__name__}: {shortened(str(error), 1000)}",
                hint="Remove the cause and start the query again: the same rows come again, with the same batch id.",
            ) from error
        for file in staged:
            self.files.delete(f"{self._path}/{file['name']}")
        return ()

    def published(self, step: int) -> None:
        return

    def sweep(self, kept: set[str]) -> None:
        for name in self.files.list(self._path):
            self.files.delete(f"{self._path}/{name}")


class DiscardSink:
    """Nothing leaves; results are counted by the tasks."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def deliver(self, step: int, staged: list[dict[str, Any]]) -> tuple[Move, ...]:
        return ()

    def published(self, step: int) -> None:
        return

    def sweep(self, kept: set[str]) -> None:
        return
