"""What ordered results need between two steps: how far they have left, what waits, and what was seen of the streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Buffered = Literal["rows", "results"]
"""What waits for the order: `rows` before they are looked up, or `results` after they were found."""


@dataclass(frozen=True)
class BufferedBlock:
    """A file of results, each segment sorted by result time; `cuts` are times that part its rows evenly.

    Of an aggregation it has partial summaries, sorted by group. Its rows arrived at `arrived_ms` of the clock; those up
    to the frontier have left.
    """

    file: str
    rows: int
    size: int
    min_time: int
    max_time: int
    arrived_ms: int
    cuts: tuple[int, ...]

    @staticmethod
    def from_json(content: dict[str, Any]) -> BufferedBlock:
        return BufferedBlock(**{**content, "cuts": tuple(content["cuts"])})


@dataclass(frozen=True)
class Arrival:
    """Rows of a stream, until their time has left: when they came, and event times that stand for them all."""

    arrived_ms: int
    rows: int
    times: tuple[int, ...]
    stream: int = 0

    @staticmethod
    def from_json(content: dict[str, Any]) -> Arrival:
        return Arrival(**{**content, "times": tuple(content["times"])})


@dataclass(frozen=True)
class Pace:
    """What was seen of every stream, newer steps counting more: seconds of the clock, rows, and seconds of lookups.

    The frontier has not moved for `unmoved_seconds`.
    """

    seconds: float
    rows: tuple[float, ...]
    busy: tuple[float, ...]
    compared: float
    unmoved_seconds: float

    @staticmethod
    def from_json(content: dict[str, Any]) -> Pace:
        return Pace(**{**content, "rows": tuple(content["rows"]), "busy": tuple(content["busy"])})


@dataclass(frozen=True)
class ArrivalLog:
    """Every on-time row that a task took in of a stream whose window counts rows, until its rank is known."""

    stream: int
    file: str
    rows: int
    min_time: int
    max_time: int


@dataclass(frozen=True)
class RankIndexFile:
    """The newest rows of such a stream in their order; those older than `first_us` are among the last no more."""

    stream: int
    file: str
    rows: int
    first_us: int | None


@dataclass(frozen=True)
class OrderState:
    """The order after a step. Results up to `frontier_us` have left; None: none has.

    `flushed`: the step let everything out, and a step without input has nothing to add.
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
        """All files that wait, or serve to count."""
        results = {block.file for block in self.results}
        return (
            results
            | {arrival_log.file for arrival_log in self.arrival_logs}
            | {rank_index.file for rank_index in self.rank_indexes}
        )

    @staticmethod
    def from_json(content: dict[str, Any]) -> OrderState:
        return OrderState(
            frontier_us=content["frontier_us"],
            buffered_kind=content["buffered_kind"],
            results=tuple(BufferedBlock.from_json(block) for block in content["results"]),
            arrivals=tuple(Arrival.from_json(arrival) for arrival in content["arrivals"]),
            pace=Pace.from_json(content["pace"]),
            flushed=content["flushed"],
            arrival_logs=tuple(ArrivalLog(**arrival_log) for arrival_log in content["arrival_logs"]),
            rank_indexes=tuple(RankIndexFile(**rank_index) for rank_index in content["rank_indexes"]),
        )
