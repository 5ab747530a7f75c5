"""Streams at distant sites as data: algorithms, sequences of lookups, and the copies that sites keep of other streams.

A *partial tuple* is what decides a semijoin: of a row, only the values that a lookup compares, each as 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Algorithm(StrEnum):
    """The six one-way joins from a source site to the site of a stored stream, by what they ship and where they join.

    `source` algorithms join where the probing rows are, `destination` ones where the stored stream is.
    """

    SP_S = "SP-S"  # the stored stream is copied to the source
    SP_D = "SP-D"  # probing rows are sent to the stored stream
    SM_S1 = "SM-S1"  # keys are sent, stored rows that match come back
    SM_S2 = "SM-S2"  # a copy of the stored keys at the source; stored rows are fetched when their key matches
    SM_D1 = "SM-D1"  # a copy of the stored keys at the source; probing rows that match are sent
    SM_D2 = "SM-D2"  # keys are sent, those that match come back, then the probing rows with them are sent

    @property
    def at_source(self) -> bool:
        """Whether results arise at the source site."""
        return self in (Algorithm.SP_S, Algorithm.SM_S1, Algorithm.SM_S2)


@dataclass(frozen=True)
class SiteStep:
    """The joined rows so far look up `stream` by `algorithm`."""

    stream: int
    algorithm: Algorithm


@dataclass(frozen=True)
class SiteSequence:
    """The lookups of new rows of one stream, in their order."""

    steps: tuple[SiteStep, ...]


@dataclass(frozen=True)
class SitePlan:
    """The sequences of a step, one for each stream; messages are also counted as if sent every `interval_us`."""

    sequences: tuple[SiteSequence, ...]
    interval_us: int


@dataclass(frozen=True)
class Partial:
    """What a stored row of a stream is reduced to: the key of one of its indexes, or some of its columns.

    With `columns` () it is the key of `index`.
    """

    index: int
    columns: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The number of 64-bit values."""
        return max(1, len(self.columns))


CopyKind = Literal["rows", "requested", "values", "mixed"]
"""What a copy holds: all rows (SP-S); rows that were requested (SM-S1); partial tuples with counts (SM-D1); or partial
tuples with counts, and the rows of those that were requested (SM-S2)."""


@dataclass(frozen=True)
class Copy:
    """A copy of a stream at another site; all rows that look the stream up from that site share it.

    `since` is the step that created it, with what the stream had stored until then.
    """

    stream: int
    site: int
    kind: CopyKind
    partial: Partial | None
    since: int

    @property
    def has_rows(self) -> bool:
        return self.kind != "values"

    @property
    def has_values(self) -> bool:
        return self.kind in ("values", "mixed")

    def same_as(self, other: Copy) -> bool:
        """Whether both hold the same, whenever they were created."""
        return (self.stream, self.site, self.kind, self.partial) == (
            other.stream,
            other.site,
            other.kind,
            other.partial,
        )
