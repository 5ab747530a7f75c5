"""What ordered results need between two steps: how far they have left, what waits, and what was seen of the streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Holds = Literal["rows", "results"]
"""What waits for the order: `rows` before they are looked up, or `results` after they were found."""


@dataclass(frozen=True)
class HeldBlock:
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
    def from_json(content: dict[str, Any]) -> HeldBlock:
        return HeldBlock(**{**content, "cuts": tuple(content["cuts"])})


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
class Roll:
    """Every on-time row that a task took in of a stream whose window counts rows, until its rank is known."""

    stream: int
    file: str
    rows: int
    min_time: int
    max_time: int


@dataclass(frozen=True)
class RulerFile:
    """The newest rows of such a stream in their order; those older than `first_us` are among the last no more."""

    stream: int
    file: str
    rows: int
    first_us: int | None


@dataclass(frozen=True)
class Waiting:
    """The order after a step. Results up to `frontier_us` have left; None: none has.

    `flushed`: the step let everything out, and a step without input has nothing to add.
    """

    frontier_us: int | None
    holds: Holds
    results: tuple[HeldBlock, ...]
    arrivals: tuple[Arrival, ...]
    pace: Pace
    rolls: tuple[Roll, ...] = ()
    rulers: tuple[RulerFile, ...] = ()
    flushed: bool = False

    @property
    def files(self) -> set[str]:
        """All files that wait, or serve to count."""
        results = {block.file for block in self.results}
        return results | {roll.file for roll in self.rolls} | {ruler.file for ruler in self.rulers}

    @staticmethod
    def from_json(content: dict[str, Any]) -> Waiting:
        return Waiting(
            frontier_us=content["frontier_us"],
            holds=content["holds"],
            results=tuple(HeldBlock.from_json(block) for block in content["results"]),
            arrivals=tuple(Arrival.from_json(arrival) for arrival in content["arrivals"]),
            pace=Pace.from_json(content["pace"]),
            flushed=content["flushed"],
            rolls=tuple(Roll(**roll) for roll in content["rolls"]),
            rulers=tuple(RulerFile(**ruler) for ruler in content["rulers"]),
        )
