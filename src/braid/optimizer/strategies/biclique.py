"""Biclique: one side of units per stream, no row stored twice; every probe visits the whole other side.

With subgroups (ContRand) the equality key picks the subgroup, so a probe visits only that part of each side.
"""

from __future__ import annotations

from dataclasses import dataclass

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Biclique:
    """`units`: one number a stream, or one for all; `groups`: subgroups of every side (1: random routing)."""

    units: tuple[int, ...] | int | None = None
    groups: int = 1

    def __post_init__(self) -> None:
        for count in self.units if isinstance(self.units, tuple) else (self.units,):
            if count is not None:
                require_positive("Biclique(units=...)", count)
        require_positive("Biclique(groups=...)", self.groups)

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        units = self._units(len(plan.streams), max(slots, self.groups))
        if self.groups > 1 and plan.common_part is None:
            raise StrategyError(
                f"Biclique(groups={self.groups}) cannot run this join: subgroups need an equality that every stream "
                "takes part in, on expressions that cannot raise.",
                hint="Use groups=1 (random routing), which joins on any predicate.",
            )
        if min(units) < self.groups:
            raise StrategyError(
                f"Biclique(units={units}, groups={self.groups}): each side needs at least one unit in every subgroup.",
                hint=f"Use at least {self.groups} units a side, or fewer groups.",
            )
        return Layout(epoch=0, kind="biclique", units=units, groups=self.groups)

    def describe(self) -> str:
        units = "" if self.units is None else f"units={self.units}"
        groups = "" if self.groups == 1 else f"groups={self.groups}"
        return f"Biclique({', '.join(part for part in (units, groups) if part)})"

    def _units(self, streams: int, default: int) -> tuple[int, ...]:
        if self.units is None:
            return (default,) * streams
        if isinstance(self.units, int):
            return (self.units,) * streams
        if len(self.units) != streams:
            raise StrategyError(
                f"Biclique(units={self.units}) has {len(self.units)} sides, but the join has {streams} streams.",
                hint="Give one number of units for each stream, in the order of braid.join.",
            )
        return self.units
