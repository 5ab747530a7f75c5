"""Strategies, one per file: each turns a plan and the size of the cluster into a layout, or says why it cannot."""

from __future__ import annotations

from braid.optimizer.strategies.aligned_routing import AlignedRouting
from braid.optimizer.strategies.auto import Auto
from braid.optimizer.strategies.biclique import Biclique
from braid.optimizer.strategies.coordinated_routing import CoordinatedRouting
from braid.optimizer.strategies.matrix import Matrix
from braid.optimizer.strategies.partitioned import Partitioned
from braid.optimizer.strategies.semijoin import Semijoin
from braid.optimizer.strategies.strategy import Strategy
from braid.optimizer.strategies.time_sliced import TimeSliced

# What `explain` compares the strategy of a query with.
WITHOUT_ARGUMENTS: tuple[type[Strategy], ...] = (Partitioned, Biclique, TimeSliced, Matrix, Auto)
STRATEGIES: tuple[type[Strategy], ...] = (*WITHOUT_ARGUMENTS, AlignedRouting, CoordinatedRouting, Semijoin)

__all__ = [
    "STRATEGIES",
    "WITHOUT_ARGUMENTS",
    "AlignedRouting",
    "Auto",
    "Biclique",
    "CoordinatedRouting",
    "Matrix",
    "Partitioned",
    "Semijoin",
    "Strategy",
    "TimeSliced",
]
