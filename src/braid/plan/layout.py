"""A layout: how rows are spread over units, as numbers that a manifest can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Layout:
    """A placement in force from one step on.

    `partitioned`: `units[0]` units, each storing every stream's rows of its share of the keys.
    `biclique`: `units[i]` units for stream i; with several `groups`, keys are dealt to subgroups (ContRand).
    """

    epoch: int
    kind: Literal["partitioned", "biclique"]
    units: tuple[int, ...]
    groups: int

    @staticmethod
    def from_json(content: dict[str, Any]) -> Layout:
        return Layout(**{**content, "units": tuple(content["units"])})

    def same_as(self, other: Layout) -> bool:
        """Whether both spread rows alike, whatever their epochs."""
        return (self.kind, self.units, self.groups) == (other.kind, other.units, other.groups)
