"""Partitioned: the rows of every stream are spread by the hash of an equality key that all streams share."""

from __future__ import annotations

from dataclasses import dataclass

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Partitioned:
    """`units`: the number of units; by default one per slot of the cluster."""

    units: int | None = None

    def __post_init__(self) -> None:
        if self.units is not None:
            require_positive("Partitioned(units=...)", self.units)

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        if plan.common_part is None:
            raise StrategyError(
                "The strategy Partitioned cannot run this join: it needs an equality that every stream takes part in, "
                "on expressions that cannot raise.",
                hint="Use braid.Biclique() or braid.Auto(), which join on any predicate.",
            )
        count = slots if self.units is None else self.units
        return Layout(epoch=0, kind="partitioned", units=(count,), groups=(count,))

    def describe(self) -> str:
        return "Partitioned()" if self.units is None else f"Partitioned(units={self.units})"
