"""Adapting state-intensive queries: partition groups, spills and relocations.

So far these are models: the controllers of `braid.control.memory` decide, and results are counted by join values.
"""

from __future__ import annotations

from experiments.dcape.balance import ALTERNATING, SKEWED
from experiments.dcape.integrated import ACTIVE, LAZY
from experiments.dcape.size import SIZES
from experiments.dcape.victims import SPILL_SHARES, SPILL_VICTIMS
from experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (SPILL_SHARES, SPILL_VICTIMS, ALTERNATING, SKEWED, LAZY, ACTIVE)

__all__ = ["EXPERIMENTS", "SIZES"]
