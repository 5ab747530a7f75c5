"""A layout: how rows are spread over units, as numbers that a manifest can hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["partitioned", "biclique", "matrix"]


@dataclass(frozen=True)
class Layout:
    """A placement in force from one step on.

    `partitioned`: `units[0]` units, each storing every stream's rows of its share of the keys.
    `biclique`: `units[i]` units for stream i, in `groups[i]` subgroups by key (ContRand; 1: random).
    `matrix`: `units[0]` rows by `units[1]` columns of units; a row of the first stream is stored along a whole row of
    the matrix, one of the second along a whole column.
    `archive_us` is the span of event time of a sub-index, where the strategy chose one.
    """

    epoch: int
    kind: Kind
    units: tuple[int, ...]
    groups: tuple[int, ...]
    archive_us: int | None = None

    @staticmethod
    def from_json(content: dict[str, Any]) -> Layout:
        return Layout(**{**content, "units": tuple(content["units"]), "groups": tuple(content["groups"])})

    @property
    def by_key(self) -> bool:
        """Whether it places rows by a key that every stream has."""
        return self.kind == "partitioned" or max(self.groups) > 1

    @property
    def routes(self) -> int:
        """Parts that keys are cut into: the fewest of which the subgroups of every side are whole numbers."""
        return math.lcm(*self.groups)

    def same_as(self, other: Layout) -> bool:
        """Whether both spread rows alike, whatever their epochs."""
        return replace(self, epoch=0) == replace(other, epoch=0)
