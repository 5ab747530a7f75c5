"""Auto: a biclique, by key where all streams share an equality, else by range where a comparison bounds a number.

Otherwise rows are routed at random. The number of units follows the cluster, and the work of the steps where that is
little. By key it starts with one subgroup per unit, so that a key is in one unit; hot keys reduce the number of
subgroups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from braid.optimizer.strategies.biclique import Biclique, Routing
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Auto:
    """Braid chooses the strategy."""

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        return replace(Biclique(routing=_routing(plan)).layout(plan, slots), follows_work=True)

    def describe(self) -> str:
        return "Auto()"


def _routing(plan: JoinPlan) -> Routing:
    if plan.common_part is not None:
        return "contrand"
    return "random" if all(stream.routing is None for stream in plan.streams) else "range"
