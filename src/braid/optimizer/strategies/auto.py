"""Auto: a biclique, by key where every stream shares an equality, else at random; units from the cluster's size.

By key it starts with a subgroup a unit, so that a key is in one place; what is seen of hot keys makes them fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

from braid.optimizer.strategies.biclique import Biclique
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Auto:
    """Lets Braid choose."""

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        chosen = Biclique(routing="random" if plan.common_part is None else "contrand")
        return chosen.layout(plan, slots)

    def describe(self) -> str:
        return "Auto()"
