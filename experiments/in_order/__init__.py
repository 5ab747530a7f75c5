"""Optimizing in-order execution of continuous queries: Sync-Filter, Filter-Order and Adaptive."""

from __future__ import annotations

from collections.abc import Callable

from experiments.in_order import analysis, figures, memory, timed
from experiments.in_order.size import SIZES, Size
from experiments.outcome import Outcome

TITLE = "In-order execution: the paper's claims, measured here"
OPENING = """
The claims of "Optimizing In-Order Execution of Continuous Queries over Streamed Sensor Data" (SSDBM 2005). They are
measured twice: in the paper's own model, row by row on one server and a clock that the run moves, with the controller
of Braid's engine deciding for Adaptive; and on Spark, with the engine itself, in compressed time. Sync-Filter holds
rows until every stream has reached them, Filter-Order joins at once and holds results, Adaptive changes between them.
"""
Experiment = Callable[[Size], Outcome]

COUNTED: tuple[Experiment, ...] = (analysis.equations, figures.costs, figures.rates, memory.buffered)
TIMED: tuple[Experiment, ...] = (timed.timed_costs, timed.timed_rates)
EXPERIMENTS = COUNTED + TIMED

__all__ = ["COUNTED", "EXPERIMENTS", "OPENING", "SIZES", "TIMED", "TITLE"]
