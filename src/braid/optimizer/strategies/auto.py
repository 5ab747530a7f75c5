"""Auto: partitioned where every stream shares an equality key, else a biclique; units from the cluster's size."""

from __future__ import annotations

from dataclasses import dataclass

from braid.optimizer.strategies.biclique import Biclique
from braid.optimizer.strategies.partitioned import Partitioned
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Auto:
    """Lets Braid choose."""

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        chosen = Biclique() if plan.common_part is None else Partitioned()
        return chosen.layout(plan, slots)

    def describe(self) -> str:
        return "Auto()"
