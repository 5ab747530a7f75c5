"""Auto: a biclique, by key where all streams share an equality, else random; the number of units follows the cluster.

By key it starts with one subgroup per unit, so that a key is in one unit; hot keys reduce the number of subgroups.
"""

from __future__ import annotations

from dataclasses import dataclass

from braid.optimizer.strategies.biclique import Biclique
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Auto:
    """Braid chooses the strategy."""

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        chosen = Biclique(routing="random" if plan.common_part is None else "contrand")
        return chosen.layout(plan, slots)

    def describe(self) -> str:
        return "Auto()"
