"""Sinks: where the results of a step go, and when.

Files are published after the commit, by moving what tasks staged: exactly once. Anything else receives the staged
results as a DataFrame before the commit (`frames.py`): at least once, with the same step number and rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from braid.engine.reports import ResultFile
from braid.state.files import Files
from braid.state.manifest import Move
from braid.state.sweeping import step_of

STAGING = "_braid_staging"
PUBLISHED = re.compile(r"part-(\d{12})-\d{5}-([0-9a-z-]{1,8})-(\d{6,})\.parquet")


@dataclass(frozen=True)
class PublishedFile:
    """A published file, by its name: its step and query, and the number of the run that published it."""

    name: str
    step: int
    query: str
    owner: int


def published_name(step: int, number: int, query: str, owner: int) -> str:
    """The name of a file of results; names sort by step and number, so an ordered query's files are in order."""
    return f"part-{step:012d}-{number:05d}-{query[:8]}-{owner:06d}.parquet"


def parse_published(name: str) -> PublishedFile | None:
    """The parsed name of a file; None if it is not a result of Braid."""
    found = PUBLISHED.fullmatch(name)
    return None if found is None else PublishedFile(name, int(found[1]), found[2], int(found[3]))


class Sink(Protocol):
    """Where results go at the end of a step. `files` is the storage of its moves."""

    files: Files

    def published_files(self) -> list[PublishedFile]:
        """At start: the files of this query that readers see; none where results are not files."""
        ...

    def deliver(self, step: int, owner: int, staged: Sequence[ResultFile]) -> tuple[Move, ...]:
        """Before the commit: deliver the staged results, or return the moves that will publish them."""
        ...

    def published(self, step: int) -> None:
        """After the commit's moves were made."""
        ...

    def withdraw(self, stale: list[PublishedFile]) -> None:
        """Remove files of steps that were undone by restoring an older checkpoint."""
        ...

    def sweep(self, kept: set[str], step: int) -> None:
        """Remove the staged files up to a committed step that no record names."""
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

    def published_files(self) -> list[PublishedFile]:
        found = (parse_published(name) for name in self.files.list(self._path))
        return [file for file in found if file is not None and file.query == self._query[:8]]

    def deliver(self, step: int, owner: int, staged: Sequence[ResultFile]) -> tuple[Move, ...]:
        return tuple(
            Move(
                f"{self._staging}/{file.name}",
                f"{self._path}/{published_name(step, number, self._query, owner)}",
            )
            for number, file in enumerate(sorted(staged, key=lambda file: file.name))
        )

    def published(self, step: int) -> None:
        if self._published is not None:
            self._published()

    def withdraw(self, stale: list[PublishedFile]) -> None:
        for file in stale:
            self.files.delete(f"{self._path}/{file.name}")

    def sweep(self, kept: set[str], step: int) -> None:
        sweep_staged(self.files, self._staging, kept, step)


def sweep_staged(files: Files, directory: str, kept: set[str], step: int) -> None:
    """Delete the staged files up to a committed step, except those that a record names."""
    for name in files.list(directory):
        path, written = f"{directory}/{name}", step_of(name)
        if path not in kept and written is not None and written <= step:
            files.delete(path)


class DiscardSink:
    """Discards results; tasks only count them."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def published_files(self) -> list[PublishedFile]:
        return []

    def deliver(self, step: int, owner: int, staged: Sequence[ResultFile]) -> tuple[Move, ...]:
        return ()

    def published(self, step: int) -> None:
        return

    def withdraw(self, stale: list[PublishedFile]) -> None:
        return

    def sweep(self, kept: set[str], step: int) -> None:
        return
