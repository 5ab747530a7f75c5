"""What a join of streams at distant sites stores besides rows: its sequences, copies, and tables of partial tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from braid.plan.sites import Copy, SiteSequence

TableRole = Literal["home", "remote", "shipped"]
"""Which table of a copy: the tuples of all stored rows with counts, at the stream's own site or at that of the copy; or
which rows were shipped, at the stream's own site."""


@dataclass(frozen=True)
class Sent:
    """What crossed the link from site `source` to site `target`: bytes of payload and of framing, and messages.

    `modelled_messages` are those of a system that sends a message for every interval of event time.
    """

    source: int
    target: int
    payload: int = 0
    framing: int = 0
    messages: int = 0
    modelled_messages: int = 0


@dataclass(frozen=True)
class TupleFiles:
    """A table of partial tuples of the copy with number `copy`, at a unit: its files, of which later ones change it."""

    copy: int
    role: TableRole
    unit: int
    files: tuple[str, ...]


@dataclass(frozen=True)
class StreamObservation:
    """What steps observed of a stream: rows, their bytes, seconds of event time, distinct values of each key part."""

    stream: int
    steps: float
    rows: float
    size: float
    seconds: float
    distinct: tuple[float, ...]

    def decayed(self, share: float) -> StreamObservation:
        return StreamObservation(
            self.stream,
            share * self.steps,
            share * self.rows,
            share * self.size,
            share * self.seconds,
            tuple(share * count for count in self.distinct),
        )

    def plus(self, other: StreamObservation) -> StreamObservation:
        return StreamObservation(
            self.stream,
            self.steps + other.steps,
            self.rows + other.rows,
            self.size + other.size,
            self.seconds + other.seconds,
            tuple(one + more for one, more in zip(self.distinct, other.distinct, strict=True)),
        )


@dataclass(frozen=True)
class PointSums:
    """Points (x, y) as the sums that a straight line through them needs; earlier points count less."""

    points: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0
    yy: float = 0.0

    def decayed(self, share: float) -> PointSums:
        return PointSums(*(share * value for value in vars(self).values()))

    def plus(self, other: PointSums) -> PointSums:
        return PointSums(*(one + more for one, more in zip(vars(self).values(), vars(other).values(), strict=True)))

    @staticmethod
    def of(x: float, y: float) -> PointSums:
        return PointSums(1.0, x, y, x * x, x * y, y * y)


@dataclass(frozen=True)
class LinkObservation:
    """What rounds observed of the way from site `source` to site `target`: x are bytes sent, y seconds until they came.

    `idle` are rounds in which nothing was sent to the target: it waited all the same, for Spark.
    """

    source: str
    target: str
    sent: PointSums = PointSums()
    idle: PointSums = PointSums()


@dataclass(frozen=True)
class SiteState:
    """The state of the sites after a step, with the sequences that it ran.

    Rows of each stream before `departed_us` are in no count any more; None: all rows are. The `unneeded` files were
    dropped before the step: sites with storage of their own may remove them there in the next one.
    """

    sequences: tuple[SiteSequence, ...]
    copies: tuple[Copy, ...]
    tables: tuple[TupleFiles, ...] = ()
    departed_us: tuple[int | None, ...] = ()
    observed: tuple[StreamObservation, ...] = ()
    unneeded: tuple[str, ...] = ()
    links: tuple[LinkObservation, ...] = ()

    @property
    def files(self) -> frozenset[str]:
        return frozenset(file for table in self.tables for file in table.files)
