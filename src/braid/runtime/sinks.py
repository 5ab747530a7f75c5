"""Sinks: where the results of a step go, and when.

Files are published after the commit, by moving what tasks staged: exactly once. Anything else receives the staged
results as a DataFrame before the commit (`frames.py`): at least once, with the same step number and rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from braid.state.files import Files
from braid.state.manifest import Move

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
