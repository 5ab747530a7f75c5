"""The state of an ordered query between two steps: the frontier, what is buffered, and observed stream rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Buffered = Literal["rows", "results"]
"""What is buffered until its time is reached: `rows` before they probe, or `results` after they were found."""


@dataclass(frozen=True)
class BufferedBlock:
    """A file of results, each segment sorted by result time; `cuts` are times that split its rows evenly.

    For an aggregation it contains partial totals, sorted by group. Its rows arrived at `arrived_ms` of the clock; those
    up to the frontier were emitted.
    """

    file: str
    rows: int
    size: int
    min_time: int
    max_time: int
    arrived_ms: int
    cuts: tuple[int, ...]


@dataclass(frozen=True)
class Arrival:
    """Rows of a stream whose time was not emitted yet: when they arrived, and a sample of their event times."""

    arrived_ms: int
    rows: int
    times: tuple[int, ...]
    stream: int = 0


@dataclass(frozen=True)
class Pace:
    """Observations of every stream, decaying: seconds of the clock, rows, seconds of lookups, compared pairs.

    `busy` adds up the seconds of all slots; `delays` are the seconds for which a row waited on average, of all rows
    whose lookups began together. The frontier has not moved for `unmoved_seconds`.
    """

    seconds: float
    rows: tuple[float, ...]
    busy: tuple[float, ...]
    delays: tuple[float, ...]
    compared: float
    unmoved_seconds: float


@dataclass(frozen=True)
class ArrivalLog:
    """The on-time rows that one task read of a stream with a row-based window, kept until their ranks are known."""

    stream: int
    file: str
    rows: int
    min_time: int
    max_time: int


@dataclass(frozen=True)
class RankIndexFile:
    """The newest rows of such a stream in rank order; rows older than `first_us` are outside every future window."""

    stream: int
    file: str
    rows: int
    first_us: int | None


@dataclass(frozen=True)
class OrderState:
    """The order state after a step. Results up to `frontier_us` were emitted; None: none was.

    `flushed`: the step emitted everything, so a step without input has nothing to do.
    """

    frontier_us: int | None
    buffered_kind: Buffered
    results: tuple[BufferedBlock, ...]
    arrivals: tuple[Arrival, ...]
    pace: Pace
    arrival_logs: tuple[ArrivalLog, ...] = ()
    rank_indexes: tuple[RankIndexFile, ...] = ()
    flushed: bool = False

    @property
    def files(self) -> set[str]:
        """All files of buffered results, arrival logs and rank indexes."""
        results = {block.file for block in self.results}
        return (
            results
            | {arrival_log.file for arrival_log in self.arrival_logs}
            | {rank_index.file for rank_index in self.rank_indexes}
        )
