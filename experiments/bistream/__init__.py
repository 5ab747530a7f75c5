"""Scalable distributed stream join processing: the join-biclique, beside the join-matrix."""

from __future__ import annotations

from experiments.bistream.aggregation import AGGREGATION
from experiments.bistream.bandwidth import MOVED
from experiments.bistream.elasticity import FOLLOWING
from experiments.bistream.latency import LATENCY
from experiments.bistream.limited import LIMITED
from experiments.bistream.memory import STORED, VOLUME
from experiments.bistream.modelled import MODELLED, MODELLED_SUMS
from experiments.bistream.scaling import GAINS
from experiments.bistream.size import SIZES
from experiments.bistream.throughput import THROUGHPUT
from experiments.bistream.updates import UPDATES
from experiments.bistream.windows import LONGEST, RIPPLES
from experiments.bistream.work import BUSIEST
from experiments.experiment import Experiment

TITLE = "Join-biclique: the paper's claims, measured here"
OPENING = """
The claims of "Scalable Distributed Stream Join Processing" (SIGMOD 2015) on Braid's engine. The paper ran 80 units on
40 servers; here all units share one machine. What is stored, read and compared is counted, and depends little on the
machine. Rates and lateness are timed on Spark, where they are those of units that wait for each other's cores, and
modelled from what every slot used, for a node a unit. JMx is a matrix of x units, JBx a biclique of x units, JBx-CRy
one with y subgroups a side; the subgroups of Band, which has no key, are ranges of its number.
"""
EXPERIMENTS: tuple[Experiment, ...] = (
    STORED,
    RIPPLES,
    LONGEST,
    VOLUME,
    GAINS,
    MOVED,
    BUSIEST,
    MODELLED,
    THROUGHPUT,
    LIMITED,
    LATENCY,
    FOLLOWING,
    MODELLED_SUMS,
    AGGREGATION,
    UPDATES,
)
PAPER = (
    *(f"Figure {number}" for number in range(1, 6)),
    "Figure 6a",
    "Figure 6b",
    *(f"Figure {number}" for number in range(7, 20)),
    "Figure 8 at 80 and 320 GB",
    *(f"Table {number}" for number in range(1, 5)),
)
DRAWINGS = "It shows how the system is built; nothing is measured in it."
NOT_MEASURED: dict[str, str] = {
    **{f"Figure {number}": DRAWINGS for number in range(1, 6)},
    "Table 1": "It lists notations.",
    "Table 2": "It lists notations.",
    "Table 3": "It lists the settings, which are all used.",
}

__all__ = ["EXPERIMENTS", "NOT_MEASURED", "OPENING", "PAPER", "SIZES", "TITLE"]
