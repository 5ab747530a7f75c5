"""Optimizing in-order execution of continuous queries: Sync-Filter, Filter-Order and Adaptive."""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.in_order import analysis, figures, memory, timed
from experiments.in_order.size import SIZES
from experiments.outcome import adapted

TITLE = "In-order execution: the paper's claims, measured here"
OPENING = """
The claims of "Optimizing In-Order Execution of Continuous Queries over Streamed Sensor Data" (SSDBM 2005). They are
measured twice: in the paper's own model, row by row on one server and a clock that the run moves, with the controller
of Braid's engine deciding for Adaptive; and on Spark, with the engine itself, in compressed time. Sync-Filter holds
rows until every stream has reached them, Filter-Order joins at once and holds results, Adaptive changes between them.
"""
PAPER = ("Figure 5", "Figure 6", "Figure 7", "Figure 8", "Figure 9", "Figure 10")
NOT_MEASURED: dict[str, str] = {"Figure 6": "The equations were not computed for its rates."}
EXPERIMENTS: tuple[Experiment, ...] = (
    adapted(
        "equations",
        "Response times and the equations, evenly spaced rows",
        ("Figure 5",),
        analysis.equations,
        timed=False,
    ),
    adapted(
        "costs",
        "The cost of comparing two rows",
        (
            "Figure 7",
            "Figure 8",
        ),
        figures.costs,
        timed=False,
    ),
    adapted(
        "rates",
        "The rate of the slower stream",
        (
            "Figure 9",
            "Figure 10",
        ),
        figures.rates,
        timed=False,
    ),
    adapted(
        "buffered",
        "What waits in memory",
        (
            "§4.2",
            "§5.2",
        ),
        memory.buffered,
        timed=False,
    ),
    adapted(
        "timed_costs",
        "On Spark: the cost of comparing two rows",
        (
            "Figure 7",
            "Figure 8",
        ),
        timed.timed_costs,
        timed=True,
    ),
    adapted(
        "timed_rates",
        "On Spark: the rate of the slower stream",
        (
            "Figure 9",
            "Figure 10",
        ),
        timed.timed_rates,
        timed=True,
    ),
)

__all__ = ["EXPERIMENTS", "NOT_MEASURED", "OPENING", "PAPER", "SIZES", "TITLE"]
